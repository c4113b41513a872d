"""`rules learn`: from labels of replies to a calibration, or a small head, of rules of one's own.

The experts stay as they are. A logistic regression over what they say of (rule, exchange) and over
their vector (`rules.learnt`) starts at the experts' own answer and leaves it only as far as labels
pull: slopes, intercept, a bias for each rule and the weights of the vector are drawn to one and
zero (a normal prior). Rules of a book share all but the bias, so that few labels a rule suffice.

Breaches are rarer in the world than among labels: labels are weighted as if one reply in ten broke
its rule, and the limit has the best F1 there. Paired bootstraps over exchanges, on folds that were
not learnt from, decide what is kept: the head where its log loss is less than the calibration's,
else the calibration where its F1 is higher, else nothing. Either must have a higher F1 than the
experts alone, and than flagging everything.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Bools, ExpertSet, Floats
from moralscope.core.records import Interval, RunRecord, Statistics
from moralscope.models.store import Progress
from moralscope.rules.experts import prepare_rule_experts
from moralscope.rules.labels import BreachLabel, read_labels
from moralscope.rules.learnt import (
    LearntCard,
    LearntRule,
    LearntRules,
    head_features,
    learnt_path,
    write_learnt,
)
from moralscope.rules.options import LearnOptions
from moralscope.rules.records import ALIGNMENTS
from moralscope.rules.rulebook import load_rulebook
from moralscope.rules.thresholds import GivenLimits, operating_points
from moralscope.rules.verdict import TASK, alignment_pair
from moralscope.stats.intervals import percentile_interval, resample_weights
from moralscope.version import __version__

HEAD, CALIBRATION, NOTHING = KINDS = ("head", "calibration", "nothing")
LEAST = 5  # breaches, and as many labels of none
_PRIOR = 0.1  # the share of breaches that labels are weighted to
_FOLDS = 5
_RESAMPLES = 1000
_LEVEL = 0.05
# How strongly each part is drawn to where it starts; chosen on dev organisations, with
# bench/own_rules.py --learn. The weights' is shared out over the width of the vector.
_SLOPES, _INTERCEPT, _BIAS, _WEIGHTS = (1.0, 4.0), 0.01, 10.0, 100.0


@dataclass(frozen=True, slots=True)
class HeadFit:
    """Parameters of a head, and of its rules the biases in their order."""

    slopes: tuple[float, float]
    intercept: float
    biases: tuple[float, ...]
    weights: tuple[float, ...]
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnStatistics(Statistics):
    """What labels gave: what is kept, and F1 on labels that were not learnt from."""

    labels: int
    broken: int
    exchanges: int
    foreign: int
    """labels of rules that the rulebook does not have"""
    kept: str
    """head, calibration or nothing"""
    limit: float | None
    before: Interval
    calibration: Interval
    head: Interval
    p_calibration: float
    p_head: float


def learn_rules(
    options: LearnOptions | None = None,
    *,
    models: ExpertSet | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> RunRecord:
    """Learn how the rules of a book are broken from labels, and store it beside the book.

    Parameters
    ----------
    options
        `LearnOptions`, or its fields as keywords: rulebook, labels, experts.
    models
        Experts that are loaded already; else the options say which.
    progress
        Called while weights are fetched.
    """
    chosen = chosen_options(LearnOptions, options, changes)
    book = load_rulebook(chosen.rulebook)
    if chosen.labels is None:
        raise InputError("there are no labels", "give --labels FILE")
    labels = read_labels(Path(chosen.labels), book)
    check_labels(labels.labels)
    experts = models or prepare_rule_experts(
        chosen.experts, eight_bits=not chosen.exact, progress=progress
    )
    if TASK not in experts.tasks:
        raise InputError(f"'{experts.ref.name}' has no alignment expert", "give --experts mpnet")
    features = label_features(labels.labels, experts)
    limit = GivenLimits().over(operating_points(experts)).disagree
    fit, statistics = fit_labels(
        labels.labels, features, limit, chosen.seed, foreign=labels.foreign
    )
    counts = Counter(label.rule for label in labels.labels)
    broken = Counter(label.rule for label in labels.labels if label.broken)
    biases = fit.biases if fit else (0.0,) * len(counts)
    rules = [
        LearntRule(text, counts[text], broken[text], bias)
        for text, bias in zip(sorted(counts), biases, strict=True)
    ]
    path, warnings = learnt_path(chosen.rulebook), list[str]()
    if fit is None:
        warnings.append("nothing is kept: on labels that were not learnt from it gains too little")
        if path.is_file():
            path.unlink()
            warnings.append(f"{path.name}, which an earlier run wrote, was removed")
    else:
        after = statistics.head if statistics.kept == HEAD else statistics.calibration
        p = statistics.p_head if statistics.kept == HEAD else statistics.p_calibration
        card = LearntCard(
            labels=statistics.labels,
            broken=statistics.broken,
            before=statistics.before,
            after=after,
            p=p,
            version=__version__,
        )
        learnt = LearntRules(
            kind=statistics.kept,
            experts=experts.ref.name,
            experts_sha256=experts.ref.sha256,
            slopes=fit.slopes,
            intercept=fit.intercept,
            weights=fit.weights,
            limit=fit.limit,
            rules=tuple(rules),
            card=card,
        )
        write_learnt(path, learnt)
    return RunRecord(
        "rules learn",
        seed=chosen.seed,
        config={
            "rulebook": book.name,
            "rules": len(book.rules),
            "experts": experts.ref.name,
            "stored": str(path) if fit else None,
            "options": plain_options(chosen),
        },
        models=[experts.ref],
        results=rules,
        statistics=statistics,
        warnings=warnings,
    )


def check_labels(labels: Sequence[BreachLabel]) -> None:
    """Refuse labels that are too few to learn from."""
    broken = sum(label.broken for label in labels)
    prompts = len({row.group for row in labels})
    if min(broken, len(labels) - broken) < LEAST or prompts < _FOLDS:
        raise InputError(
            f"the labels are too few (breaches: {broken:,}, other replies: "
            f"{len(labels) - broken:,}, different prompts: {prompts:,})",
            f"give at least {LEAST} breaches, {LEAST} other replies and {_FOLDS} prompts",
        )


def label_features(labels: Sequence[BreachLabel], experts: ExpertSet) -> Floats:
    """Return what a head reads of each label: the experts' answer and vector, in one pass."""
    pairs = [alignment_pair(label.rule, label.exchange) for label in labels]
    columns, vectors = experts.read(pairs)
    order = [experts.labels(TASK).index(label) for label in ALIGNMENTS]
    return head_features(experts.told(TASK, columns)[:, order], vectors)


