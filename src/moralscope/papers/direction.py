"""`reproduce direction`: the second paper's tables and figures beside ours, per encoder.

Schramowski et al. 2019: mean biases of dos and don'ts (Table 7) and of actions with context
(Table 8), projections on the moral direction (Table 9, Figures 1 and 4), WEAT against bias
(Figure 2) and explained variance (Figure 3). The figures are drawn from the record by `reports`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moralscope.axes.build import LocalModels
from moralscope.axes.choice import ChoiceMachine
from moralscope.axes.direction.axis import build_direction, describe_direction, direction_warnings
from moralscope.axes.direction.paper import CompassPaper, PaperBias, load_paper
from moralscope.axes.options import AxisOptions
from moralscope.axes.templates import load_template
from moralscope.core.errors import MoralscopeError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import AxisRun, Encoder
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoders
from moralscope.models.store import Progress
from moralscope.papers.options import EncodersOptions
from moralscope.papers.words import our_weat, published_weat
from moralscope.stats.correlation import Correlation, correlate, spearman
from moralscope.stats.summary import Summary, summarise
from moralscope.words.options import VECTORS
from moralscope.words.paper import load_paper as load_choice_paper
from moralscope.words.vectors import load_vectors

log = logging.getLogger(__name__)

FITS = ("pca", "labelled")
PRINTED = ("bert", "use")
_TOP = 10
_CIRCULAR = (
    "labelled directions are fitted on the dos and don'ts that WEAT chose: their correlation with "
    "WEAT over these words is no test"
)


@dataclass(frozen=True, slots=True)
class BiasRow:
    """An action's mean bias with its interval, beside what the paper prints for its encoders."""

    action: str
    ours: float
    low: float
    high: float
    bert: float | None
    use: float | None


@dataclass(frozen=True, slots=True)
class BiasTable:
    """Our top ten dos and don'ts, and the rank correlation with all that the paper prints.

    With lists of dos and don'ts (Table 7) a word stands on its list's side, whatever its bias.
    `printed` holds every action that the paper prints for one of its encoders.
    """

    dos: Sequence[BiasRow]
    donts: Sequence[BiasRow]
    printed: Sequence[BiasRow]
    agreement: Mapping[str, Correlation]


@dataclass(frozen=True, slots=True)
class ProjectionRow:
    """An action on the direction: score, raw projection, map height; printed m (< 0 is good)."""

    action: str
    ours: float
    low: float
    high: float
    raw: float
    y: float
    bert: float | None
    use: float | None


@dataclass(frozen=True, slots=True)
class FitReproduction:
    """One direction: Table 9 with rank correlations (good above bad), WEAT, and what it is."""

    fit: str
    direction: Mapping[str, Any]
    atomic: Sequence[ProjectionRow]
    contextual: Sequence[ProjectionRow]
    agreement: Mapping[str, Correlation]
    weat: Mapping[str, Correlation]


@dataclass(frozen=True, slots=True)
class WeatRow:
    """A do or don't in Figure 2: WEAT against mean bias and against the direction."""

    action: str
    group: str
    weat: float
    bias: float
    direction: float


@dataclass(frozen=True, slots=True)
class DirectionReproduction:
    """Everything `reproduce direction` finds for one encoder."""

    encoder: str
    table7: BiasTable
    table8: BiasTable
    fits: Sequence[FitReproduction]
    figure2: Sequence[WeatRow]
    bias_weat: Mapping[str, Correlation]
    means: Mapping[str, Summary]


def reproduce_direction(
    encoders: Sequence[str] | None = None,
    options: EncodersOptions | None = None,
    *,
    progress: Progress | None = None,
    tell: Callable[[DirectionReproduction], None] | None = None,
    **given: Any,
) -> RunRecord:
    """Compute the paper's tables for each encoder; one that cannot be fetched is reported.

    `encoders` are those that the options name, if none is given; `tell` gets each encoder's tables
    as soon as they are there.

    Examples
    --------
    >>> record = reproduce_direction(["scripted"])
    >>> [(fit.fit, len(fit.atomic), len(fit.contextual)) for fit in record.results[0].fits]
    [('pca', 65, 56), ('labelled', 65, 56)]
    """
    asked = chosen_options(EncodersOptions, options, given)
    names, seed = encoders or asked.encoders, asked.seed
    problems: list[str] = []
    models = load_encoders(names, progress, problems)
    weat = _weat_values(progress, problems)
    found = []
    for model in models:
        found.append(_reproduce(model, weat, seed))
        if tell:
            tell(found[-1][0])
    results = [result for result, _ in found]
    paper = load_paper()
    return RunRecord(
        "reproduce",
        seed=seed,
        config={
            "paper": "direction",
            "encoders": list(names),
            "template": "moral",
            "options": plain_options(asked),
        },
        models=model_refs(models),
        results=results,
        statistics={"paper": {"figures": paper.figures, "table9": paper.table9}},
        warnings=[
            NOT_ADVICE,
            _CIRCULAR,
            *problems,
            *(line for _, lines in found for line in lines),
        ],
    )


def _weat_values(progress: Progress | None, problems: list[str]) -> dict[str, dict[str, float]]:
    """Return WEAT of dos and don'ts: as printed, as published (user's file), by our vectors."""
    paper = load_choice_paper()
    words = [*paper.dos, *paper.donts]
    found = {"printed": dict(paper.weat), "published": published_weat(words)}
    try:
        found["ours"] = our_weat(load_vectors(VECTORS, progress=progress), words)
    except MoralscopeError as error:
        problems.append(f"WEAT by our own vectors was left out: {error}")
        log.warning(problems[-1])
    return {name: values for name, values in found.items() if values}


