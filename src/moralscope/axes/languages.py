"""One model asked in several languages: whether it is the same measurement, and what differs.

Before levels of two languages may be compared, they must be measured alike (measurement
invariance; Meredith 1993). The same actions are asked about in each language, prompt by prompt, and
every language is checked against the first:

- *configural*: actions come in the same order: the lower end of Pearson's r is at least 0.5;
- *metric*: the unit is the same: the slope (reduced major axis) lies between 2/3 and 3/2 with its
  whole 95 % interval;
- *scalar*: actions keep their places: after linear alignment at most a fifth differ (differential
  item functioning: paired over prompts, Holm-corrected over actions and languages, and by half a
  standard deviation or more). Actions that differ do not align: the fit is made anew without them.

A language where one of these fails is refused. Of the others a language's level is the mean score
of the actions that differ in none of them, above what the model answers about neutral actions.

The axis is `choice`, or a `direction` that is fitted once, on English actions, and on which the
questions of every language are projected: the languages of a multilingual encoder share its space.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.direction.axis import DirectionAxis
from moralscope.axes.options import ENGLISH, LANGUAGES
from moralscope.axes.parallel import ParallelActions, load_parallel
from moralscope.axes.templates import load_template
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Axis, Encoder, Floats, LanguageModel, Report
from moralscope.core.records import NOT_ADVICE, Interval, RunRecord, Statistics
from moralscope.models.encoders import load_encoder
from moralscope.stats.correlation import Correlation, correlate
from moralscope.stats.intervals import bootstrap_mean, percentile_interval
from moralscope.stats.significance import PairedDifferences, holm, paired_differences
from moralscope.stats.summary import without_column_effects

MIN_ACTIONS = 10
LEVEL = 0.05
MIN_R = 0.5
SLOPES = (2 / 3, 3 / 2)
MAX_DIFFER = 0.2
SIZE = 0.5  # standard deviations of the first language below which a difference is small
_ROUNDS = 10
_RESAMPLES = 2000
_OURS = "the actions are ours: no native speaker has reviewed their translations"
_MEANING = (
    "an action that differs may be valued otherwise, or be translated, worded or tokenised "
    "otherwise: the figures cannot tell these apart"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageCheck:
    """A language beside the first: order, unit and places of the actions, and what holds."""

    language: str
    r: Correlation
    slope: Interval
    residual: float
    """standard deviation of what is left after alignment, in those of the first language"""
    differ: int
    of: int
    fails: tuple[str, ...]  # the checks that do not hold: configural, metric, scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageDifference:
    """An action in a language less the same in the first, aligned; in standard deviations."""

    difference: float
    low: float
    high: float
    p_holm: float
    differs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelScore:
    """An action in every language: its texts, raw scores, and the differences from the first."""

    action: str
    label: str
    texts: Mapping[str, str]
    scores: Mapping[str, float]
    differences: Mapping[str, LanguageDifference]


@dataclass(frozen=True, slots=True)
class LanguageLevel:
    """The mean score of a language above its neutral actions, with an interval over actions."""

    language: str
    level: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LanguageRanking:
    """Levels from the highest, and one line on the languages that are not measured alike."""

    levels: tuple[LanguageLevel, ...] = ()
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguagesStatistics(Statistics):
    """What `compare --language` finds in sum."""

    checks: Sequence[LanguageCheck] = ()
    neutral: Mapping[str, float] = field(default_factory=dict)
    """what the model answers about actions that say nothing, by language"""
    ranking: LanguageRanking = LanguageRanking()


def compare_languages(
    actions: ParallelActions | None = None,
    options: CompareOptions | None = None,
    *,
    model: Encoder | LanguageModel | None = None,
    report: Report | None = None,
    **keywords: Any,
) -> RunRecord:
    """Ask one model about the same actions in several languages, and check before ranking.

    Parameters
    ----------
    actions
        `read_parallel(path)`; else our own.
    options
        `CompareOptions`, or its fields as keywords: `language=("en", "de")`, and one name under
        `encoders` or `models`.
    model
        An encoder or a language model that is loaded already.
    report
        Called with (done, total) as the work goes on.

    Examples
    --------
    >>> record = compare_languages(encoders=("scripted",), language=("en", "de"))
    >>> record.statistics.ranking.levels, record.statistics.checks[0].fails[0]
    ((), 'configural')
    """
    if model is not None:
        keywords["models" if isinstance(model, LanguageModel) else "encoders"] = (model.name,)
    chosen = chosen_options(CompareOptions, options, keywords)
    if len(chosen.language) < 2:
        raise InputError("one language was given", "name two or more: --language en,de")
    if len(chosen.names) != 1:
        raise InputError(
            f"{len(chosen.names)} models are to be asked in several languages",
            "name one: --encoders NAME, or --models NAME",
        )
    if chosen.axis == "judge" or chosen.template != "moral":
        problem = "languages are compared by the moral questions"
        raise InputError(problem, "use --axis choice or direction, and leave --template out")
    if chosen.axis == "direction" and chosen.language[0] != ENGLISH and not chosen.fit_actions:
        problem = "the direction of all languages is fitted in the first one, on English actions"
        raise InputError(problem, "name en first, or give --fit-actions in your first language")
    if chosen.human is not None or chosen.gate is not None:
        raise InputError("ratings and gates do not work with several languages", "leave them out")
    listed = (actions or load_parallel()).in_languages(chosen.language)
    if len(listed.labels) < MIN_ACTIONS:
        raise InputError(
            f"{listed.source} has {len(listed.labels)} actions",
            f"whether languages are measured alike is checked on {MIN_ACTIONS} or more",
        )
    axes = _build_axes(chosen, model)
    tables, neutral = {}, {}
    for index, (code, axis) in enumerate(axes.items(), 1):
        rows = axis.score(listed.texts[code])
        tables[code] = np.array([row.prompts for row in rows], dtype=np.float64)
        if not np.isfinite(tables[code]).all() or np.ptp(tables[code].mean(axis=1)) < 1e-9:
            problem = f"every action has the same score in {LANGUAGES[code]}"
            raise InputError(problem, "use another model")
        said = axis.score(list(load_template("moral", code).phrasing.neutral))
        neutral[code] = float(np.mean([row.score for row in said]))
        if report:
            report(index, len(axes))
    checks, results = check_invariance(tables, listed, seed=chosen.seed)
    cards = {code: axis.card for code, axis in axes.items()}
    ranking = rank_languages(checks, results, neutral, seed=chosen.seed)
    doubts = [(code, (*card.doubts, *card.warnings[1:])) for code, card in cards.items()]
    return RunRecord(
        "compare languages",
        seed=chosen.seed,
        config={
            "model": chosen.names[0],
            "axis": chosen.axis,
            "languages": list(chosen.language),
            "reference": chosen.language[0],
            "actions": len(listed.labels),
            "source": listed.source,
            "bounds": {"r": MIN_R, "slope": SLOPES, "share that differs": MAX_DIFFER, "size": SIZE},
            "options": plain_options(chosen),
        },
        models=list(cards[chosen.language[0]].models),
        results=results,
        statistics=LanguagesStatistics(checks=checks, neutral=neutral, ranking=ranking),
        warnings=[
            NOT_ADVICE,
            _MEANING,
            *([_OURS] if listed.unreviewed else ()),
            *(f"{code}: {line}" for code, lines in doubts for line in lines),
        ],
    )


def check_invariance(
    tables: Mapping[str, Floats], listed: ParallelActions, *, seed: int = 0
) -> tuple[list[LanguageCheck], list[ParallelScore]]:
    """Check every language against the first; `tables` hold scores, actions x prompts."""
    reference, *others = tables
    first = without_column_effects(tables[reference])
    plain = {code: without_column_effects(tables[code]) for code in others}
    count = len(first) * len(others)
    aligned = {code: _differences(first, table, count, seed) for code, table in plain.items()}
    corrected = holm(np.concatenate([paired.p for paired in aligned.values()]))
    p_holm = dict(zip(others, corrected.reshape(len(others), -1), strict=True))
    differs = {
        code: (p_holm[code] < LEVEL) & (np.abs(paired.difference) >= SIZE)
        for code, paired in aligned.items()
    }
    checks = []
    for code, paired in aligned.items():
        one, two = first.mean(axis=1), plain[code].mean(axis=1)
        r, slope = correlate(one.tolist(), two.tolist(), seed=seed), _slope(one, two, seed)
        differ = int(differs[code].sum())
        fails = {
            "configural": r.low < MIN_R,
            "metric": slope.low < SLOPES[0] or slope.high > SLOPES[1],
            "scalar": differ > MAX_DIFFER * len(one),
        }
        checks.append(
            LanguageCheck(
                language=code,
                r=r,
                slope=slope,
                residual=float(paired.difference.std(ddof=1)),
                differ=differ,
                of=len(one),
                fails=tuple(name for name, wrong in fails.items() if wrong),
            )
        )
    results = []
    for at, label in enumerate(listed.labels):
        differences = {
            code: LanguageDifference(
                difference=float(paired.difference[at]),
                low=float(paired.low[at]),
                high=float(paired.high[at]),
                p_holm=float(p_holm[code][at]),
                differs=bool(differs[code][at]),
            )
            for code, paired in aligned.items()
        }
        results.append(
            ParallelScore(
                action=listed.texts[reference][at],
                label=label,
                texts={code: listed.texts[code][at] for code in tables},
                scores={code: float(table[at].mean()) for code, table in tables.items()},
                differences=differences,
            )
        )
    return checks, results


def rank_languages(
    checks: Sequence[LanguageCheck],
    results: Sequence[ParallelScore],
    neutral: Mapping[str, float],
    *,
    seed: int = 0,
) -> LanguageRanking:
    """Rank by level the languages that are measured as the first is; refuse the others."""
    fails = {check.language: check.fails for check in checks if check.fails}
    refused = ""
    if fails:
        names = [f"{LANGUAGES[code]} ({', '.join(some)})" for code, some in fails.items()]
        refused = f"languages are not ranked if measured unlike the first: {'; '.join(names)}"
    ranked = {code: zero for code, zero in neutral.items() if code not in fails}
    if len(ranked) < 2:
        return LanguageRanking((), refused)
    kept = [
        row
        for row in results
        if not any(one.differs for code, one in row.differences.items() if code in ranked)
    ]
    levels = []
    for code, zero in ranked.items():
        values = np.array([row.scores[code] - zero for row in kept])
        levels.append(LanguageLevel(code, *bootstrap_mean(values, seed)))
    return LanguageRanking(tuple(sorted(levels, key=lambda level: -level.level)), refused)


def _build_axes(options: CompareOptions, model: Encoder | LanguageModel | None) -> dict[str, Axis]:
    """Build the axis of every language on one model that is loaded once."""
    name = options.names[0]
    asked = {code: options.for_encoder(name, code) for code in options.language}
    if isinstance(model, LanguageModel):  # loaded already, whatever its name
        asked = {code: replace(one, model=name, encoder=None) for code, one in asked.items()}
        models = LocalModels(speaker=model)
    elif asked[options.language[0]].model is not None:
        models = LocalModels(speaker=LocalModels().language(asked[options.language[0]]))
    else:
        models = LocalModels(model or load_encoder(name))
    first, *others = options.language
    reference = build_axis(asked[first], models)
    axes = {first: reference}
    for code in others:
        state = None
        if isinstance(reference, DirectionAxis):  # one direction for all
            state = load_template("moral", code), reference.direction
        axes[code] = build_axis(asked[code], models, state=state)
    return axes


def _differences(first: Floats, other: Floats, count: int, seed: int) -> PairedDifferences:
    """Return aligned differences; actions that differ are left out of the alignment, repeatedly."""
    anchors = np.ones(len(first), dtype=bool)
    for _ in range(_ROUNDS):
        aligned = []  # on the scale of the actions that anchor: mean and deviation
        for table in (first, other):
            means = table.mean(axis=1)[anchors]
            aligned.append((table - means.mean()) / means.std(ddof=1))
        paired = paired_differences(aligned[1], aligned[0], seed=seed)
        kept = ~((paired.p * count < LEVEL) & (np.abs(paired.difference) >= SIZE))
        if (kept == anchors).all() or kept.sum() < MIN_ACTIONS // 2:
            break
        anchors = kept
    return paired


def _slope(one: Floats, two: Floats, seed: int) -> Interval:
    """Return the reduced major axis: how many units of the second are one of the first."""
    draw = np.random.default_rng(seed).integers(0, len(one), (_RESAMPLES, len(one)))
    spread = np.maximum(one[draw].std(axis=1), 1e-12)
    low, high = percentile_interval(two[draw].std(axis=1) / spread, 1 - LEVEL)
    return Interval(float(two.std() / one.std()), float(low), float(high))
