"""Scores beside people: how well an axis orders actions as raters do, and where they part.

A correlation can be no higher than the ratings allow, so each comes with a noise ceiling. Knows
nothing of how scores come about: any axis will do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.ratings import POOLED, Ratings, read_ratings
from moralscope.core.errors import InputError
from moralscope.core.records import ActionScore
from moralscope.stats.correlation import Correlation, correlate, spearman
from moralscope.stats.intervals import percentile_interval

_DRAWS = 2000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Scores against one population's yes rates: r and rho with intervals over the actions."""

    n: int
    raters: float
    pearson: Correlation
    spearman: Correlation


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The r of a perfect score with these ratings: median and 95 % of simulated ratings."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PopulationPair:
    """How well two populations' yes rates agree with each other."""

    pair: tuple[str, str]
    pearson: Correlation
    spearman: Correlation


@dataclass(frozen=True, slots=True)
class NoiseCeiling:
    """What bounds an r: the raters' number (`sampling`), and that populations differ."""

    sampling: Mapping[str, Ceiling | None]
    between: Sequence[PopulationPair]


@dataclass(frozen=True, slots=True)
class PersonRow:
    """An action's score, yes rates and standardised residuals.

    A positive residual: the model is kinder to the action than its raters are. `rate` and
    `residual` are those of all raters together.
    """

    action: str
    score: float
    rate: float
    rates: Mapping[str, float]
    residual: float
    residuals: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class HumanAgreement:
    """Scores beside people. `unscored`: rated only; `unrated`: scored only."""

    populations: Mapping[str, Agreement]
    noise_ceiling: NoiseCeiling | None
    rows: Sequence[PersonRow]
    unscored: Sequence[str]
    unrated: Sequence[str]
    warnings: Sequence[str] = ()


def human_agreement(
    results: Sequence[ActionScore], ratings: Path | Ratings, seed: int = 0
) -> HumanAgreement:
    """Correlate scores with people's yes rates, per population and pooled.

    Parameters
    ----------
    results
        Scores on any axis.
    ratings
        A CSV file with `action, yes, no`, or `NAME_yes, NAME_no` for each population; or what
        `read_ratings` made of it.
    seed
        Seeds every interval and the noise ceiling.

    Notes
    -----
    The pooled rate counts every rater once. Intervals are bootstraps over actions. Residuals are
    those of a straight line of score on rate, each divided by its own standard error
    (internally studentised, Cook and Weisberg 1982): beyond ±2 an action stands out.

    Examples
    --------
    >>> scores = [ActionScore(name, value, value, value) for name, value in
    ...           [("help", 0.3), ("lie", 0.1), ("kill", -0.3)]]
    >>> counts = {"help": {"people": (9, 1)}, "lie": {"people": (3, 7)}, "kill": {"people": (0, 9)}}
    >>> rated = Ratings("ratings.csv", ("people",), counts)
    >>> round(human_agreement(scores, rated).populations["people"].pearson.r, 3)
    0.929
    """
    rated = read_ratings(ratings) if isinstance(ratings, Path) else ratings
    scores, notes = _scores(results)
    shared = [action for action in scores if action in rated.counts]
    if not shared:
        raise InputError(
            f"none of the {len(rated.counts)} actions of {rated.source} was scored",
            "score the actions that people rated, worded exactly as in the file",
        )
    few = f"only {len(shared)} actions were both scored and rated: too few for r"
    tables = {name: _table(rated, shared, [name]) for name in rated.populations}
    pooled = _table(rated, shared, rated.populations)
    values = np.array([scores[action] for action in shared])
    wanted = {**tables, POOLED: pooled} if len(tables) > 1 else tables
    return HumanAgreement(
        {name: _agreement(values, table, seed) for name, table in wanted.items()},
        _noise_ceiling(wanted, tables, seed) if len(shared) >= 3 else None,
        _rows(shared, values, tables, pooled),
        [action for action in rated.counts if action not in scores],
        [action for action in scores if action not in rated.counts],
        [*rated.warnings, *notes, *([few] if len(shared) < 3 else [])],
    )


def layer_agreement(
    layers: Sequence[Sequence[float]],
    results: Sequence[ActionScore],
    ratings: Ratings,
    seed: int = 0,
) -> list[Correlation]:
    """Correlate the scores of each layer of a language model with all raters' yes rates.

    It is told, never chosen by: people's answers pick no layer.
    """
    actions = [row.action.strip() for row in results]
    shared = [at for at, action in enumerate(actions) if action in ratings.counts]
    rates = _rates(_table(ratings, [actions[at] for at in shared], ratings.populations)).tolist()
    return [correlate([scores[at] for at in shared], rates, seed=seed) for scores in layers]


