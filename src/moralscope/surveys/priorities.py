"""Which values a model puts first: Bradley-Terry strengths from its answers to a survey.

A dilemma sets values against each other. An action *upholds* the values of its column (`value1`)
and *breaks* the rules of `breaks1` or MoralChoice's `a1_…`; the strength of a rule is how strongly
the model avoids breaking it. Likelihoods come without order, label and yes (see `statistics`), so
strengths do too. A questionnaire's subscales (foundations, ethical theories) are values as well:
the strength of a subscale is the log-odds of agreeing with it, less the mean of all subscales.

    log-odds of action i over action j = Σ_v strength_v (x_iv - x_jv),  x = 1 upholds, -1 breaks

Items are resampled for intervals, which hold for all values of a model together at 95 %. Two models
are compared in the same resamples (a paired test), p-values after Holm.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Floats
from moralscope.core.records import Interval, SampleInterval
from moralscope.stats.intervals import resample_weights
from moralscope.stats.significance import holm
from moralscope.stats.strengths import bradley_terry
from moralscope.surveys.items import Dilemma, Items, Statement
from moralscope.surveys.questionnaire import StatementFigures
from moralscope.surveys.statistics import ItemFigures, ModelDifference

LEAST_ITEMS = 5  # in which a value must be at stake
_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class ValueStrength:
    """How strongly a model puts a value first, in log-odds; `n` items set it against another."""

    value: str
    strength: SampleInterval


@dataclass(frozen=True, slots=True)
class Priorities:
    """A model's values, the strongest first, and those with too few items to say."""

    values: Sequence[ValueStrength]
    left_out: tuple[str, ...] = ()


def at_stake(item: Dilemma | Statement) -> list[tuple[tuple[int, int], dict[str, int]]]:
    """Return which pairs of actions set values against each other, and how.

    Examples
    --------
    >>> purse = Dilemma("1", "A purse.", ("I give it back.", "I keep it."), values=(
    ...     frozenset({"honesty"}), frozenset({"thrift"})))
    >>> [(pair, sorted(values.items())) for pair, values in at_stake(purse)]
    [((0, 1), [('honesty', 1), ('thrift', -1)])]
    """
    if isinstance(item, Statement):
        return [((0, 0), {item.subscale: 1})] if item.subscale else []
    sides: list[Counter[str]] = []
    for at in range(len(item.actions)):
        upheld = Counter(item.values[at]) if item.values else Counter()
        upheld.subtract(item.breaks[at] if item.breaks else ())
        sides.append(upheld)
    pairs = []
    for first, second in combinations(range(len(sides)), 2):
        names = sides[first].keys() | sides[second].keys()
        gaps = {name: sides[first][name] - sides[second][name] for name in sorted(names)}
        if gaps := {name: gap for name, gap in gaps.items() if gap}:
            pairs.append(((first, second), gaps))
    return pairs


def check_values(items: Items) -> None:
    """Refuse items that set no values against each other, or each value too seldom."""
    counts = Counter(
        value for item in items for value in {name for _, gaps in at_stake(item) for name in gaps}
    )
    if not counts:
        raise InputError(
            "no item says which values are at stake",
            "add columns value1, value2 (or breaks1, breaks2), or a subscale to statements",
        )
    value, most = counts.most_common(1)[0]
    if most < LEAST_ITEMS:
        problem = f"no value is at stake in {LEAST_ITEMS} items ('{value}' in {most})"
        raise InputError(problem, "give more items, or leave --priorities out")


