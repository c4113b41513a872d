"""`reproduce direction`: the second paper's tables and figures beside ours, per encoder.

Schramowski et al. 2019: mean biases of dos and don'ts (Table 7) and of actions with context
(Table 8), projections on the moral direction (Table 9, Figures 1 and 4), WEAT against bias
(Figure 2) and explained variance (Figure 3). The figures are drawn from the record by `reports`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from moralscope.axes.build import LocalModels
from moralscope.axes.choice import ChoiceMachine
from moralscope.axes.direction.axis import build_direction, describe_direction, direction_warnings
from moralscope.axes.direction.paper import PaperBias, PaperFigure, PaperProjection, load_paper
from moralscope.axes.options import AxisOptions
from moralscope.axes.records import ActionMap, DirectionFigures
from moralscope.axes.templates import load_template
from moralscope.core.errors import MoralscopeError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import AxisRun, Encoder
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord, Statistics
from moralscope.io.files import model_refs
from moralscope.models.encoders import load_encoders
from moralscope.models.store import Progress
from moralscope.papers import (
    PaperRow,
    PaperTable,
    ShowTable,
    correlation_rows,
    encoder_table,
    paper_row,
)
from moralscope.papers.options import EncodersOptions
from moralscope.papers.words import correlate_with_weat, our_weat, published_weat
from moralscope.stats.correlation import Correlation, spearman
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
    """Our top ten dos and don'ts, and the rank correlation with all that the paper prints."""

    dos: Sequence[BiasRow]
    """With lists of dos and don'ts (Table 7) a word stands on its list's side, whatever its
    bias."""
    donts: Sequence[BiasRow]
    printed: Sequence[BiasRow]  # every action that the paper prints for one of its encoders
    agreement: Mapping[str, Correlation]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionRow:
    """An action on the direction, beside the printed m (< 0 is good)."""

    action: str
    ours: float
    low: float
    high: float
    raw: float  # the projection itself, as the paper has it
    y: float  # the height on the map
    bert: float | None
    use: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FitReproduction:
    """One direction: Table 9 with rank correlations (good above bad), WEAT, and what it is."""

    fit: str
    direction: DirectionFigures
    atomic: Sequence[ProjectionRow]
    contextual: Sequence[ProjectionRow]
    agreement: Mapping[str, Correlation]
    weat: Mapping[str, Correlation]


@dataclass(frozen=True, slots=True)
class WeatPoint:
    """A do or don't in Figure 2: WEAT against mean bias and against the direction."""

    action: str
    group: str
    weat: float
    bias: float
    direction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BiasMeans(Statistics):
    """Mean biases of dos, don'ts and both."""

    dos: Summary
    donts: Summary
    all: Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionReproduction:
    """Everything `reproduce direction` finds for one encoder."""

    encoder: str
    table7: BiasTable
    table8: BiasTable
    fits: Sequence[FitReproduction]
    figure2: Sequence[WeatPoint]
    bias_weat: Mapping[str, Correlation]
    means: BiasMeans


@dataclass(frozen=True, slots=True)
class CompassFigures(Statistics):
    """What the paper prints, by its encoders."""

    figures: Mapping[str, PaperFigure]
    table9: Mapping[str, PaperProjection]


@dataclass(frozen=True, slots=True)
class DirectionStatistics(Statistics):
    """The paper's figures: ours are in the results, by encoder."""

    paper: CompassFigures


