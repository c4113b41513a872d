"""Compare models on the same actions: where they differ, how surely, and how alike they order.

Scores of different models lie on different scales, so each model's are first put on a common one
(see `compare`). Models are encoders, language models, and people. Any axis will do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from moralscope.axes.build import AxisModels, LocalModels, build_axis
from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.measured import people_agreement
from moralscope.axes.options import ENGLISH
from moralscope.axes.rated import PEOPLE, RatedActions
from moralscope.axes.ratings import read_ratings
from moralscope.axes.records import HumanAgreement
from moralscope.axes.templates import load_template
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Axis, AxisCard, Encoder, Floats, Pair, Report
from moralscope.core.records import (
    NOT_ADVICE,
    ActionScore,
    ModelRef,
    RunRecord,
    SampleInterval,
    Statistics,
    absent,
)
from moralscope.io.actions import ActionList, check_actions
from moralscope.stats.correlation import Correlation, correlate, kendall, spearman
from moralscope.stats.gates import GateResult, check_gate, parse_gate
from moralscope.stats.significance import (
    PairedDifferences,
    holm,
    minimum_detectable_effect,
    paired_differences,
)
from moralscope.stats.summary import without_column_effects, z_scores

MIN_ACTIONS = 3
LEVEL = 0.05
NEGLIGIBLE = 1e-4  # standardised: below it two scores differ by the rounding of float32 rows
_DISPUTED = 10
_RUN_SCALE = "z-score of each encoder against the actions of this run, each prompt centred"
_OWN_SCALE = "the axis's own unit, without what a prompt does to all actions alike"
_MEANING = (
    "a significant difference would hold with other wordings of the questions; it does not say "
    "which model is right"
)
_PEOPLE = (
    "people have one yes rate an action: differences from them hold for other wordings, not for "
    "other raters"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Second less first of a pair, standardised, with its paired 95 % interval."""

    pair: Pair
    difference: float
    low: float
    high: float
    p: float
    p_holm: float  # corrected over actions and pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAction:
    """An action on every encoder."""

    action: str
    scores: Mapping[str, float]  # standardised
    raw: Mapping[str, ActionScore] = field(default_factory=dict)
    differences: Sequence[Difference] = ()  # one a pair, in the order of the pairs
    spread: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSummary:
    """How alike two encoders order the actions, and how far apart they lie."""

    pair: Pair
    pearson: Correlation
    spearman: Correlation
    kendall: Correlation
    mean_difference: float
    mean_shift: float  # mean size of the standardised differences
    max_shift: float
    minimum_detectable_effect: float  # of one action with the median noise
    minimum_detectable_effect_corrected: float
    """the same at the strictest level of Holm's correction"""
    significant: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareStatistics(Statistics):
    """What `compare` finds in sum."""

    people_agreement: Mapping[str, Mapping[str, SampleInterval] | None] = field(
        default_factory=dict
    )
    """each model's r with people's yes rates; None: nobody measured these weights"""
    pairs: Sequence[PairSummary] = ()
    most_disputed: Sequence[str] = ()
    gate: GateResult | None = None
    human: Mapping[str, HumanAgreement] | None = absent()
    """each model beside ratings that were given"""


FIGURES: Mapping[str, Callable[[PairSummary], float]] = {
    "r": lambda pair: pair.pearson.r,
    "r_low": lambda pair: pair.pearson.low,
    "pearson": lambda pair: pair.pearson.r,
    "spearman": lambda pair: pair.spearman.r,
    "spearman_low": lambda pair: pair.spearman.low,
    "kendall": lambda pair: pair.kendall.r,
    "kendall_low": lambda pair: pair.kendall.low,
    "mean_shift": lambda pair: pair.mean_shift,
    "max_shift": lambda pair: pair.max_shift,
    "changed": lambda pair: pair.significant,
    "changed_share": lambda pair: pair.significant / pair.pearson.n,
}  # what a gate may ask for


