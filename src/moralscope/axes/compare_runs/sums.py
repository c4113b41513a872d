"""Records of two corpus runs compared by what they say in sum: means and shares, not paired.

The rows of a corpus run are in its folder. Where only the records are at hand, their statistics
still tell how the mean and the flagged share moved.
"""

import math
from typing import Any

from moralscope.axes.compare_runs.figures import by_foundation
from moralscope.axes.compare_runs.items import AUDIT, SavedRun
from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval
from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.rules.records import FOUNDATIONS
from moralscope.stats.streams import MeanOf

_NORMAL_97_5 = 1.959963984540054


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