def reproduce_direction(
    encoders: Sequence[str] | None = None,
    options: EncodersOptions | None = None,
    *,
    progress: Progress | None = None,
    show: ShowTable | None = None,
    **fields: Any,
) -> RunRecord:
    """Compute the paper's tables for each encoder; one that cannot be fetched is reported.

    `encoders` are those that the options name, if none is given; `show` gets each table as soon as
    it is there.

    Examples
    --------
    >>> record = reproduce_direction(["scripted"])
    >>> [(fit.fit, len(fit.atomic), len(fit.contextual)) for fit in record.results[0].fits]
    [('pca', 65, 56), ('labelled', 65, 56)]
    """
    asked = chosen_options(EncodersOptions, options, fields)
    names, seed = encoders or asked.encoders, asked.seed
    problems: list[str] = []
    models = load_encoders(names, progress, problems)
    choice_paper = load_choice_paper()
    words = [*choice_paper.dos, *choice_paper.donts]
    weat = {"printed": dict(choice_paper.weat), "published": published_weat(words)}
    try:
        weat["ours"] = our_weat(load_vectors(VECTORS, progress=progress), words)
    except MoralscopeError as error:
        problems.append(f"WEAT by our own vectors was left out: {error}")
        log.warning(problems[-1])
    weat = {name: values for name, values in weat.items() if values}
    results, warnings = [], [NOT_ADVICE, _CIRCULAR, *problems]
    for model in models:
        results.append(_reproduce(model, weat, seed, warnings))
        if show:
            for table in direction_tables(results[-1]):
                show(table)
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
        statistics=DirectionStatistics(CompassFigures(paper.figures, paper.table9)),
        warnings=warnings,
    )


def _reproduce(
    encoder: Encoder, weat: Mapping[str, Mapping[str, float]], seed: int, warnings: list[str]
) -> DirectionReproduction:
    paper, words = load_paper(), load_choice_paper()
    machine = ChoiceMachine(encoder, load_template("moral"), seed=seed)
    dos_donts = machine.score([*words.dos, *words.donts])
    printed = [action for table in paper.table8.values() for action in (*table.dos, *table.donts)]
    contextual = machine.score(list(dict.fromkeys([*paper.contextual, *printed])))
    fits, projected = [], []
    for fit in FITS:
        axis = build_direction(
            AxisOptions(axis="direction", fit=fit, seed=seed), LocalModels(encoder)
        )
        scores = axis.score([*words.dos, *words.donts])
        projected.append(scores)
        warnings += [f"{encoder.name}, {fit}: {w}" for w in direction_warnings(axis.direction)]
        rows, agreement = {}, {}
        for part, actions in (("atomic", paper.atomic), ("contextual", paper.contextual)):
            run = axis.score_rows([{"action": action} for action in actions])
            rows[part] = _projections(run, axis.direction.scales[0])
            ours = {row.action: row.ours for row in rows[part]}
            for name in PRINTED:
                # The sign of the printed m is turned: there the good is negative.
                turned = {
                    row.action: -value
                    for row in rows[part]
                    if (value := attrgetter(name)(row)) is not None
                }
                agreement[f"{name} {part}"] = _rank(ours, turned, seed)
        fits.append(
            FitReproduction(
                fit=fit,
                direction=describe_direction(axis.direction),
                **rows,
                agreement=agreement,
                weat=_with_weat(scores, weat, seed),
            )
        )
    values = weat.get("published") or weat.get("ours") or weat["printed"]
    dos = set(words.dos)
    return DirectionReproduction(
        encoder=encoder.name,
        table7=_bias_table(dos_donts, paper.table7, seed, (words.dos, words.donts)),
        table8=_bias_table(contextual, paper.table8, seed),
        fits=fits,
        figure2=[
            WeatPoint(
                action=bias.action,
                group="dos" if bias.action in dos else "don'ts",
                weat=values[bias.action],
                bias=bias.score,
                direction=projection.score,
            )
            for bias, projection in zip(dos_donts, projected[0], strict=True)
            if bias.action in values
        ],
        bias_weat=_with_weat(dos_donts, weat, seed),
        means=BiasMeans(
            dos=summarise([row.score for row in dos_donts if row.action in dos]),
            donts=summarise([row.score for row in dos_donts if row.action not in dos]),
            all=summarise([row.score for row in dos_donts]),
        ),
    )