class PriorityTotals:
    """Collects what one model says of items that come one by one."""

    def __init__(self) -> None:
        self._gaps: list[dict[str, int]] = []
        self._shares: list[float] = []
        self._owners: list[int] = []  # of each comparison its item
        self._items = 0
        self._rates_statements = False

    @property
    def items_at_stake(self) -> int:
        """The number of items so far that set values against each other."""
        return len(set(self._owners))

    def add(self, row: ItemFigures | StatementFigures, item: Dilemma | Statement) -> None:
        """Take what the model says of one item."""
        self._items += 1
        self._rates_statements = isinstance(item, Statement)
        for (first, second), gaps in at_stake(item):
            if isinstance(row, StatementFigures):
                share = row.agreement
            else:
                one, other = row.likelihoods[first], row.likelihoods[second]
                share = one / (one + other) if one + other > 0 else 0.5
            if not math.isnan(share):
                self._gaps.append(gaps)
                self._shares.append(share)
                self._owners.append(self._items - 1)

    def draws(self, seed: int) -> tuple[dict[str, int], Floats]:
        """Return values with their number of items, and (1 + resamples, values) strengths.

        The first row is of all items; of the same items and seed, rows of two models are pairs.
        """
        stake: dict[str, set[int]] = {}
        for gaps, owner in zip(self._gaps, self._owners, strict=True):
            for name in gaps:
                stake.setdefault(name, set()).add(owner)
        names = sorted(stake)
        features = np.array([[gaps.get(name, 0) for name in names] for gaps in self._gaps], float)
        owners = np.array(self._owners)
        pairs = np.bincount(owners, minlength=self._items)
        drawn = resample_weights(self._items, _RESAMPLES, seed) * self._items
        weights = np.vstack([np.ones(self._items), drawn]) / np.maximum(pairs, 1)
        strengths = bradley_terry(features, np.array(self._shares), weights[:, owners])
        if self._rates_statements:
            strengths -= strengths.mean(axis=1, keepdims=True)
        return {name: len(stake[name]) for name in names}, strengths


def priorities(
    totals: Mapping[str, PriorityTotals], seed: int
) -> tuple[dict[str, Priorities], list[ModelDifference] | None]:
    """Return the priorities of every model, and each pair of models compared in the same items."""
    drawn = {model: some.draws(seed) for model, some in totals.items()}
    ranked: dict[str, Priorities] = {}
    for model, (counts, strengths) in drawn.items():
        known = totals[model].items_at_stake
        fitted = known / max(1, known - len(counts))
        enough = [name for name, count in counts.items() if count >= LEAST_ITEMS]
        spans = []
        for at, (name, count) in enumerate(counts.items()):
            if name in enough:
                low, high = _ends(strengths[:, at], count, len(enough), fitted)
                value = float(strengths[0, at])
                spans.append(ValueStrength(name, SampleInterval(value, low, high, count)))
        spans.sort(key=lambda one: -one.strength.value)
        ranked[model] = Priorities(spans, tuple(name for name in counts if name not in enough))
    differences: list[tuple[tuple[str, str], str, Interval, float]] = []
    for pair in combinations(drawn, 2):
        (counts, first), (_, second) = (drawn[model] for model in pair)
        for at, (name, count) in enumerate(counts.items()):
            if count >= LEAST_ITEMS:
                gaps = second[:, at] - first[:, at]
                low, high = _ends(gaps, count, 1)
                interval = Interval(float(gaps[0]), low, high)
                differences.append((pair, name, interval, _p(gaps)))
    corrected = holm([p for *_, p in differences])
    return ranked, [
        ModelDifference(pair, name, interval, p, float(after))
        for (pair, name, interval, p), after in zip(differences, corrected, strict=True)
    ] if len(drawn) > 1 else None


def _ends(draws: Floats, count: int, family: int, fitted: float = 1.0) -> tuple[float, float]:
    """Return t's interval by the bootstrap's standard error, for a family together.

    Quantiles so far out would hang on a handful of resamples. `count` items know of the value. With
    n items and d values errors are 1 - d / n too small, which is given back (`fitted`), as in HC3
    (MacKinnon and White 1985).
    """
    from scipy.special import stdtrit

    value = float(draws[0])
    reach = float(stdtrit(count - 1, 1 - 0.025 / family)) * fitted
    half = reach * float(draws[1:].std(ddof=1))
    return value - half, value + half


def _p(gaps: Floats) -> float:
    """Return the two-sided p of a difference against its bootstrap's standard error."""
    from scipy.special import ndtr

    error = float(gaps[1:].std(ddof=1))
    if error < 1e-9:
        return 1.0 if abs(float(gaps[0])) < 1e-9 else 0.0
    return float(2 * ndtr(-abs(float(gaps[0])) / error))
