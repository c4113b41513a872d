"""Encoders side by side on this CPU: plain SentenceTransformer.encode, ours, ours in 8 bits.

    python bench/encoders.py [--encoders minilm,mpnet] [--texts 600] [--rounds 5] [--threads 2]

Texts are distinct replies that ship with the product; `--joined 4` makes longer ones of four each.
No cache, no repeats: what is compared is the encoding alone. The procedures take turns, and a
figure is the median over the rounds of the ratio inside one round, so that a busy machine, which
slows all of a round, disturbs little; beside the wall time stands the ratio of processor time,
which other programs hardly touch (with one thread: threads that wait for each other count too).
Drift is measured on the direction axis. Exit code 1 where a bar is missed.
"""

import argparse
import os
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.drift import int8_drift
from moralscope.axes.options import AxisOptions
from moralscope.models.encoders import TextEncoder
from moralscope.models.encoders.sentence_transformer import SentenceTransformerBackend
from moralscope.models.store import Store
from moralscope.rules.training.alignment_examples import written_exchanges

BARS = {"minilm": (1.3, 2.5), "mpnet": (1.0, 2.0)}  # times plain: float32, int8
NAMES = ("plain encode", "ours float32", "ours int8")


def replies(count: int, joined: int) -> list[str]:
    """Return `count` distinct texts of `joined` shipped replies each, long and short mixed."""
    found = [row.exchange.reply for row in written_exchanges()]
    found = [found[place] for place in np.random.default_rng(0).permutation(len(found))]
    texts = [" ".join(found[start : start + joined]) for start in range(0, len(found), joined)]
    return list(dict.fromkeys(texts))[:count]


def rounds(works: list[Callable[[], object]], count: int) -> list[list[tuple[float, float]]]:
    """Return wall and processor seconds of each procedure in each round; they take turns."""
    for work in works:
        work()
    found = []
    for _ in range(count):
        row = []
        for work in works:
            wall, spent = time.perf_counter(), time.process_time()
            work()
            row.append((time.perf_counter() - wall, time.process_time() - spent))
        found.append(row)
    return found


def compare(name: str, texts: list[str], options: argparse.Namespace) -> bool:
    """Print one encoder's table; tell whether it met its bars."""
    folder = Store().pull(name)
    plain = SentenceTransformer(str(folder), device="cpu")
    exact, light = (SentenceTransformerBackend(folder, name, "bench") for _ in range(2))
    if not light.quantise():
        raise SystemExit("this machine computes in 32 bits only")
    encoders = [TextEncoder(exact), TextEncoder(light)]
    lengths = [len(ids) for ids in exact.prepare(texts)]
    print(f"{name}: {len(texts)} texts of {np.mean(lengths):.1f} tokens (at most {max(lengths)}), "
          f"{torch.get_num_threads()} threads, {options.rounds} rounds")  # fmt: skip
    works = [lambda: plain.encode(texts), *(lambda e=e: e.encode(texts) for e in encoders)]
    times = rounds(works, options.rounds)
    bars = (None, *BARS.get(name, (None, None)))
    met = True
    for place, (label, bar) in enumerate(zip(NAMES, bars, strict=True)):
        wall, spent = (median(row[0][kind] / row[place][kind] for row in times) for kind in (0, 1))
        rate = len(texts) / median(row[place][0] for row in times)
        wanted = "" if bar is None else f"   (bar {bar})"
        print(f"  {label:13} {rate:8.1f} texts/s   x {wall:.2f}   processor x {spent:.2f}{wanted}")
        met &= bar is None or (spent if options.threads == 1 else wall) >= bar
    difference = float(np.abs(plain.encode(texts) - encoders[0].encode(texts)).max())
    print(f"  float32 rows differ from plain by {difference:.1e} at most (bar 1e-5)")
    paper = load_paper()
    options = AxisOptions(axis="direction")
    axes = [build_axis(options, LocalModels(encoder)) for encoder in encoders]
    drift = int8_drift([*paper.atomic, *paper.contextual], *axes)
    print(f"  {drift} (bar 0.99)", flush=True)
    return bool(met and difference <= 1e-5 and (drift.spearman or 0) >= 0.99)


def main() -> None:
    """Compare the encoders named, and end with 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoders", default="minilm,mpnet")
    parser.add_argument("--texts", type=int, default=600)
    parser.add_argument("--joined", type=int, default=1, help="replies in one text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(options.threads)  # read when tokenizers first work
    torch.set_num_threads(options.threads)
    texts = replies(options.texts, options.joined)
    results = [compare(name, texts, options) for name in options.encoders.split(",")]
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
