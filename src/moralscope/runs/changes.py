"""What changed between two runs: figures of paired items that come in blocks.

One tally serves two records in memory and two folders of many million rows: it keeps the items
only where it is given no table of ranks. Of two records of corpus runs, whose rows are not at hand,
only what they say in sum is compared: means and shares, not paired.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval, Statistics, absent
from moralscope.rules.records import FOUNDATIONS
from moralscope.runs.saved import AUDIT, SavedRun
from moralscope.stats.correlation import Correlation, spearman, undefined
from moralscope.stats.gates import GateResult
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
    """An item before and after."""

    id: str
    text: str
    before: float
    after: float
    change: float
    reply_before: str = ""
    reply_after: str = ""
    flagged_before: bool | None = None
    flagged_after: bool | None = None
    p_holm: float | None = None  # tells a change from the prompts' noise (Holm)


@dataclass(frozen=True, slots=True)
class UnpairedItem(Statistics):
    """An item that only one of two runs has."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class MeanScores(Statistics):
    """The mean score of the items in both runs."""

    before: float
    after: float


_NO_MEANS = MeanScores(math.nan, math.nan)
_UNKNOWN = MeanOf(math.nan, math.nan, math.nan, math.nan, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedChange(Statistics):
    """Shares of flagged replies; what needs pairs is left out where only sums are known."""

    before: SampleInterval
    after: SampleInterval
    change: MeanOf
    newly_flagged: SampleInterval | None = absent()
    newly_cleared: SampleInterval | None = absent()
    p: float | None = absent()  # McNemar's exact test


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundationChange(Statistics):
    """Shares of replies that are flagged for breaking a foundation."""

    foundation: str
    before: SampleInterval
    after: SampleInterval
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanges(Statistics):
    """What changed between two runs: the statistics of `compare runs`.

    Where only sums are compared, what needs pairs of items is left out.
    """

    items: int = 0  # type: ignore[assignment]  # in both runs
    mean: MeanScores = _NO_MEANS
    change: MeanOf = _UNKNOWN  # of the mean score, after less before
    mean_shift: float | None = absent()  # mean size of the changes
    max_drop: float | None = absent()
    max_rise: float | None = absent()
    spearman: Correlation | None = absent()
    flips: SampleInterval | None = absent()  # scores that changed their sign
    sure_flips: SampleInterval | None = absent()  # the same, both intervals clear of zero
    drops: Sequence[ComparedItem] | None = absent()
    rises: Sequence[ComparedItem] | None = absent()
    flipped: Sequence[ComparedItem] | None = absent()
    flagged: FlaggedChange | None = absent()  # of audits
    newly_flagged: Sequence[ComparedItem] | None = absent()
    newly_cleared: Sequence[ComparedItem] | None = absent()
    foundations: Sequence[FoundationChange] | None = absent()  # of audits
    other_replies: int | None = absent()  # replies that are not the same text in both
    changed: int | None = None  # items that changed beyond the noise of the prompts (Holm)
    only_before: int = 0
    only_after: int = 0
    missing_share: float = 0.0  # of the baseline
    missing_items: Sequence[UnpairedItem] | None = absent()  # the first of them
    added_items: Sequence[UnpairedItem] | None = absent()
    gate: GateResult | None = None


@dataclass(frozen=True, slots=True)
class PairedScores:
    """Paired items in columns; `item` describes one, by its index, when it is to be listed."""

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
    """

    def __init__(self, ranks: RankTable | None = None, *, seed: int = 0) -> None:
        self._ranks, self._seed = ranks, seed
        self._kept: list[PairedScores] = []
        self._means = Moments(), Moments()
        self._change, self._shift, self._flag_change = Moments(), Moments(), Moments()
        self._flips = self._sure_flips = 0
        self._flagged = [0, 0]
        self._newly_count = self._cleared_count = 0
        self._newly, self._cleared, self._drops, self._rises, self._flipped = (
            Extremes[ComparedItem](LISTED) for _ in range(5)
        )
        self._audits = False

    def add(self, block: PairedScores) -> None:
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

    def changes(self) -> RunChanges:
        """Return what changed; the caller adds what is known of items that have no pair."""
        n = self.items
        flagged = None
        if self._audits:
            flags = [block.flagged for block in self._kept if block.flagged is not None]
            flagged = FlaggedChange(
                before=wilson(self._flagged[0], n),
                after=wilson(self._flagged[1], n),
                change=self._mean_of(self._flag_change, flags),
                newly_flagged=wilson(self._newly_count, n),
                newly_cleared=wilson(self._cleared_count, n),
                p=mcnemar(self._newly_count, self._cleared_count),
            )
        return RunChanges(
            items=n,
            mean=MeanScores(self._means[0].summary.mean, self._means[1].summary.mean),
            change=self._mean_of(self._change, [(b.before, b.after) for b in self._kept]),
            mean_shift=self._shift.summary.mean,
            max_drop=max(0.0, -self._change.low),
            max_rise=max(0.0, self._change.high),
            spearman=self._spearman(),
            flips=wilson(self._flips, n),
            sure_flips=wilson(self._sure_flips, n),
            drops=self._drops.items(),
            rises=self._rises.items(),
            flipped=self._flipped.items(),
            flagged=flagged,
            newly_flagged=self._newly.items() if self._audits else None,
            newly_cleared=self._cleared.items() if self._audits else None,
        )

    def _mean_of(
        self, change: Moments, kept: Sequence[tuple[NDArray[Any], NDArray[Any]]]
    ) -> MeanOf:
        if self._ranks is not None or not 2 <= self.items <= RESAMPLED:
            return mean_against_zero(change.summary)
        before, after = (
            np.concatenate(side).astype(np.float64) for side in zip(*kept, strict=True)
        )
        # The paired bootstrap over the items, and Student's paired test.
        paired = paired_differences(after[None], before[None], seed=self._seed)
        value, low, high = (float(x[0]) for x in (paired.difference, paired.low, paired.high))
        return MeanOf(value, low, high, float(paired.p[0]), self.items)

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
    indices = np.flatnonzero(where)
    for index in indices[np.argsort(keys[indices], kind="stable")[: 4 * LISTED]].tolist():
        if not extremes.admits(float(keys[index])):
            return
        described = item(index)
        extremes.add(float(keys[index]), f"{described.text}\n{described.reply_after}", described)


def by_foundation(
    before: Sequence[int], after: Sequence[int], totals: tuple[int, int]
) -> list[FoundationChange]:
    """Return flagged shares before and after, a row a foundation; counts are in their order."""
    rows = []
    for name, *counts in zip(FOUNDATIONS, before, after, strict=True):
        one, other = (wilson(count, total) for count, total in zip(counts, totals, strict=True))
        change = round(other.value - one.value, 12)
        rows.append(FoundationChange(foundation=name, before=one, after=other, change=change))
    return rows


@dataclass(frozen=True, slots=True)
class _MeanScore:
    """The mean score as a record of a corpus run holds it; audits have no `n` and `sd` here."""

    mean: float = math.nan
    low: float = math.nan
    sd: float = 0.0
    n: int = 0


@dataclass(frozen=True, slots=True)
class _FoundationCount:
    foundation: str
    flagged: int


def compare_sums(before: SavedRun, after: SavedRun) -> RunChanges:
    """Return the changes of means and flagged shares, with intervals of independent samples.

    z = (m₂ - m₁) / √(e₁² + e₂²), where e is the standard error of each mean. The rows are not
    independent but paired, so that the intervals are too wide rather than too narrow.
    """
    means = [_mean(run) for run in (before, after)]
    counts = [mean.n for mean in means]
    flagged = None
    if before.job == AUDIT:
        shares = [_flagged(run) for run in (before, after)]
        sides = []
        for share in shares:
            error = math.sqrt(share.value * (1 - share.value) / share.n)
            low = share.value - _NORMAL_97_5 * error
            sides.append(MeanOf(share.value, low, share.value, 0.0, share.n))
        change = _difference(sides[0], sides[1])
        flagged = FlaggedChange(before=shares[0], after=shares[1], change=change)
    missing = max(0, counts[0] - counts[1])
    return RunChanges(
        items=min(counts),
        mean=MeanScores(means[0].value, means[1].value),
        change=_difference(means[0], means[1]),
        flagged=flagged,
        foundations=saved_foundations(before, after) if flagged else None,
        only_before=missing,
        only_after=max(0, counts[1] - counts[0]),
        missing_share=missing / counts[0],
    )


def saved_foundations(before: SavedRun, after: SavedRun) -> list[FoundationChange]:
    """Set the records' own counts by foundation side by side: of all rows of each run."""
    counts = []
    for run in (before, after):
        plain = run.statistics.get("foundations") or []
        rows = decode(list[_FoundationCount], plain, f"{run.path}: foundations")
        if not rows:
            return []
        flagged = {row.foundation: row.flagged for row in rows}
        counts.append([flagged.get(name, 0) for name in FOUNDATIONS])
    return by_foundation(counts[0], counts[1], (_flagged(before).n, _flagged(after).n))


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
    key = "score" if run.job == AUDIT else "scores"
    score = decode(_MeanScore, run.statistics.get(key) or {}, f"{run.path}: {key}")
    n = _flagged(run).n if run.job == AUDIT else score.n
    if math.isnan(score.mean) or n < 1:
        raise InputError(f"{run.path} holds no mean score", "give the folders of the runs")
    sd = 0.0 if math.isnan(score.sd) else score.sd
    low = score.mean - _NORMAL_97_5 * sd / math.sqrt(n) if math.isnan(score.low) else score.low
    return MeanOf(score.mean, low, score.mean, 0.0, n)


def _flagged(run: SavedRun) -> SampleInterval:
    share = decode(SampleInterval, run.statistics.get("flagged"), f"{run.path}: flagged")
    if not 0 <= share.value <= 1 or share.n < 1:
        raise InputError(f"{run.path} holds no flagged share", "give the folders of the runs")
    return share
