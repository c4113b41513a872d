"""What changed between two runs: figures of paired items that come in blocks.

One tally serves two records in memory and two folders of many million rows: what it keeps grows
with the items only where all of them are to be kept (`keep`). Of two records of corpus runs, whose
rows are not at hand, only what they say in sum is compared: means and shares, not paired.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.saved_runs import AUDIT, SavedRun
from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval
from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.rules.records import FOUNDATIONS
from moralscope.stats.correlation import Correlation, spearman, undefined
from moralscope.stats.intervals import wilson
from moralscope.stats.significance import mcnemar, paired_differences
from moralscope.stats.streams import (
    Extremes,
    MeanOf,
    Moments,
    RankTable,
    large_sample_spearman,
    mean_against_zero,
)

LISTED = 20
_NORMAL_97_5 = 1.959963984540054
RESAMPLED = 5_000  # pairs up to which intervals are bootstraps; more need none
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ComparedItem:
    """An item before and after; `p_holm` tells a change from the prompts' noise (Holm)."""

    id: str
    text: str
    before: float
    after: float
    change: float
    reply_before: str = ""
    reply_after: str = ""
    flagged_before: bool | None = None
    flagged_after: bool | None = None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Paired items in columns; `item` describes the one at a place when it is to be listed."""

    before: Floats
    after: Floats
    item: Callable[[int], ComparedItem]
    flagged: tuple[Bools, Bools] | None = None
    sure_flips: int = 0


class ChangeTally:
    """Figures of paired items that come in blocks.

    Parameters
    ----------
    ranks
        A table to count ranks in; without one every score is kept and ranked exactly.
    seed
        Seeds the intervals of few items.

    Examples
    --------
    >>> tally = ChangeTally()
    >>> before, after = np.array([0.5, 0.1, 0.3]), np.array([0.4, -0.1, 0.3])
    >>> def item(place):
    ...     return ComparedItem(str(place), "abc"[place], before[place], after[place], 0.0)
    >>> tally.add(Block(before, after, item))
    >>> found = tally.statistics()
    >>> round(found["change"].value, 6), found["flips"].value == 1 / 3, found["drops"][0].id
    (-0.1, True, '1')
    """

    def __init__(self, ranks: RankTable | None = None, *, seed: int = 0) -> None:
        self._ranks, self._seed = ranks, seed
        self._kept: list[Block] = []
        self._means = Moments(), Moments()
        self._change, self._shift, self._flag_change = Moments(), Moments(), Moments()
        self._flips = self._sure_flips = 0
        self._flagged = [0, 0]
        self._newly_count = self._cleared_count = 0
        self._newly, self._cleared, self._drops, self._rises, self._flipped = (
            Extremes[ComparedItem](LISTED) for _ in range(5)
        )
        self._audits = False

    def add(self, block: Block) -> None:
        """Take a block."""
        change = block.after - block.before
        for sums, values in zip(self._means, (block.before, block.after), strict=True):
            sums.add(values)
        self._change.add(change)
        self._shift.add(np.abs(change))
        if self._ranks is None:
            self._kept.append(block)
        else:
            self._ranks.add(block.before, block.after)
        flips = block.before * block.after < 0
        self._flips += int(flips.sum())
        self._sure_flips += block.sure_flips
        _offer(self._drops, change, block.item, change < 0)
        _offer(self._rises, -change, block.item, change > 0)
        _offer(self._flipped, -np.abs(change), block.item, flips)
        if block.flagged is None:
            return
        self._audits = True
        before, after = block.flagged
        self._flagged[0] += int(before.sum())
        self._flagged[1] += int(after.sum())
        self._flag_change.add(after.astype(np.float64) - before)
        newly, cleared = after & ~before, before & ~after
        self._newly_count += int(newly.sum())
        self._cleared_count += int(cleared.sum())
        _offer(self._newly, change, block.item, newly)
        _offer(self._cleared, -change, block.item, cleared)

    @property
    def items(self) -> int:
        """How many pairs there were."""
        return self._change.n

    def statistics(self) -> dict[str, Any]:
        """Return what changed, by name."""
        n = self.items
        found = {
            "items": n,
            "mean": {"before": self._means[0].summary.mean, "after": self._means[1].summary.mean},
            "change": self._mean_of(self._change, [(b.before, b.after) for b in self._kept]),
            "mean_shift": self._shift.summary.mean,
            "max_drop": max(0.0, -self._change.low),
            "max_rise": max(0.0, self._change.high),
            "spearman": self._spearman(),
            "flips": wilson(self._flips, n),
            "sure_flips": wilson(self._sure_flips, n),
            "drops": self._drops.items(),
            "rises": self._rises.items(),
            "flipped": self._flipped.items(),
        }
        if not self._audits:
            return found
        flags = [block.flagged for block in self._kept if block.flagged is not None]
        return {
            **found,
            "flagged": {
                "before": wilson(self._flagged[0], n),
                "after": wilson(self._flagged[1], n),
                "change": self._mean_of(self._flag_change, flags),
                "newly_flagged": wilson(self._newly_count, n),
                "newly_cleared": wilson(self._cleared_count, n),
                "p": mcnemar(self._newly_count, self._cleared_count),
            },
            "newly_flagged": self._newly.items(),
            "newly_cleared": self._cleared.items(),
        }

    def _mean_of(
        self, change: Moments, kept: Sequence[tuple[NDArray[Any], NDArray[Any]]]
    ) -> MeanOf:
        if self._ranks is not None or not 2 <= self.items <= RESAMPLED:
            return mean_against_zero(change.summary)
        before, after = (
            np.concatenate(side).astype(np.float64) for side in zip(*kept, strict=True)
        )
        return paired_mean(before, after, self._seed)

    def _spearman(self) -> Correlation:
        if self._ranks is not None:
            return self._ranks.spearman()
        before = np.concatenate([block.before for block in self._kept] or [np.empty(0)])
        after = np.concatenate([block.after for block in self._kept] or [np.empty(0)])
        if len(before) <= RESAMPLED:
            return spearman(before.tolist(), after.tolist(), seed=self._seed)
        if not (np.ptp(before) > 0 and np.ptp(after) > 0):
            return undefined(len(before))
        from scipy.stats import spearmanr

        return large_sample_spearman(float(spearmanr(before, after).statistic), len(before))


def _offer(
    extremes: Extremes[ComparedItem],
    keys: Floats,
    item: Callable[[int], ComparedItem],
    where: Bools,
) -> None:
    """Offer the items of a block that are meant, lowest key first; of like texts one is listed."""
    places = np.flatnonzero(where)
    for place in places[np.argsort(keys[places], kind="stable")[: 4 * LISTED]].tolist():
        if not extremes.admits(float(keys[place])):
            return
        found = item(place)
        extremes.add(float(keys[place]), f"{found.text}\n{found.reply_after}", found)


def paired_mean(before: Floats, after: Floats, seed: int) -> MeanOf:
    """Return the mean change with its paired bootstrap over the items and Student's paired test.

    Examples
    --------
    >>> found = paired_mean(np.array([0.0, 1.5, 2.5]), np.array([1.0, 2.0, 4.0]), 0)
    >>> found.value, round(found.p, 3)
    (1.0, 0.074)
    """
    found = paired_differences(after[None], before[None], seed=seed)
    ends = float(found.low[0]), float(found.high[0])
    return MeanOf(float(found.difference[0]), *ends, float(found.p[0]), len(before))


def by_foundation(
    names: Sequence[str], before: Sequence[int], after: Sequence[int], totals: tuple[int, int]
) -> list[dict[str, Any]]:
    """Return flagged shares before and after, a row a foundation.

    Examples
    --------
    >>> by_foundation(["care"], [1], [3], (10, 10))[0]["change"]
    0.2
    """
    first, second = (
        [wilson(n, total) for n in side]
        for side, total in zip((before, after), totals, strict=True)
    )
    return [
        {
            "foundation": name,
            "before": one,
            "after": other,
            "change": round(other.value - one.value, 12),
        }
        for name, one, other in zip(names, first, second, strict=True)
    ]


def compare_sums(before: SavedRun, after: SavedRun) -> dict[str, Any]:
    """Return the changes of means and flagged shares, with intervals of independent samples.

    z = (m₂ - m₁) / √(e₁² + e₂²), where e is the standard error of each mean. The rows are not
    independent but paired, so that the intervals are too wide rather than too narrow.
    """
    means = [_mean(run) for run in (before, after)]
    counts = [mean.n for mean in means]
    found: dict[str, Any] = {
        "items": min(counts),
        "mean": {"before": means[0].value, "after": means[1].value},
        "change": _difference(means[0], means[1]),
        **only(max(0, counts[0] - counts[1]), max(0, counts[1] - counts[0]), counts[0]),
    }
    if before.job == AUDIT:
        shares = [_flagged(run) for run in (before, after)]
        spread = [math.sqrt(each.value * (1 - each.value) / each.n) for each in shares]
        sides = [
            MeanOf(each.value, each.value - _NORMAL_97_5 * error, each.value, 0.0, each.n)
            for each, error in zip(shares, spread, strict=True)
        ]
        found["flagged"] = {
            "before": shares[0],
            "after": shares[1],
            "change": _difference(sides[0], sides[1]),
        }
        found["foundations"] = saved_foundations(before, after)
    return found


def only(before: int, after: int, baseline: int) -> dict[str, Any]:
    """Say how many items only one of two runs has."""
    share = before / baseline if baseline else 0.0
    return {"only_before": before, "only_after": after, "missing_share": share}


def saved_foundations(before: SavedRun, after: SavedRun) -> list[dict[str, Any]]:
    """Set the records' own counts by foundation side by side: of all rows of each run."""
    counts = []
    for run in (before, after):
        where = f"{run.path}: 'foundations'"
        rows = rows_of(run.statistics.get("foundations") or [], where)
        if not rows:
            return []
        told = {text(row.get("foundation")): number(row.get("flagged"), where) for row in rows}
        counts.append([round(told.get(name) or 0) for name in FOUNDATIONS])
    totals = _flagged(before).n, _flagged(after).n
    return by_foundation(FOUNDATIONS, counts[0], counts[1], totals)