def fit_labels(
    labels: Sequence[BreachLabel],
    features: Floats,
    limit: float,
    seed: int = 0,
    *,
    foreign: int = 0,
    tested: bool = True,
) -> tuple[HeadFit | None, LearnStatistics]:
    """Fit a head and a calibration and return what is kept, with the figures of all.

    `features` are rows of `label_features`, `limit` is the experts' own; the head is kept whatever
    it gains where it is not `tested`.
    """
    broken = np.array([label.broken for label in labels])
    names = sorted({label.rule for label in labels})
    rules = np.array([names.index(label.rule) for label in labels])
    keys: dict[str, int] = {}
    groups = np.array([keys.setdefault(label.group, len(keys)) for label in labels])
    folds = (np.random.default_rng(seed).permutation(len(keys)) % _FOLDS)[groups]
    share = broken.mean()
    weights = np.where(broken, _PRIOR / share, (1 - _PRIOR) / (1 - share))
    before = features[:, 0] >= np.log(limit / (1 - limit))
    draws = resample_weights(len(keys), _RESAMPLES, seed)[:, groups] * weights
    everything = np.ones_like(before)
    plain = np.maximum(_f1(before, broken, draws), _f1(everything, broken, draws))
    floor = max(_f1(some, broken, weights[None])[0] for some in (before, everything))
    figures, fits, losses, better = {}, {}, {}, {}
    p = {}
    for kind, width in ((CALIBRATION, len(_SLOPES)), (HEAD, features.shape[1])):
        table = _table(features[:, :width], rules, len(names))
        scores = np.empty(len(labels))
        for fold in range(_FOLDS):
            inside = folds != fold
            solution = _solve(table[inside], broken[inside], weights[inside], len(names))
            scores[~inside] = table[~inside] @ solution
        decisions = np.empty(len(labels), dtype=bool)
        for fold in range(_FOLDS):  # a fold is decided by the limit of the others
            inside = folds != fold
            best = _best_limit(scores[inside], broken[inside], weights[inside])
            decisions[~inside] = scores[~inside] >= best
        gained = _f1(decisions, broken, draws)
        figures[kind] = _interval(decisions, broken, weights, gained)
        fits[kind] = _solve(table, broken, weights, len(names)), scores
        losses[kind] = draws @ (np.logaddexp(0, scores) - broken * scores)
        worse = gained <= plain if kind == CALIBRATION else losses[HEAD] >= losses[CALIBRATION]
        p[kind] = float((1 + worse.sum()) / (1 + _RESAMPLES))
        better[kind] = p[kind] < _LEVEL and figures[kind].value > floor
    kept = next((kind for kind in (HEAD, CALIBRATION) if better[kind] or not tested), NOTHING)
    fit = None
    if kept != NOTHING:
        solution, scores = fits[kept]
        best, at = _best_limit(scores, broken, weights), len(_SLOPES)
        slopes, rest = solution[:at], solution[at:]
        fit = HeadFit(
            (float(slopes[0]), float(slopes[1])),
            float(rest[0]),
            tuple(rest[1 : 1 + len(names)].tolist()),
            tuple(rest[1 + len(names) :].tolist()),
            float(1 / (1 + np.exp(-best))),
        )
    return fit, LearnStatistics(
        labels=len(labels),
        broken=int(broken.sum()),
        exchanges=len({label.exchange for label in labels}),
        foreign=foreign,
        kept=kept,
        limit=fit.limit if fit else None,
        before=_interval(before, broken, weights, _f1(before, broken, draws)),
        calibration=figures[CALIBRATION],
        head=figures[HEAD],
        p_calibration=p[CALIBRATION],
        p_head=p[HEAD],
    )