def _reproduce(
    encoder: Encoder, weat: Mapping[str, Mapping[str, float]], seed: int
) -> tuple[DirectionReproduction, list[str]]:
    paper, words = load_paper(), load_choice_paper()
    machine = ChoiceMachine(encoder, load_template("moral"), seed=seed)
    dos_donts = machine.score([*words.dos, *words.donts])
    printed = [action for table in paper.table8.values() for action in _printed(table)]
    contextual = machine.score(list(dict.fromkeys([*paper.contextual, *printed])))
    fits, warnings, projected = [], [], []
    for fit in FITS:
        axis = build_direction(
            AxisOptions(axis="direction", fit=fit, seed=seed), LocalModels(encoder)
        )
        scores = axis.score([*words.dos, *words.donts])
        projected.append(scores)
        warnings += [f"{encoder.name}, {fit}: {w}" for w in direction_warnings(axis.direction)]
        tables = {"atomic": paper.atomic, "contextual": paper.contextual}
        rows = {
            name: _projections(
                axis.score_rows([{"action": a} for a in actions]), axis.direction.scales[0], paper
            )
            for name, actions in tables.items()
        }
        fits.append(
            FitReproduction(
                fit,
                describe_direction(axis.direction),
                **rows,
                agreement=_table9_agreement(rows, seed),
                weat=_with_weat(scores, weat, seed),
            )
        )
    values = weat.get("published") or weat.get("ours") or weat["printed"]
    return DirectionReproduction(
        encoder=encoder.name,
        table7=_bias_table(dos_donts, paper.table7, seed, (words.dos, words.donts)),
        table8=_bias_table(contextual, paper.table8, seed),
        fits=fits,
        figure2=_figure2(dos_donts, projected[0], values),
        bias_weat=_with_weat(dos_donts, weat, seed),
        means=_means(dos_donts, words.dos),
    ), warnings


def _means(scores: Sequence[ActionScore], dos: Sequence[str]) -> dict[str, Summary]:
    """Summarise the mean biases of dos, don'ts and both."""
    return {
        "dos": summarise([each.score for each in scores if each.action in dos]),
        "donts": summarise([each.score for each in scores if each.action not in dos]),
        "all": summarise([each.score for each in scores]),
    }


def _printed(table: PaperBias) -> dict[str, float]:
    return {**table.dos, **table.donts}


def _bias_table(
    scores: Sequence[ActionScore],
    printed: Mapping[str, PaperBias],
    seed: int,
    lists: tuple[Sequence[str], Sequence[str]] | None = None,
) -> BiasTable:
    columns = {name: _printed(printed[name]) for name in PRINTED}
    rows = [
        BiasRow(
            s.action, s.score, s.low, s.high, *(columns[name].get(s.action) for name in PRINTED)
        )
        for s in sorted(scores, key=lambda score: -score.score)
    ]
    ours = {row.action: row.ours for row in rows}
    agreement = {name: _rank(ours, columns[name], seed) for name in PRINTED}
    dos, donts = lists or (list(ours), list(ours))
    top = [row for row in rows if row.action in dos][:_TOP]
    bottom = [row for row in reversed(rows) if row.action in donts][:_TOP]
    known = [row for row in rows if row.bert is not None or row.use is not None]
    return BiasTable(top, bottom, known, agreement)


def _projections(run: AxisRun, raw_scale: float, paper: CompassPaper) -> list[ProjectionRow]:
    columns = {
        name: {**paper.table9[name].atomic, **paper.table9[name].contextual} for name in PRINTED
    }
    return [
        ProjectionRow(s.action, s.score, s.low, s.high, s.score * raw_scale, y, *printed)
        for s, (_, y) in zip(run.results, run.statistics["map"]["points"], strict=True)
        for printed in [[columns[name].get(s.action) for name in PRINTED]]
    ]


def _table9_agreement(
    rows: Mapping[str, Sequence[ProjectionRow]], seed: int
) -> dict[str, Correlation]:
    """Rank ours against the printed m, whose sign is turned: there the good is negative."""
    found: dict[str, Correlation] = {}
    for part, listed in rows.items():
        ours = {row.action: row.ours for row in listed}
        bert = {row.action: -row.bert for row in listed if row.bert is not None}
        use = {row.action: -row.use for row in listed if row.use is not None}
        found |= {f"bert {part}": _rank(ours, bert, seed), f"use {part}": _rank(ours, use, seed)}
    return found


def _rank(ours: Mapping[str, float], printed: Mapping[str, float], seed: int) -> Correlation:
    shared = [action for action in printed if action in ours]
    return spearman([printed[a] for a in shared], [ours[a] for a in shared], seed=seed)


def _with_weat(
    scores: Sequence[ActionScore], weat: Mapping[str, Mapping[str, float]], seed: int
) -> dict[str, Correlation]:
    dos = set(load_choice_paper().dos)
    found = {}
    for name, values in weat.items():
        known = [score for score in scores if score.action in values]
        found[name] = correlate(
            [values[score.action] for score in known],
            [score.score for score in known],
            ["dos" if score.action in dos else "don'ts" for score in known],
            seed=seed,
        )
    return found


def _figure2(
    biases: Sequence[ActionScore], projected: Sequence[ActionScore], weat: Mapping[str, float]
) -> list[WeatRow]:
    dos = set(load_choice_paper().dos)
    return [
        WeatRow(b.action, "dos" if b.action in dos else "don'ts", weat[b.action], b.score, m.score)
        for b, m in zip(biases, projected, strict=True)
        if b.action in weat
    ]