def _scores(results: Sequence[ActionScore]) -> tuple[dict[str, float], list[str]]:
    """Return one score an action: the first, with a note where a later one differs."""
    scores: dict[str, float] = {}
    differing = []
    for row in results:
        if scores.setdefault(row.action.strip(), row.score) != row.score:
            differing.append(row.action)
    note = "was scored twice with different paraphrases: the first score was used"
    return scores, [f"'{action}' {note}" for action in dict.fromkeys(differing)]


def _table(rated: Ratings, actions: Sequence[str], populations: Sequence[str]) -> Floats:
    """Return (actions, 2): yes counts and raters, over the populations given."""
    pairs = [[rated.counts[action][name] for name in populations] for action in actions]
    yes = np.array([sum(yes for yes, _ in row) for row in pairs], dtype=np.float64)
    everyone = np.array([sum(yes + no for yes, no in row) for row in pairs], dtype=np.float64)
    return np.column_stack([yes, everyone])


def _rates(table: Floats) -> Floats:
    rates: Floats = table[:, 0] / table[:, 1]
    return rates


def _agreement(scores: Floats, table: Floats, seed: int) -> Agreement:
    rates = _rates(table)
    return Agreement(
        len(scores),
        float(np.median(table[:, 1])),
        correlate(scores.tolist(), rates.tolist(), seed=seed),
        spearman(scores.tolist(), rates.tolist(), seed=seed),
    )


def _noise_ceiling(
    wanted: Mapping[str, Floats], populations: Mapping[str, Floats], seed: int
) -> NoiseCeiling:
    between = []
    for first, second in combinations(populations, 2):
        rates = [_rates(populations[name]).tolist() for name in (first, second)]
        found = correlate(*rates, seed=seed), spearman(*rates, seed=seed)
        between.append(PopulationPair((first, second), *found))
    return NoiseCeiling({name: sampling_ceiling(t, seed) for name, t in wanted.items()}, between)


def sampling_ceiling(table: Floats, seed: int = 0) -> Ceiling | None:
    """Return the r that a score equal to the true rates would reach with so many raters.

    Parametric bootstrap: raters are drawn from Binomial(raters, true rate) and the drawn rates
    correlated with the true ones. The observed rates vary more than the true ones, by the
    raters' own sampling noise p(1 - p) / (raters - 1), so they are first drawn in to their mean
    by √(1 - noise / variance). There p counts half a yes and half a no beside the raters
    (Jeffreys): two raters of one mind do not show that everybody is. None where one rater an action
    leaves the noise unknown.

    Parameters
    ----------
    table
        (actions, 2): how many said yes, and how many were asked.
    """
    table = table[table[:, 1] > 1]
    rates, raters = _rates(table), table[:, 1]
    if len(table) < 3 or np.ptp(rates) == 0:
        return None
    likely = (table[:, 0] + 0.5) / (raters + 1)
    noise = float(np.mean(likely * (1 - likely) / (raters - 1)))
    kept = np.sqrt(max(0.0, 1 - noise / float(rates.var(ddof=1))))
    truth = rates.mean() + kept * (rates - rates.mean())
    if kept == 0:
        return Ceiling(0.0, 0.0, 0.0)
    generator = np.random.default_rng(seed)
    drawn = generator.binomial(raters.astype(np.int64), truth, (_DRAWS, len(truth))) / raters
    centred = drawn - drawn.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).sum(axis=1) * ((truth - truth.mean()) ** 2).sum())
    found = (centred @ (truth - truth.mean()))[scale > 0] / scale[scale > 0]
    low, high = percentile_interval(found[None])
    return Ceiling(float(np.median(found)), float(low[0]), float(high[0]))


def _rows(
    actions: Sequence[str], scores: Floats, tables: Mapping[str, Floats], pooled: Floats
) -> list[PersonRow]:
    rates = {name: _rates(table) for name, table in tables.items()}
    residuals = {name: _residuals(scores, values) for name, values in rates.items()}
    rate, residual = _rates(pooled), _residuals(scores, _rates(pooled))
    return [
        PersonRow(
            action,
            float(scores[at]),
            float(rate[at]),
            {name: float(values[at]) for name, values in rates.items()},
            float(residual[at]),
            {name: float(values[at]) for name, values in residuals.items()},
        )
        for at, action in enumerate(actions)
    ]


def _residuals(scores: Floats, rates: Floats) -> Floats:
    """Return internally studentised residuals of the line of score on rate."""
    n = len(scores)
    if n < 3 or np.ptp(rates) == 0:
        return np.full(n, np.nan)
    centred = rates - rates.mean()
    slope = float(centred @ scores / (centred @ centred))
    errors = scores - scores.mean() - slope * centred
    spread = np.sqrt(errors @ errors / (n - 2))
    scale = spread * np.sqrt(np.maximum(0.0, 1 - 1 / n - centred**2 / (centred @ centred)))
    residuals: Floats = np.divide(errors, scale, out=np.zeros(n), where=scale > 1e-12)
    return residuals