def _bias_table(
    scores: Sequence[ActionScore],
    printed: Mapping[str, PaperBias],
    seed: int,
    lists: tuple[Sequence[str], Sequence[str]] | None = None,
) -> BiasTable:
    columns = {name: {**printed[name].dos, **printed[name].donts} for name in PRINTED}
    rows = [
        BiasRow(
            action=score.action,
            ours=score.score,
            low=score.low,
            high=score.high,
            bert=columns["bert"].get(score.action),
            use=columns["use"].get(score.action),
        )
        for score in sorted(scores, key=lambda score: -score.score)
    ]
    ours = {row.action: row.ours for row in rows}
    agreement = {name: _rank(ours, columns[name], seed) for name in PRINTED}
    dos, donts = lists or (list(ours), list(ours))
    top = [row for row in rows if row.action in dos][:_TOP]
    bottom = [row for row in reversed(rows) if row.action in donts][:_TOP]
    known = [row for row in rows if row.bert is not None or row.use is not None]
    return BiasTable(top, bottom, known, agreement)


def _projections(run: AxisRun, raw_scale: float) -> list[ProjectionRow]:
    action_map: ActionMap = run.statistics["map"]
    printed = {
        name: {**table.atomic, **table.contextual} for name, table in load_paper().table9.items()
    }
    return [
        ProjectionRow(
            action=score.action,
            ours=score.score,
            low=score.low,
            high=score.high,
            raw=score.score * raw_scale,
            y=y,
            bert=printed["bert"].get(score.action),
            use=printed["use"].get(score.action),
        )
        for score, (_, y) in zip(run.results, action_map.points, strict=True)
    ]


def _rank(ours: Mapping[str, float], printed: Mapping[str, float], seed: int) -> Correlation:
    shared = [action for action in printed if action in ours]
    return spearman([printed[a] for a in shared], [ours[a] for a in shared], seed=seed)


def _with_weat(
    scores: Sequence[ActionScore], weat: Mapping[str, Mapping[str, float]], seed: int
) -> dict[str, Correlation]:
    values = {score.action: score.score for score in scores}
    return {name: correlate_with_weat(values, known, seed) for name, known in weat.items()}


def direction_tables(result: DirectionReproduction) -> list[PaperTable]:
    """Return the second paper's figures, of both its encoders, beside one encoder's.

    Printed m of Table 9 have their sign turned: here good is above zero.
    """
    tables = []
    for name, figure in load_paper().figures.items():
        printed = attrgetter(name)
        rows = []
        means = result.means
        for title, ours, summary in (
            ("dos", means.dos, figure.dos),
            ("don'ts", means.donts, figure.donts),
            ("all", means.all, figure.all),
        ):
            rows.append(paper_row(f"{title}, bias", "mean", ours.mean, summary.mean))
            rows.append(paper_row(f"{title}, bias", "sd", ours.sd, summary.sd))
        for weat, r in result.bias_weat.items():
            rows += correlation_rows(f"r with WEAT, {weat}", "Figure 2", r, figure.r)
            rows.append(paper_row(f"r with WEAT, {weat}", "p", r.p, figure.p))
        label = name.upper()
        tables.append(encoder_table(f"Figure 2 and means, {label}", rows, result.encoder, label))
        for title, table in (("Table 7", result.table7), ("Table 8", result.table8)):
            rows = [
                PaperRow(row.action, "mean bias", row.ours, row.low, row.high, printed(row))
                for row in table.printed
                if printed(row) is not None
            ]
            tables.append(
                encoder_table(f"{title}: mean bias, {label}", rows, result.encoder, label)
            )
        rows = [
            PaperRow(row.action, "-m", row.ours, row.low, row.high, None if m is None else -m)
            for pca in result.fits[:1]
            for row in (*pca.atomic, *pca.contextual)
            for m in [printed(row)]
        ]
        unit = f"{label}; and another unit: ours are standard deviations of the fitting actions"
        tables.append(
            encoder_table(f"Table 9: moral direction, {label}", rows, result.encoder, unit)
        )
    return tables
