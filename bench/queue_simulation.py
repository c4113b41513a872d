"""Where queues grow: a day of replies through workers that need a given time for each.

    python bench/queue_simulation.py [--replies 10000000] [--seconds 0.028] [--workers 16]

Arrivals are a Poisson process whose rate is a sine over the day: the busiest hour has about twice
the mean. A worker takes one reply at a time, first come, first served; times are gamma-distributed
with a variation of one half (replies differ in length). Without --workers several numbers are
tried. Every hundredth part of the day is simulated at its own rate with the queue carried over
(fluid limit between them), so that a day takes seconds.
"""

import argparse
from dataclasses import dataclass

import numpy as np

PARTS = 144  # of ten minutes
MOST = 200_000  # replies that are simulated one by one in a part


def rates(replies: int) -> np.ndarray:
    """Return replies a second in each part of the day."""
    hours = (np.arange(PARTS) + 0.5) * 24 / PARTS
    return replies / 86_400 * (1 + np.sin((hours - 6) * np.pi / 12))


def waits(rate: float, backlog: float, seconds: float, workers: int, seed: int) -> np.ndarray:
    """Simulate a part and return how long replies wait before a worker takes them."""
    generator = np.random.default_rng(seed)
    length = 86_400 / PARTS
    count = min(MOST, max(1, generator.poisson(rate * length)))
    arrivals = np.cumsum(generator.exponential(1 / max(rate, 1e-9), count))
    times = generator.gamma(4, seconds / 4, count)
    free = np.full(workers, backlog * seconds / workers)
    found = np.empty(count)
    for index in range(count):
        worker = int(free.argmin())
        start = max(arrivals[index], free[worker])
        found[index] = start - arrivals[index]
        free[worker] = start + times[index]
    return found


@dataclass(frozen=True)
class Day:
    """How long the replies of a day wait; `busy` and `at_peak` are shares of the capacity."""

    busy: float
    at_peak: float
    median: float  # seconds, in the busiest part
    tail: float  # the 99th percentile there
    queue: float  # replies that wait at most
    minutes: float  # until such a queue is served


def day(replies: int, seconds: float, workers: int) -> Day:
    """Send the replies of a day through the workers."""
    capacity = workers / seconds
    flow = rates(replies)
    length = 86_400 / PARTS
    backlogs = [0.0]
    for rate in flow:
        backlogs.append(max(0.0, backlogs[-1] + (rate - capacity) * length))
    peak = int(flow.argmax())
    waited = waits(flow[peak], backlogs[peak], seconds, workers, peak)
    return Day(
        busy=replies / 86_400 / capacity,
        at_peak=flow[peak] / capacity,
        median=float(np.median(waited)),
        tail=float(np.quantile(waited, 0.99)),
        queue=max(backlogs),
        minutes=max(backlogs) / capacity / 60,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replies", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=0.028, help="of a worker for one reply")
    parser.add_argument("--workers", type=int)
    chosen = parser.parse_args()
    mean = chosen.replies * chosen.seconds / 86_400
    tried = (
        [chosen.workers] if chosen.workers else [int(mean * x) + 1 for x in (1.1, 1.5, 2, 2.2, 3)]
    )
    print(f"{chosen.replies:,} replies a day, {chosen.seconds:g} s of a core each:\n")
    print("| workers | busy | at the peak | median wait there | 99 % | longest queue | its wait |")
    print("|---|---|---|---|---|---|---|")
    for workers in tried:
        row = day(chosen.replies, chosen.seconds, workers)
        print(
            f"| {workers} | {row.busy:.0%} | {row.at_peak:.0%} | {row.median:.2f} s "
            f"| {row.tail:.2f} s | {row.queue:,.0f} | {row.minutes:.0f} min |",
            flush=True,
        )


if __name__ == "__main__":
    main()