def _table(features: Floats, rules: NDArray[Any], count: int) -> Floats:
    """Return what the regression reads: the slopes' columns, one, the rules, the vector."""
    slopes, vectors = np.split(features, [len(_SLOPES)], axis=1)
    return np.concatenate([slopes, np.ones((len(rules), 1)), np.eye(count)[rules], vectors], axis=1)


def _solve(table: Floats, broken: Bools, weights: Floats, rules: int) -> Floats:
    """Return the parameters of the weighted regression, drawn to the experts' own answer."""
    from scipy.optimize import minimize

    width = table.shape[1] - len(_SLOPES) - 1 - rules
    start = np.zeros(table.shape[1])
    start[0] = 1.0
    vector = [_WEIGHTS / width] * width if width else []
    pull = np.array([*_SLOPES, _INTERCEPT, *[_BIAS] * rules, *vector])

    def loss(values: Floats) -> tuple[float, Floats]:
        scores, moved = table @ values, values - start
        misfit = weights * (np.logaddexp(0, scores) - broken * scores)
        slope = weights * (0.5 * (1 + np.tanh(0.5 * scores)) - broken)
        return misfit.sum() + 0.5 * (pull * moved**2).sum(), table.T @ slope + pull * moved

    solved = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(solved.x)


def _best_limit(scores: Floats, broken: Bools, weights: Floats) -> float:
    """Return the score from which a rule is broken with the best weighted F1."""
    order = np.argsort(-scores, kind="stable")
    hits, flags = np.cumsum((weights * broken)[order]), np.cumsum(weights[order])
    best = int((2 * hits / (flags + (weights * broken).sum())).argmax())
    after = order[best + 1] if best + 1 < len(order) else order[best]
    return float((scores[order[best]] + scores[after]) / 2)


def _f1(decisions: Bools, broken: Bools, draws: Floats) -> Floats:
    """Return F1 under each row of weights."""
    hits, flags, breaches = (draws @ part for part in (decisions & broken, decisions, broken))
    return np.asarray(2 * hits / np.maximum(flags + breaches, 1e-12))


def _interval(decisions: Bools, broken: Bools, weights: Floats, draws: Floats) -> Interval:
    low, high = percentile_interval(draws[None])
    return Interval(float(_f1(decisions, broken, weights[None])[0]), float(low[0]), float(high[0]))
