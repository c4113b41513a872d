"""`rules learn`: from labels of replies to a small head on the experts, for rules of one's own.

The experts stay as they are. A logistic regression over what they say of (rule, exchange) and over
their vector (`rules.learnt`) starts at the experts' own answer and leaves it only as far as labels
pull: everything is drawn to where it starts (a normal prior). Rules of a book share weights of the
vector, so that few labels a rule suffice, and each has weights of its own beside them.

Breaches are rarer in the world than among labels: labels are weighted as if one reply in ten broke
its rule. The limit is half of the best F1, which is where F1 is best if probabilities are right
(Lipton, Elkan and Narayanaswamy 2014), and hangs less on single labels than the best of all limits.

Whether the head is kept is decided on folds that were not learnt from, by paired bootstraps over
exchanges: it ranks replies better than the experts alone (AUC) in seven resamples of ten, or its F1
is better (5 %) than theirs and than that of flagging everything. It must also rank better than
chance (5 %): labels that are noise teach nothing (docs/rules.md).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    LearntHead,
    LearntRule,
    LearntRules,
    head_features,
    learnt_path,
    logit,
    rounded,
    write_learnt,
)
from moralscope.rules.options import LearnOptions
from moralscope.rules.records import ALIGNMENTS
from moralscope.rules.rulebook import load_rulebook
from moralscope.rules.thresholds import GivenLimits, operating_points
from moralscope.rules.verdict import TASK, alignment_pair
from moralscope.stats.intervals import percentile_interval, resample_weights
from moralscope.version import __version__

LEAST = 5  # breaches, and as many labels of none
_PRIOR = 0.1  # the share of breaches that labels are weighted to
_FOLDS = 5
_RESAMPLES = 1000
_RANKS, _GAINS = 0.3, 0.05  # p of a better AUC, and of a better F1, from which a head is kept
# How far each part may leave where it starts (variances of its prior); chosen on dev organisations
# with bench/own_rules.py --learn. That of weights is shared out over the width of the vector.
_SLOPE, _INTERCEPT, _WEIGHTS = 1.0, 100.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnStatistics(Statistics):
    """What labels gave: what is kept, and F1 on labels that were not learnt from."""

    labels: int
    broken: int
    exchanges: int
    foreign: int
    """labels of rules that the rulebook does not have"""
    kept: bool
    limit: float
    before: Interval
    head: Interval
    auc_before: float
    auc_head: float
    p_auc: float
    """how likely a gain of AUC as large would be if there were none; as the next"""
    p_f1: float


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
    rules = tuple(LearntRule(text, counts[text], broken[text]) for text in sorted(counts))
    path, warnings = learnt_path(chosen.rulebook), list[str]()
    if statistics.kept:
        learnt = LearntRules(
            experts=experts.ref.name,
            experts_sha256=experts.ref.sha256,
            slope=fit.slope,
            intercepts=rounded(fit.intercepts),
            weights=tuple(map(rounded, fit.weights)),
            limit=fit.limit,
            rules=rules,
            card=LearntCard(
                labels=statistics.labels,
                broken=statistics.broken,
                before=statistics.before,
                after=statistics.head,
                version=__version__,
            ),
        )
        write_learnt(path, learnt)
    else:
        warnings.append("nothing is kept: on labels that were not learnt from it gains too little")
        if path.is_file():
            path.unlink()
            warnings.append(f"{path.name}, which an earlier run wrote, was removed")
    return RunRecord(
        "rules learn",
        seed=chosen.seed,
        config={
            "rulebook": book.name,
            "rules": len(book.rules),
            "experts": experts.ref.name,
            "stored": str(path) if statistics.kept else None,
            "options": plain_options(chosen),
        },
        models=[experts.ref],
        results=list(rules),
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
    columns, vectors = experts.read(pairs, middle=True)
    disagree = experts.told(TASK, columns)[:, experts.labels(TASK).index(ALIGNMENTS[0])]
    return head_features(disagree, vectors)


def fit_labels(
    labels: Sequence[BreachLabel],
    features: Floats,
    limit: float,
    seed: int = 0,
    *,
    foreign: int = 0,
) -> tuple[LearntHead, LearnStatistics]:
    """Fit a head and return it, with its figures and whether they are good enough to keep it.

    `features` are rows of `label_features`, `limit` is the experts' own.
    """
    broken = np.array([label.broken for label in labels])
    names = sorted({label.rule for label in labels})
    rules = np.array([names.index(label.rule) for label in labels])
    keys: dict[str, int] = {}
    groups = np.array([keys.setdefault(label.group, len(keys)) for label in labels])
    folds = (np.random.default_rng(seed).permutation(len(keys)) % _FOLDS)[groups]
    share = broken.mean()
    weights = np.where(broken, _PRIOR / share, (1 - _PRIOR) / (1 - share))
    scores = np.empty(len(labels))
    for fold in range(_FOLDS):
        seen, unseen = folds != fold, folds == fold
        fit = _fit(features[seen], rules[seen], len(names), broken[seen], weights[seen])
        scores[unseen] = fit.scores(features[unseen], rules[unseen])
    fit = _fit(features, rules, len(names), broken, weights)
    fit = replace(fit, limit=_best_f1(scores, broken, weights) / 2)
    draws = np.vstack([weights, resample_weights(len(keys), _RESAMPLES, seed)[:, groups] * weights])
    before, everything = features[:, 0] >= logit(limit), np.ones_like(broken)
    plain = np.maximum(_f1(before, broken, draws), _f1(everything, broken, draws))
    gained = _f1(scores >= logit(fit.limit), broken, draws)
    ranked, ranked_before = (_auc(some, broken, draws) for some in (scores, features[:, 0]))
    p_auc, p_f1 = (
        float((1 + (after <= least)[1:].sum()) / (1 + _RESAMPLES))
        for after, least in ((ranked, ranked_before), (gained, plain))
    )
    return fit, LearnStatistics(
        labels=len(labels),
        broken=int(broken.sum()),
        exchanges=len({label.exchange for label in labels}),
        foreign=foreign,
        kept=(p_auc < _RANKS or p_f1 < _GAINS) and float(np.quantile(ranked[1:], _GAINS)) > 0.5,
        limit=fit.limit,
        before=_interval(_f1(before, broken, draws)),
        head=_interval(gained),
        auc_before=float(ranked_before[0]),
        auc_head=float(ranked[0]),
        p_auc=p_auc,
        p_f1=p_f1,
    )


def _fit(
    features: Floats, rules: NDArray[np.integer], count: int, broken: Bools, weights: Floats
) -> LearntHead:
    """Return the weighted regression, drawn to the experts' own answer.

    Vectors are standardised, and the head that is returned takes them as they are.
    """
    from scipy.optimize import minimize

    plain, vectors = features[:, 0], features[:, 1:]
    mean = vectors.mean(axis=0)
    size = np.sqrt(vectors.shape[1] / _WEIGHTS) * np.maximum(vectors.std(axis=0), 1e-6)
    table = (vectors - mean) / size
    member = np.eye(count)[rules]

    def parts(values: Floats) -> tuple[float, float, Floats]:
        rows = values[2:].reshape(1 + count, -1)
        slope, intercept = 1 + np.sqrt(_SLOPE) * values[0], np.sqrt(_INTERCEPT) * values[1]
        return slope, intercept, rows[0] + rows[1:]  # what all share, and each one's own

    def loss(values: Floats) -> tuple[float, Floats]:
        slope, intercept, rows = parts(values)
        scores = slope * plain + intercept + ((table @ rows.T) * member).sum(axis=1)
        misfit = weights * (np.logaddexp(0, scores) - broken * scores)
        push = weights * (0.5 * (1 + np.tanh(0.5 * scores)) - broken)
        pushed = (member * push[:, None]).T @ table
        first = [np.sqrt(_SLOPE) * push @ plain, np.sqrt(_INTERCEPT) * push.sum()]
        pushes = np.concatenate([first, pushed.sum(axis=0), pushed.ravel()])
        return misfit.sum() + 0.5 * values @ values, pushes + values

    start = np.zeros(2 + (1 + count) * table.shape[1])
    solved = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    slope, intercept, rows = parts(solved.x)
    return LearntHead(float(slope), intercept - rows @ (mean / size), rows / size, 0.5)


def _best_f1(scores: Floats, broken: Bools, weights: Floats) -> float:
    """Return the best weighted F1 that a limit of the scores has."""
    order = np.argsort(-scores, kind="stable")
    hits, flags = np.cumsum((weights * broken)[order]), np.cumsum(weights[order])
    return float((2 * hits / (flags + (weights * broken).sum())).max())


def _auc(scores: Floats, broken: Bools, draws: Floats) -> Floats:
    """Return how often a breach is above another reply, under each row of weights."""
    order = np.argsort(scores, kind="stable")
    breaches, others = draws[:, order] * broken[order], draws[:, order] * ~broken[order]
    above = (breaches * np.cumsum(others, axis=1)).sum(axis=1)
    return np.asarray(above / np.maximum(breaches.sum(axis=1) * others.sum(axis=1), 1e-12))


def _f1(decisions: Bools, broken: Bools, draws: Floats) -> Floats:
    """Return F1 under each row of weights."""
    hits, flags, breaches = (draws @ part for part in (decisions & broken, decisions, broken))
    return np.asarray(2 * hits / np.maximum(flags + breaches, 1e-12))


def _interval(draws: Floats) -> Interval:
    """Return the first draw, which is of all labels, in the interval of the others."""
    low, high = percentile_interval(draws[None, 1:])
    return Interval(float(draws[0]), float(low[0]), float(high[0]))
