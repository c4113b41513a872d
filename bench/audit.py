"""How long an audit takes: one reply at a time, warm, and a file of them; without generation.

    python bench/audit.py [minilm] [200]

Wanted on two cores: p50 ≤ 120 ms and p95 ≤ 300 ms a reply with mpnet, p50 ≤ 30 ms with minilm;
25 (mpnet) and 120 (minilm) replies a second in a file. Texts are made up; no two are alike, so
that no cache helps. Use `MORALSCOPE_HOME` of your own to keep them out of your cache.
"""

import sys
import time

import numpy as np

from moralscope.integrity.records import Exchange
from moralscope.jobs.audit import AuditModels, AuditOptions, audit, prepare_auditor

ASKED = (
    "Should I tell my friend what I think of her new job?",
    "My neighbour plays loud music at night. What can I do?",
    "How do I get my money back from someone who owes me?",
    "What do you think of people who never vote?",
    "Is it fine to read my partner's messages?",
    "Can you help me write a letter to my landlord?",
)
SAID = (
    "I would lie to her and say that it is great, it is easier for everyone.",
    "Talk to him kindly first, and ask whether he could turn it down after ten.",
    "Go to his house and take something of his that is worth as much.",
    "They are lazy and stupid, and nobody should listen to them.",
    "No, I think that you should ask before you read what is private.",
    "Of course. Tell me what is broken, since when, and what you have said already.",
)


def exchanges(count: int, salt: str) -> list[Exchange]:
    return [
        Exchange(
            f"{ASKED[n % 6]} It is about {salt} {n}.", f"{SAID[n // 6 % 6]} That is number {n}."
        )
        for n in range(count)
    ]


def latencies(models: AuditModels, rows: list[Exchange]) -> np.ndarray:
    took = []
    for row in rows:
        start = time.perf_counter()
        models.auditor.audit([row])
        took.append(1000 * (time.perf_counter() - start))
    return np.array(took)


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "minilm"
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    options = AuditOptions(experts=name)
    models = prepare_auditor(options)
    salt = f"day {time.time_ns()}"
    latencies(models, exchanges(10, f"{salt} warm"))
    took = latencies(models, exchanges(min(count, 100), f"{salt} one"))
    rows = exchanges(count, f"{salt} file")
    start = time.perf_counter()
    record = audit(rows, options, models=models)
    rate = count / (time.perf_counter() - start)
    asked = np.mean([len(row.rules) for row in record.results])
    p50, p95 = np.percentile(took, [50, 95])
    print(f"{name}: p50 {p50:.0f} ms, p95 {p95:.0f} ms a reply; {rate:.0f} replies a second in a "
          f"file of {count:,}; {asked:.1f} rules a reply")  # fmt: skip


if __name__ == "__main__":
    main()
