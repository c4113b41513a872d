"""Judging actions against encoding them: the same base, the same texts, one wording each.

    python bench/judge.py [mpnet] [1000]

Prints the median of several runs of each, in turn, and the ratio (wanted: at most 1.3). The ratio
of seconds on the cores stands beside that on the clock: on a busy machine only the first says much.
"""

import statistics
import sys
import time

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.options import ScoreOptions
from moralscope.axes.score import score
from moralscope.models.encoders import load_encoder

VERBS = ("help", "kill", "greet", "lie to", "pay", "ignore", "thank", "rob", "visit", "trust")
NOUNS = ("people", "a friend", "my boss", "the old man next door", "strangers on the bus")
RUNS = 5


def actions(count: int) -> list[str]:
    return [
        f"{VERBS[n % 10]} {NOUNS[n // 10 % 5]} {('on', 'for')[n % 2]} day {n}" for n in range(count)
    ]


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "mpnet"
    texts = actions(int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
    encoder = load_encoder(name, cached=False)
    options = ScoreOptions(axis="judge", experts=name)
    axis = build_axis(options, LocalModels(cached=False))
    work = {
        "encode": lambda: encoder.encode(texts),
        "judge": lambda: score(texts, options, built=axis),
    }
    took: dict[tuple[str, str], list[float]] = {}
    for _ in range(RUNS + 1):
        for what, run in work.items():
            start = time.process_time(), time.perf_counter()
            run()
            took.setdefault(("cores", what), []).append(time.process_time() - start[0])
            took.setdefault(("clock", what), []).append(time.perf_counter() - start[1])
    for where in ("cores", "clock"):
        encode, judged = (statistics.median(took[where, what][1:]) for what in work)
        print(f"{name}, {len(texts):,} actions, {where}: encode {encode:.2f} s, "
              f"judge {judged:.2f} s, ratio {judged / encode:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