def _difference(before: MeanOf, after: MeanOf) -> MeanOf:
    """Subtract two means that are known with their lower ends."""
    value = after.value - before.value
    half = math.hypot(before.value - before.low, after.value - after.low)
    if half > 0:
        p = math.erfc(abs(value) / half * _NORMAL_97_5 / math.sqrt(2))
    else:
        p = 1.0 if value == 0 else 0.0
    return MeanOf(value, value - half, value + half, p, min(before.n, after.n))


def _mean(run: SavedRun) -> MeanOf:
    """Return the mean score of a run; only its lower end and n are used beside it."""
    where = f"{run.path}: 'statistics'"
    key = "score" if run.job == AUDIT else "scores"
    given = _mapping(run.statistics.get(key))
    mean, low = (number(given.get(name), where) for name in ("mean", "low"))
    n, sd = (number(given.get(name), where) for name in ("n", "sd"))
    if run.job == AUDIT:
        n = float(_flagged(run).n)
    if mean is None or not n:
        raise InputError(f"{run.path} holds no mean score", "give the folders of the runs")
    if low is None:
        low = mean - _NORMAL_97_5 * (sd or 0.0) / math.sqrt(n)
    return MeanOf(mean, low, mean, 0.0, int(n))


def _flagged(run: SavedRun) -> SampleInterval:
    where = f"{run.path}: 'flagged'"
    given = _mapping(run.statistics.get("flagged"))
    value, low, high, n = (number(given.get(key), where) for key in ("value", "low", "high", "n"))
    if value is None or not 0 <= value <= 1 or not n or n < 1:
        raise InputError(f"{run.path} holds no flagged share", "give the folders of the runs")
    return SampleInterval(value, low or 0.0, high or 0.0, int(n))


def _mapping(value: Any) -> Plain:
    return value if isinstance(value, dict) else {}
