"""Compare encoders on the same actions: where they differ, how surely, and how alike they order.

Scores of different encoders lie on different scales, so each encoder's are first put on a common
one (see `compare`). Knows nothing of how an axis scores: any axis will do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.build import AxisModels, LocalModels, build_axis
from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.measured import people_agreement
from moralscope.axes.options import ENGLISH
from moralscope.axes.rated import PEOPLE, RatedActions
from moralscope.axes.ratings import read_ratings
from moralscope.axes.templates import load_template
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Axis, AxisCard, Encoder, Report
from moralscope.core.records import NOT_ADVICE, ActionScore, ModelRef, RunRecord
from moralscope.io.actions import ActionList, check_actions
from moralscope.stats.correlation import Correlation, correlate, kendall, spearman
from moralscope.stats.gates import check_gate, parse_gate
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
Floats = NDArray[np.float64]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """Second less first of a pair, standardised; `p_holm` is corrected over actions and pairs."""

    pair: Pair
    difference: float
    low: float
    high: float
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class ComparedAction:
    """An action on every encoder: standardised `scores`, `raw` ones, and what differs."""

    action: str
    scores: Mapping[str, float]
    raw: Mapping[str, ActionScore]
    differences: Sequence[Difference]
    spread: float


@dataclass(frozen=True, slots=True)
class PairSummary:
    """How alike two encoders order the actions, and how far apart they lie.

    Shifts are absolute standardised differences. The minimum detectable effect is that of one
    action with the median noise, `_corrected` at the strictest level of Holm's correction.
    """

    pair: Pair
    pearson: Correlation
    spearman: Correlation
    kendall: Correlation
    mean_difference: float
    mean_shift: float
    max_shift: float
    minimum_detectable_effect: float
    minimum_detectable_effect_corrected: float
    significant: int


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
    **given: Any,
) -> RunRecord:
    """Score the same actions with every encoder and compare each pair of encoders.

    Parameters
    ----------
    actions
        Three or more; one that is given twice counts once.
    options
        `CompareOptions`, or its fields as keywords: `axis`, `template`, `fit`, `gate`, `seed`.
        Limits of a `gate` (see `FIGURES`) must hold for every pair; the result is in
        `statistics["gate"]`, and its `require()` raises `GateNotMet`.
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
    smallest detectable effect are those of `stats.paired`, Holm-corrected over actions x pairs.

    Examples
    --------
    >>> record = compare(["kill", "help", "smile"], encoders=["scripted", "scripted"])
    >>> record.statistics["pairs"][0].significant
    0
    """
    models = [each if isinstance(each, Encoder) else None for each in encoders or ()]
    if encoders is not None:
        names = [each.name if isinstance(each, Encoder) else str(each) for each in encoders]
        given["encoders"] = tuple(names)
    chosen = chosen_options(CompareOptions, options, given)
    told = _of_language(chosen)
    limits = parse_gate(chosen.gate, FIGURES) if chosen.gate is not None else None
    listed, notes = _distinct(
        actions if isinstance(actions, ActionList) else check_actions(actions)
    )
    axes = built or [
        build_compared(chosen, name, LocalModels(model))
        for name, model in zip(chosen.names, models or [None] * len(chosen.names), strict=True)
    ]
    refs = [axis.card.models[0] for axis in axes]
    labels = label(refs)
    raw = dict(zip(labels, _score(axes, listed, report), strict=True))
    own_unit = all(axis.card.own_unit for axis in axes)
    tables = {name: _standardise(name, rows, own_unit=own_unit) for name, rows in raw.items()}
    tables = _repeat_people(tables)
    found = {pair: _differences(tables, pair, chosen.seed) for pair in combinations(labels, 2)}
    results = _results(listed.actions, raw, tables, found)
    pairs = [_summary(pair, tables, results, found, chosen.seed) for pair in found]
    figures = {" vs ".join(p.pair): {k: get(p) for k, get in FIGURES.items()} for p in pairs}
    widest = sorted(results, key=lambda row: -row.spread)
    doubts = [
        f"{name}: {line}"
        for name, axis in zip(labels, axes, strict=True)
        for line in axis.card.doubts
    ]
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
        statistics={
            "people_agreement": {
                name: people_agreement(axis.card, own_fit=chosen.fit_actions is not None)
                for name, axis in zip(labels, axes, strict=True)
            },
            "pairs": pairs,
            "most_disputed": [row.action for row in widest[:_DISPUTED]],
            "gate": check_gate(limits, figures) if limits is not None else None,
        },
        warnings=[
            NOT_ADVICE,
            _MEANING,
            *([_PEOPLE] if PEOPLE in chosen.models else ()),
            *notes,
            *_same_weights(labels, refs),
            *told,
            *doubts,
        ],
    )


def _of_language(options: CompareOptions) -> Sequence[str]:
    """Return what is to be said of questions in another language; several are refused here."""
    if options.language == (ENGLISH,):
        return ()
    if len(options.language) > 1:
        raise InputError(
            "several languages need the same actions in each",
            "use compare_languages, or 'moralscope compare --language'",
        )
    return load_template(options.template, options.language[0]).warnings


def build_compared(options: CompareOptions, name: str, models: AxisModels) -> Axis:
    """Return the axis of one that is compared: a model's, or people's."""
    if name == PEOPLE and options.human is not None:
        return RatedActions(read_ratings(options.human))
    return build_axis(options.for_encoder(name), models)


def label(models: Sequence[ModelRef]) -> list[str]:
    """Return a name for each model that no other one has.

    Examples
    --------
    >>> label([ModelRef("minilm", "0123456789"), ModelRef("minilm", "0123456789")])
    ['minilm@01234567', 'minilm@01234567 (2)']
    """
    names = [model.name for model in models]
    labels: list[str] = []
    for model in models:
        own = model.name if names.count(model.name) == 1 else f"{model.name}@{model.sha256[:8]}"
        copies = sum(other == own or other.startswith(f"{own} (") for other in labels)
        labels.append(f"{own} ({copies + 1})" if copies else own)
    return labels


def _distinct(listed: ActionList) -> tuple[ActionList, list[str]]:
    """Drop repeated actions: a correlation would count them twice."""
    others = listed.paraphrases or [()] * len(listed.actions)
    kept: dict[str, Sequence[str]] = {}
    for action, forms in zip(listed.actions, others, strict=True):
        kept.setdefault(action, forms)
    if len(kept) < MIN_ACTIONS:
        raise InputError(
            f"{len(kept)} different actions were given", f"compare needs {MIN_ACTIONS} or more"
        )
    dropped = len(listed.actions) - len(kept)
    notes = [f"{dropped} actions are repeated: each was compared once"] if dropped else []
    wordings = list(kept.values())
    return ActionList(list(kept), wordings if any(wordings) else None), notes


def _score(
    axes: Sequence[Axis], listed: ActionList, report: Report | None
) -> list[list[ActionScore]]:
    total, found = len(axes) * len(listed.actions), []
    for place, axis in enumerate(axes):
        before = place * len(listed.actions)

        def step(done: int, _: int, before: int = before) -> None:
            if report:
                report(before + done, total)

        found.append(axis.score(listed.actions, listed.paraphrases, step))
    return found


def _standardise(name: str, rows: Sequence[ActionScore], *, own_unit: bool) -> Floats:
    """Return (actions, prompts) on the common scale; an action's score is its row's mean."""
    table = np.array([row.prompts or (row.score,) for row in rows], dtype=np.float64)
    if not np.isfinite(table).all():
        raise InputError(f"{name} gives scores that are not numbers", "check its weights")
    if float(np.ptp(table.mean(axis=1))) < 1e-9:
        raise InputError(
            f"{name} gives every action the same score", "give actions that differ more"
        )
    return without_column_effects(table) if own_unit else z_scores(table)


def _differences(tables: Mapping[str, Floats], pair: Pair, seed: int) -> PairedDifferences:
    first, second = (tables[name] for name in pair)
    return paired_differences(second, first, seed=seed, negligible=NEGLIGIBLE)


def _results(
    actions: Sequence[str],
    raw: Mapping[str, Sequence[ActionScore]],
    tables: Mapping[str, Floats],
    found: Mapping[Pair, PairedDifferences],
) -> list[ComparedAction]:
    scores = {name: table.mean(axis=1) for name, table in tables.items()}
    spread = np.ptp(np.stack(list(scores.values())), axis=0)
    corrected = holm(np.concatenate([each.p for each in found.values()]))
    holms = dict(zip(found, corrected.reshape(len(found), -1), strict=True))
    return [
        ComparedAction(
            action,
            {name: float(values[at]) for name, values in scores.items()},
            {name: rows[at] for name, rows in raw.items()},
            [
                Difference(pair, *(float(column[at]) for column in columns))
                for pair, each in found.items()
                for columns in [(each.difference, each.low, each.high, each.p, holms[pair])]
            ],
            float(spread[at]),
        )
        for at, action in enumerate(actions)
    ]


def _repeat_people(tables: Mapping[str, Floats]) -> dict[str, Floats]:
    """People have no prompts: each of a model's stands beside the same rate."""
    prompts = max(table.shape[1] for table in tables.values())
    return {
        name: np.repeat(table, prompts, axis=1) if table.shape[1] == 1 else table
        for name, table in tables.items()
    }


def _summary(
    pair: Pair,
    tables: Mapping[str, Floats],
    results: Sequence[ComparedAction],
    found: Mapping[Pair, PairedDifferences],
    seed: int,
) -> PairSummary:
    first, second = (tables[name].mean(axis=1).tolist() for name in pair)
    each = found[pair]
    prompts = tables[pair[0]].shape[1]
    noise = float(np.median(each.sd))
    strictest = LEVEL / (len(results) * len(found))
    place = list(found).index(pair)
    return PairSummary(
        pair,
        correlate(first, second, seed=seed),
        spearman(first, second, seed=seed),
        kendall(first, second, seed=seed),
        float(each.difference.mean()),
        float(np.abs(each.difference).mean()),
        float(np.abs(each.difference).max()),
        minimum_detectable_effect(noise, prompts, alpha=LEVEL),
        minimum_detectable_effect(noise, prompts, alpha=strictest),
        sum(row.differences[place].p_holm < LEVEL for row in results),
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


def _same_weights(labels: Sequence[str], models: Sequence[ModelRef]) -> list[str]:
    return [
        f"{labels[a]} and {labels[b]} have the same weights"
        for a, b in combinations(range(len(models)), 2)
        if models[a].sha256 == models[b].sha256
    ]