def compare(
    actions: Sequence[str] | ActionList,
    options: CompareOptions | None = None,
    *,
    encoders: Sequence[str | Encoder] | None = None,
    built: Sequence[Axis] | None = None,
    report: Report | None = None,
    **keywords: Any,
) -> RunRecord:
    """Score the same actions with every encoder and compare each pair of encoders.

    Parameters
    ----------
    actions
        Three or more; one that is given twice counts once.
    options
        `CompareOptions`, or its fields as keywords: `axis`, `template`, `fit`, `gate`, `seed`.
        Limits of a `gate` (see `FIGURES`) must hold for every pair; the result is in
        `statistics.gate`, and its `require()` raises `GateNotMet`.
    encoders
        Two or more names, folders, hub ids or `Encoder` objects. Two of the same name are told
        apart by the start of their checksum. The option `models` names models of any kind instead:
        encoders, language models, endpoints and people.
    built
        The axis of each encoder, where they are built already.
    report
        Called with (done, total) as the work goes on.

    Notes
    -----
    Common scale: the axis's own unit where it has one (a direction); otherwise z-scores against
    the actions of this run, every prompt centred, so that a model's taste for yes and its range
    drop out. Per action the two encoders' values are paired prompt by prompt: interval, p and
    smallest detectable effect are those of `stats.significance`, p Holm-corrected over all.

    Examples
    --------
    >>> record = compare(["kill", "help", "smile"], encoders=["scripted", "scripted"])
    >>> record.statistics.pairs[0].significant
    0
    """
    models = [encoder if isinstance(encoder, Encoder) else None for encoder in encoders or ()]
    if encoders is not None:
        keywords["encoders"] = tuple(
            encoder.name if isinstance(encoder, Encoder) else str(encoder) for encoder in encoders
        )
    chosen = chosen_options(CompareOptions, options, keywords)
    if len(chosen.language) > 1:
        raise InputError(
            "several languages need the same actions in each",
            "use compare_languages, or 'moralscope compare --language'",
        )
    questions: Sequence[str] = ()  # what is to be said of those in another language
    if chosen.language != (ENGLISH,):
        questions = load_template(chosen.template, chosen.language[0]).warnings
    limits = parse_gate(chosen.gate, FIGURES) if chosen.gate is not None else None
    listed = actions if isinstance(actions, ActionList) else check_actions(actions)
    distinct = _distinct(listed)
    repeated = len(listed.actions) - len(distinct.actions)
    axes = built or [
        build_compared(chosen, name, LocalModels(model))
        for name, model in zip(chosen.names, models or [None] * len(chosen.names), strict=True)
    ]
    refs = [axis.card.models[0] for axis in axes]
    labels = label(refs)
    raw = dict(zip(labels, _score(axes, distinct, report), strict=True))
    own_unit = all(axis.card.own_unit for axis in axes)
    tables = {name: _standardise(name, rows, own_unit=own_unit) for name, rows in raw.items()}
    # People have no prompts: each of a model's stands beside the same rate.
    prompts = max(table.shape[1] for table in tables.values())
    tables = {
        name: np.repeat(table, prompts, axis=1) if table.shape[1] == 1 else table
        for name, table in tables.items()
    }
    differences = {
        (first, second): paired_differences(
            tables[second], tables[first], seed=chosen.seed, negligible=NEGLIGIBLE
        )
        for first, second in combinations(labels, 2)
    }
    results = _compare_actions(distinct.actions, raw, tables, differences)
    pairs = [_summary(pair, tables, results, differences, chosen.seed) for pair in differences]
    figures = {" vs ".join(p.pair): {k: get(p) for k, get in FIGURES.items()} for p in pairs}
    widest = sorted(results, key=lambda row: -row.spread)
    named = list(zip(labels, (axis.card for axis in axes), strict=True))
    return RunRecord(
        "compare",
        seed=chosen.seed,
        config={
            **_config(labels, axes[0].card, tables),
            **({"models": list(chosen.models)} if chosen.models else {}),
            "options": plain_options(chosen),
        },
        models=[ModelRef(name, ref.sha256) for name, ref in zip(labels, refs, strict=True)],
        results=results,
        statistics=CompareStatistics(
            people_agreement={
                name: people_agreement(card, own_fit=chosen.fit_actions is not None)
                for name, card in named
            },
            pairs=pairs,
            most_disputed=[row.action for row in widest[:_DISPUTED]],
            gate=check_gate(limits, figures) if limits is not None else None,
        ),
        warnings=[
            NOT_ADVICE,
            _MEANING,
            *([_PEOPLE] if PEOPLE in chosen.models else ()),
            *([f"{repeated} actions are repeated: each was compared once"] if repeated else ()),
            *(
                f"{labels[a]} and {labels[b]} have the same weights"
                for a, b in combinations(range(len(refs)), 2)
                if refs[a].sha256 == refs[b].sha256
            ),
            *questions,
            *(f"{name}: {doubt}" for name, card in named for doubt in card.doubts),
        ],
    )


def build_compared(options: CompareOptions, name: str, models: AxisModels) -> Axis:
    """Return the axis of one that is compared: a model's, or people's."""
    if name == PEOPLE and options.human is not None:
        return RatedActions(read_ratings(options.human))
    return build_axis(options.for_encoder(name), models)


def label(models: Sequence[ModelRef]) -> list[str]:
    """Return a name for each model that no other one has."""
    names = [model.name for model in models]
    labels: list[str] = []
    for model in models:
        name = model.name if names.count(model.name) == 1 else f"{model.name}@{model.sha256[:8]}"
        copies = sum(other == name or other.startswith(f"{name} (") for other in labels)
        labels.append(f"{name} ({copies + 1})" if copies else name)
    return labels


