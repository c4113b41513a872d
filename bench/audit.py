"""How long an audit takes: one reply at a time, warm, and a file of them; without generation.

    python bench/audit.py [mpnet,minilm] [200] [--exact] [--all]

Wanted on two cores: p50 ≤ 80 ms and p95 ≤ 200 ms a reply with mpnet; 40 (mpnet) and 150 (minilm)
replies a second in a file. Prints the processor time of a reply, too: on a busy machine only that
means something. Benign traffic: written exchanges of the package that break no rule, no two alike.
--all takes those that break one, too: then rules are asked about more of them.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from moralscope.rules.audit import AuditModels, AuditOptions, audit, prepare_auditor
from moralscope.rules.records import Exchange
from moralscope.rules.texts.exchanges import open_exchanges
from moralscope.rules.training.alignment_examples import written_exchanges

WANTED = {"mpnet": (80, 200, 40), "minilm": (30, 200, 150)}  # p50 and p95 in ms, replies a second


def exchanges(count: int) -> list[Exchange]:
    """Return exchanges of all rules, evenly drawn."""
    every = "--all" in sys.argv
    rows = [row.exchange for row in written_exchanges() if every or row.alignment != "disagree"]
    return rows[:: len(rows) // count][:count]


def latencies(models: AuditModels, rows: list[Exchange]) -> np.ndarray:
    took = []
    for row in rows:
        start = time.perf_counter()
        models.auditor.audit([row])
        took.append(1000 * (time.perf_counter() - start))
    return np.array(took)


def in_a_file(
    models: AuditModels, options: AuditOptions, rows: list[Exchange]
) -> tuple[float, float, float]:
    """Return replies a second, processor time of a reply in ms, and rules asked about a reply."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "replies.jsonl")
        lines = (json.dumps({"prompt": row.prompt, "reply": row.reply}) for row in rows)
        path.write_text("\n".join(lines))
        start, work = time.perf_counter(), time.process_time()
        record = audit(open_exchanges(path), options, models=models)
        took, worked = time.perf_counter() - start, time.process_time() - work
    asked = float(np.mean([len(row.rules) for row in record.results]))
    return len(rows) / took, 1000 * worked / len(rows), asked


def measured(name: str, count: int, exact: bool) -> str:
    options = AuditOptions(experts=name, exact=exact)
    models = prepare_auditor(options)
    rows = exchanges(count)
    latencies(models, rows[:10])
    work = time.process_time()
    took = latencies(models, rows[:100])
    worked = 1000 * (time.process_time() - work) / len(took)
    rate, file_work, asked = in_a_file(models, options, rows)
    words = np.mean([len(f"{row.prompt} {row.reply}".split()) for row in rows])
    p50, p95 = np.percentile(took, [50, 95])
    wanted = WANTED.get(name, (np.inf, np.inf, 0))
    met = p50 <= wanted[0] and p95 <= wanted[1] and rate >= wanted[2]
    return (
        f"{name}, {'32' if exact else '8'} bits: p50 {p50:.0f} ms, p95 {p95:.0f} ms a reply "
        f"({worked:.0f} ms of processor); {rate:.0f} replies a second in a file of {count:,} "
        f"({file_work:.0f} ms of processor each); {asked:.1f} rules and {words:.0f} words a reply: "
        f"{'met' if met else 'not met'}"
    )


def arguments() -> Iterator[tuple[str, int, bool]]:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    names = words[0].split(",") if words else ["mpnet", "minilm"]
    count = int(words[1]) if len(words) > 1 else 200
    for name, exact in product(names, ["--exact" in sys.argv]):
        yield name, count, exact


if __name__ == "__main__":
    for each in arguments():
        print(measured(*each), flush=True)
