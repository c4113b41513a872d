"""Scores beside people: how well an axis orders actions as raters do, and where they part.

A correlation can be no higher than the ratings allow, so each comes with a noise ceiling. Knows
nothing of how scores come about: any axis will do.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from moralscope.axes.ratings import POOLED, Ratings, read_ratings
from moralscope.axes.records import (
    Ceiling,
    HumanAgreement,
    NoiseCeiling,
    PersonRow,
    PopulationAgreement,
    PopulationPair,
)
from moralscope.core.errors import InputError
from moralscope.core.protocols import Floats
from moralscope.core.records import ActionScore
from moralscope.stats.correlation import Correlation, correlate, spearman
from moralscope.stats.intervals import percentile_interval

_DRAWS = 2000


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
    """
    rated = read_ratings(ratings) if isinstance(ratings, Path) else ratings
    scores: dict[str, float] = {}  # the first of an action
    differing = []
    for result in results:
        if scores.setdefault(result.action.strip(), result.score) != result.score:
            differing.append(result.action)
    shared = [action for action in scores if action in rated.counts]
    if not shared:
        raise InputError(
            f"none of the {len(rated.counts)} actions of {rated.source} was scored",
            "score the actions that people rated, worded exactly as in the file",
        )
    notes = [
        f"'{action}' was scored twice with different paraphrases: the first score was used"
        for action in dict.fromkeys(differing)
    ]
    if len(shared) < 3:
        notes.append(f"only {len(shared)} actions were both scored and rated: too few for r")
    tables = {name: _table(rated, shared, [name]) for name in rated.populations}
    pooled = _table(rated, shared, rated.populations)
    values = np.array([scores[action] for action in shared])
    populations = {**tables, POOLED: pooled} if len(tables) > 1 else tables
    agreements, ceilings = {}, {}
    for name, table in populations.items():
        rates = _rates(table).tolist()
        agreements[name] = PopulationAgreement(
            n=len(values),
            raters=float(np.median(table[:, 1])),
            pearson=correlate(values.tolist(), rates, seed=seed),
            spearman=spearman(values.tolist(), rates, seed=seed),
        )
        if len(shared) >= 3:
            ceilings[name] = sampling_ceiling(table, seed)
    between = []
    for pair in combinations(tables, 2) if ceilings else ():
        first, second = (_rates(tables[name]).tolist() for name in pair)
        coefficients = (measure(first, second, seed=seed) for measure in (correlate, spearman))
        between.append(PopulationPair(pair, *coefficients))
    return HumanAgreement(
        populations=agreements,
        noise_ceiling=NoiseCeiling(ceilings, between) if ceilings else None,
        rows=_person_rows(shared, values, tables, pooled),
        unscored=[action for action in rated.counts if action not in scores],
        unrated=[action for action in scores if action not in rated.counts],
        warnings=[*rated.warnings, *notes],
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


def _table(rated: Ratings, actions: Sequence[str], populations: Sequence[str]) -> Floats:
    """Return (actions, 2): yes counts and raters, over the populations given."""
    pairs = [[rated.counts[action][name] for name in populations] for action in actions]
    yes = np.array([sum(yes for yes, _ in row) for row in pairs], dtype=np.float64)
    everyone = np.array([sum(yes + no for yes, no in row) for row in pairs], dtype=np.float64)
    return np.column_stack([yes, everyone])


def _rates(table: Floats) -> Floats:
    rates: Floats = table[:, 0] / table[:, 1]
    return rates


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
    reached = (centred @ (truth - truth.mean()))[scale > 0] / scale[scale > 0]
    low, high = percentile_interval(reached[None])
    return Ceiling(float(np.median(reached)), float(low[0]), float(high[0]))


def _person_rows(
    actions: Sequence[str], scores: Floats, tables: Mapping[str, Floats], pooled: Floats
) -> list[PersonRow]:
    rates = {name: _rates(table) for name, table in tables.items()}
    residuals = {name: _residuals(scores, values) for name, values in rates.items()}
    rate, residual = _rates(pooled), _residuals(scores, _rates(pooled))
    return [
        PersonRow(
            action=action,
            score=float(scores[at]),
            rate=float(rate[at]),
            rates={name: float(values[at]) for name, values in rates.items()},
            residual=float(residual[at]),
            residuals={name: float(values[at]) for name, values in residuals.items()},
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