def _distinct(listed: ActionList) -> ActionList:
    """Drop repeated actions: a correlation would count them twice."""
    others = listed.paraphrases or [()] * len(listed.actions)
    wordings: dict[str, Sequence[str]] = {}
    for action, forms in zip(listed.actions, others, strict=True):
        wordings.setdefault(action, forms)
    if len(wordings) < MIN_ACTIONS:
        problem = f"{len(wordings)} different actions were given"
        raise InputError(problem, f"compare needs {MIN_ACTIONS} or more")
    paraphrases = list(wordings.values())
    return ActionList(list(wordings), paraphrases if any(paraphrases) else None)


def _score(
    axes: Sequence[Axis], listed: ActionList, report: Report | None
) -> list[list[ActionScore]]:
    scores, count = [], len(listed.actions)
    for index, axis in enumerate(axes):

        def step(done: int, _: int, before: int = index * count) -> None:
            if report:
                report(before + done, len(axes) * count)

        scores.append(axis.score(listed.actions, listed.paraphrases, step))
    return scores


def _standardise(name: str, rows: Sequence[ActionScore], *, own_unit: bool) -> Floats:
    """Return (actions, prompts) on the common scale; an action's score is its row's mean."""
    table = np.array([row.prompts or (row.score,) for row in rows], dtype=np.float64)
    if not np.isfinite(table).all():
        raise InputError(f"{name} gives scores that are not numbers", "check its weights")
    if float(np.ptp(table.mean(axis=1))) < 1e-9:
        problem = f"{name} gives every action the same score"
        raise InputError(problem, "give actions that differ more")
    return without_column_effects(table) if own_unit else z_scores(table)


def _compare_actions(
    actions: Sequence[str],
    raw: Mapping[str, Sequence[ActionScore]],
    tables: Mapping[str, Floats],
    differences: Mapping[Pair, PairedDifferences],
) -> list[ComparedAction]:
    scores = {name: table.mean(axis=1) for name, table in tables.items()}
    spread = np.ptp(np.stack(list(scores.values())), axis=0)
    corrected = holm(np.concatenate([paired.p for paired in differences.values()]))
    p_holm = corrected.reshape(len(differences), -1)
    return [
        ComparedAction(
            action=action,
            scores={name: float(values[at]) for name, values in scores.items()},
            raw={name: rows[at] for name, rows in raw.items()},
            differences=[
                Difference(
                    pair=pair,
                    difference=float(paired.difference[at]),
                    low=float(paired.low[at]),
                    high=float(paired.high[at]),
                    p=float(paired.p[at]),
                    p_holm=float(p_holm[index, at]),
                )
                for index, (pair, paired) in enumerate(differences.items())
            ],
            spread=float(spread[at]),
        )
        for at, action in enumerate(actions)
    ]


def _summary(
    pair: Pair,
    tables: Mapping[str, Floats],
    results: Sequence[ComparedAction],
    differences: Mapping[Pair, PairedDifferences],
    seed: int,
) -> PairSummary:
    """Sum up one pair."""
    paired, index = differences[pair], list(differences).index(pair)
    first, second = (tables[name].mean(axis=1).tolist() for name in pair)
    prompts = tables[pair[0]].shape[1]
    noise = float(np.median(paired.sd))
    strictest = LEVEL / (len(results) * len(differences))
    return PairSummary(
        pair=pair,
        pearson=correlate(first, second, seed=seed),
        spearman=spearman(first, second, seed=seed),
        kendall=kendall(first, second, seed=seed),
        mean_difference=float(paired.difference.mean()),
        mean_shift=float(np.abs(paired.difference).mean()),
        max_shift=float(np.abs(paired.difference).max()),
        minimum_detectable_effect=minimum_detectable_effect(noise, prompts, alpha=LEVEL),
        minimum_detectable_effect_corrected=minimum_detectable_effect(
            noise, prompts, alpha=strictest
        ),
        significant=sum(row.differences[index].p_holm < LEVEL for row in results),
    )


def _config(labels: Sequence[str], card: AxisCard, tables: Mapping[str, Floats]) -> dict[str, Any]:
    actions, prompts = tables[labels[0]].shape
    named = ("axis", "template", "language", "fit", "norm")
    return {
        "encoders": list(labels),
        **{name: card.config[name] for name in named if name in card.config},
        "scale": _OWN_SCALE if card.own_unit else _RUN_SCALE,
        "actions": actions,
        "prompts": prompts,
        "interval": "95 % paired bootstrap over prompts, widened for their number",
        "test": "paired t over prompts, Holm-corrected over actions x pairs, level 0.05",
    }
