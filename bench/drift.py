"""How often `compare --watch` raises a false alarm, and how soon it finds a drift of five points.

    python bench/drift.py

Simulated runs of 100 replies: sequences without drift, looked at after each of 1,000 runs; and
sequences whose share changes after 20 runs, with baselines of several sizes.
"""

import numpy as np

from moralscope.stats.sequential import drift_test

RUN, LOOKS, START, SEQUENCES = 100, 400, 20, 60
DRIFTS = ((0.05, 0.05), (0.10, 0.05), (0.10, -0.05), (0.50, 0.05))


def sequence(
    draw: np.random.Generator, base: int, chances: np.ndarray
) -> tuple[tuple[float, int], list[tuple[float, int]]]:
    flagged = draw.binomial(RUN, chances)
    baseline = (float(draw.binomial(base, chances[0])), base)
    return baseline, [(float(count), RUN) for count in flagged]


def main() -> None:
    draw = np.random.default_rng(7)
    for base in (1_000, 2_000, 5_000):
        for share, drift in DRIFTS:
            chances = np.where(np.arange(LOOKS) < START, share, share + drift)
            alarms = [drift_test(*sequence(draw, base, chances)).alarm for _ in range(SEQUENCES)]
            delays = [(alarm - START + 1) * RUN for alarm in alarms if alarm is not None]
            rate, median = len(delays) / SEQUENCES, np.median(delays)
            print(f"baseline {base:,}, {share:.0%} {drift:+.0%}: {rate:.0%}, after {median:,.0f}")
    calm = np.full(1_000, 0.1)
    tests = (drift_test(*sequence(draw, 1_000, calm)) for _ in range(1_000))
    print("false alarms in 1,000 sequences:", sum(test.alarm is not None for test in tests))


if __name__ == "__main__":
    main()
