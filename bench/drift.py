"""How often `compare --watch` raises a false alarm, and how soon it finds a drift of five points.

    python bench/drift.py

Simulated runs of 100 replies: sequences without drift, looked at after each of 1,000 runs; and
sequences whose share changes after 20 runs, with baselines of several sizes: how many are found,
and the smallest drift that is found in nine sequences of ten within the next 380 runs.
"""

from itertools import count

import numpy as np

from moralscope.stats.sequential import drift_test

RUN, LOOKS, START, SEQUENCES = 100, 400, 20, 60
DRIFTS = ((0.05, 0.05), (0.10, 0.05), (0.10, -0.05), (0.50, 0.05), (0.50, -0.05))
BASELINES = (500, 1_000, 2_000, 5_000)
ENDS = ((0.05, 1), (0.10, 1), (0.10, -1), (0.50, 1))  # a share, and the way it drifts


def sequence(
    draw: np.random.Generator, base: int, chances: np.ndarray
) -> tuple[tuple[float, int], list[tuple[float, int]]]:
    flagged = draw.binomial(RUN, chances)
    baseline = (float(draw.binomial(base, chances[0])), base)
    return baseline, [(float(number), RUN) for number in flagged]


def delays(draw: np.random.Generator, base: int, share: float, drift: float) -> list[int]:
    """Return after how many replies a drift is found, of the sequences in which it is."""
    chances = np.where(np.arange(LOOKS) < START, share, share + drift)
    alarms = [drift_test(*sequence(draw, base, chances)).alarm for _ in range(SEQUENCES)]
    return [(alarm - START + 1) * RUN for alarm in alarms if alarm is not None]


def least(draw: np.random.Generator, base: int, share: float, sign: int) -> int:
    """Return the smallest drift, in whole points, that nine sequences of ten find."""
    found = (len(delays(draw, base, share, sign * points / 100)) for points in count(1))
    return next(at for at, number in enumerate(found, 1) if number >= 0.9 * SEQUENCES)


def main() -> None:
    draw = np.random.default_rng(7)
    for base in BASELINES:
        for share, drift in DRIFTS:
            late = delays(draw, base, share, drift)
            rate, median = len(late) / SEQUENCES, np.median(late) if late else np.nan
            print(f"baseline {base:,}, {share:.0%} {drift:+.0%}: {rate:.0%}, after {median:,.0f}")
    print(
        "smallest drift found: baseline |",
        *(f"{s:.0%}, {'+' if d > 0 else '-'} |" for s, d in ENDS),
    )
    for base in BASELINES:
        print(f"{base:,} |", *(f"{least(draw, base, *one)} |" for one in ENDS), flush=True)
    calm = np.full(1_000, 0.1)
    tests = (drift_test(*sequence(draw, 1_000, calm)) for _ in range(1_000))
    print("false alarms in 1,000 sequences:", sum(test.alarm is not None for test in tests))


if __name__ == "__main__":
    main()
