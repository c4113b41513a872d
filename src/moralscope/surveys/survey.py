"""Put a survey to language models and return a run record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.axes.language import Asking
from moralscope.batch.types import FailedRows, Outcome
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import LanguageModel, Report
from moralscope.core.records import ModelRef, RunRecord, Statistics, absent, values_of
from moralscope.models.language import EndpointOptions, load_language_model, steer_model
from moralscope.models.store import Progress
from moralscope.rules.audit import AuditModels
from moralscope.stats.gates import GateResult, check_gate, parse_gate
from moralscope.surveys.asking import Cell, CellAnswer, ask_cells, dilemma_cells, statement_cells
from moralscope.surveys.items import Dilemma, Items, Statement, read_items, spread
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.populations import Closeness, PeopleTotals
from moralscope.surveys.pressure import PressureFigures, press
from moralscope.surveys.priorities import Priorities, PriorityTotals, check_values, priorities
from moralscope.surveys.questionnaire import (
    QuestionnaireFigures,
    StatementFigures,
    StatementTotals,
    statement_figures,
)
from moralscope.surveys.replies import FreeReply, SayDo, auditor_of, free_replies
from moralscope.surveys.statistics import (
    BIASES,
    COMPARED,
    DilemmaTotals,
    ItemFigures,
    ModelDifference,
    ModelFigures,
    compare_models,
    item_figures,
)

_LOW_MASS = 0.5
DILEMMAS, QUESTIONNAIRE = "dilemmas", "questionnaire"
NOT_DEEDS = (
    "a survey says what a model would answer to these questions; what it does elsewhere may "
    "differ, and no answer is moral advice"
)
INTERVAL = "95 % over items; biases and mass all together"
Row = ItemFigures | StatementFigures
Figures = ModelFigures | QuestionnaireFigures
_Gated = Mapping[str, Callable[[Any], float]]
GATED: Mapping[str, _Gated] = {  # by the kind of survey, what a gate may ask for
    DILEMMAS: {
        **{name: (lambda of, name=name: abs(of.biases[name].value)) for name in BIASES},  # type: ignore[misc]
        "flagged": lambda of: float(len(of.flagged)),
        "flips": lambda of: of.flips.value,
        "mass": lambda of: of.mass.value,
        "consistency": lambda of: of.consistency.value,
        "entropy": lambda of: of.entropy.value,
        "better": lambda of: of.better.value if of.better else float("nan"),
        "accuracy": lambda of: of.accuracy.value if of.accuracy else float("nan"),
    },
    QUESTIONNAIRE: {
        "agreement": lambda of: of.agreement.value,
        "acquiescence": lambda of: abs(of.acquiescence.value),
        "numbering": lambda of: abs(of.numbering.value),
        "mass": lambda of: of.mass.value,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyStatistics(Statistics):
    """What a survey found in sum."""

    models: Mapping[str, Figures]
    comparisons: Sequence[ModelDifference] | None = absent()
    """Each pair of models, item by item."""
    replies: Mapping[str, SayDo] | None = absent()
    """Of each model, how its choices, ratings and free replies go together."""
    say_rate_do: Sequence[FreeReply] | None = absent()
    priorities: Mapping[str, Priorities] | None = absent()
    """Of each model, which values it puts first."""
    priority_differences: Sequence[ModelDifference] | None = absent()
    people: Mapping[str, Closeness] | None = absent()
    """Of each model, how far it is from the populations whose shares the items have."""
    pressure: Mapping[str, PressureFigures] | None = absent()
    """Of each model, how far it gives way."""
    gate: GateResult | None = None
    corpus: Outcome | None = absent()
    failed: FailedRows | None = absent()


def survey(
    items: str | Path | Items,
    options: SurveyOptions | None = None,
    *,
    speakers: Sequence[LanguageModel] | None = None,
    auditor: AuditModels | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> RunRecord:
    """Ask language models about dilemmas or statements, in every order, form and wording.

    Parameters
    ----------
    items
        A table's path, `values` (our own questionnaire), or items that are read already.
    options
        `SurveyOptions`, or its fields as keywords.
    speakers
        Language models that are loaded already; else those that the options name.
    auditor
        What audits free replies; else one by the options.
    report
        Called with (done, total) as the work goes on.

    Examples
    --------
    >>> purse = Dilemma("1", "You find a purse.", ("I give it back.", "I keep it."), better=0)
    >>> shop = Dilemma("2", "You are in a shop.", ("I pay.", "I steal."), better=0)
    >>> record = survey([purse, shop], models=("scripted:order=1",))
    >>> round(record.statistics["models"]["scripted:order=1"].biases["order_bias"].value, 6)
    1.0
    """
    if speakers is not None and options is None:
        changes["models"] = tuple(speaker.name for speaker in speakers)
    options = chosen_options(SurveyOptions, options, changes)
    items = read_items(items) if isinstance(items, str | Path) else items
    items = spread(items, options.limit)
    kind = kind_of(items)
    _check(options, kind, items)
    loaded = speakers or [load_speaker(name, options, progress) for name in options.models]
    speakers = [steer_model(speaker, options.steer) for speaker in loaded]
    askings = [Asking.of(speaker, options.form) for speaker in speakers]
    if options.free and auditor is None:
        auditor = auditor_of(options)
    rows: dict[str, list[Row]] = {}
    figures: dict[str, Figures] = {}
    say_do: dict[str, SayDo] = {}
    replies: list[FreeReply] = []
    put_first: dict[str, PriorityTotals] = {}
    people: dict[str, Closeness] = {}
    for number, asking in enumerate(askings):
        name = asking.model.name
        answers = ask_items(asking, items, options, _part(report, number, len(askings)))
        rows[name] = [
            figures_of(name, item, some, options.seed)
            for item, some in zip(items, answers, strict=True)
        ]
        totals, near = totals_of(kind), PeopleTotals()
        for row, item, some in zip(rows[name], items, answers, strict=True):
            near.add(row, item)
            totals.add(row, item, len(some))
            if options.priorities:
                put_first.setdefault(name, PriorityTotals()).add(row, item)
        figures[name] = totals.figures()
        if closeness := near.figures():
            people[name] = closeness
        if options.free and auditor is not None:
            written, say_do[name] = free_replies(asking, items, answers, auditor, options)  # type: ignore[arg-type]
            replies += written
    pressure = None
    if options.pressure:
        how = {"wordings": options.wordings, "seed": options.seed}
        pressure = {one.model.name: press(one, items, **how) for one in askings}  # type: ignore[arg-type]
    names = tuple(GATED[kind]) if kind == QUESTIONNAIRE else COMPARED
    strengths = priorities(put_first, options.seed) if options.priorities else (None, None)
    return RunRecord(
        "survey",
        seed=options.seed,
        config={
            "kind": kind,
            "models": list(figures),
            "items": len(items),
            "asked": {asking.model.name: asking.form for asking in askings},
            "forms": list(options.forms),
            "wordings": options.wordings,
            "interval": INTERVAL,
            "options": plain_options(options),
        },
        models=[
            ref
            for speaker in speakers
            for ref in speaker.refs or (ModelRef(speaker.name, speaker.checksum),)
        ],
        results=[row for some in rows.values() for row in some],
        statistics=SurveyStatistics(
            models=figures,
            comparisons=compare_models(rows, names) if len(rows) > 1 else None,
            replies=say_do if options.free else None,
            say_rate_do=replies if options.free else None,
            priorities=strengths[0],
            priority_differences=strengths[1],
            people=people or None,
            pressure=pressure,
            gate=gate_of(options, kind, figures),
        ),
        warnings=[NOT_DEEDS, *_warnings(speakers, figures)],
    )


def _check(options: SurveyOptions, kind: str, items: Items) -> None:
    """Refuse what these items cannot answer, before any weights are loaded."""
    if options.gate is not None:
        parse_gate(options.gate, GATED[kind])
    if options.pressure and kind == QUESTIONNAIRE:
        raise InputError("pressure is put on answers to dilemmas", "leave --pressure out")
    if options.free and kind == QUESTIONNAIRE:
        raise InputError("free replies answer dilemmas, not statements", "leave --free out")
    if options.priorities:
        check_values(items)


def _warnings(speakers: Sequence[LanguageModel], figures: Mapping[str, Figures]) -> list[str]:
    lines = []
    for speaker in speakers:
        lines += [f"{speaker.name}: {line}" for line in speaker.warnings]
        lines += figure_warnings(speaker.name, figures[speaker.name])
    return lines


def _part(report: Report | None, number: int, models: int) -> Report | None:
    """Return what reports one model's work as a part of all models' work."""
    if report is None:
        return None
    return lambda done, total: report(number * total + done, models * total)


def load_speaker(
    name: str, options: SurveyOptions, progress: Progress | None = None
) -> LanguageModel:
    """Load one of the models that a survey names."""
    limits = values_of(options, "samples", "max_requests", "input_price", "output_price")
    endpoint = EndpointOptions(options.endpoint, **limits)
    return load_language_model(name, endpoint=endpoint, progress=progress)


def kind_of(items: Items) -> str:
    """Return which kind of survey these items make; a survey has one kind."""
    return QUESTIONNAIRE if isinstance(items[0], Statement) else DILEMMAS


def ask_items(
    asking: Asking, items: Items, options: SurveyOptions, report: Report | None = None
) -> list[list[CellAnswer]]:
    """Put every question about every item to a model; return the answers of each item."""
    cells: list[Cell] = []
    for index, item in enumerate(items):
        if isinstance(item, Statement):
            cells += statement_cells(index, item, options.wordings)
        else:
            cells += dilemma_cells(index, item, options.forms, options.wordings)
    answers: list[list[CellAnswer]] = [[] for _ in items]
    for answer in ask_cells(asking, cells, report):
        answers[answer.cell.item].append(answer)
    return answers


def figures_of(
    model: str, item: Dilemma | Statement, answers: Sequence[CellAnswer], seed: int
) -> Row:
    """Sum up one item."""
    if isinstance(item, Statement):
        return statement_figures(model, item, answers)
    return item_figures(model, item, answers, seed)


def totals_of(kind: str) -> Any:
    """Return what sums up items one by one: `DilemmaTotals` or `StatementTotals`."""
    return StatementTotals() if kind == QUESTIONNAIRE else DilemmaTotals()


def gate_of(options: SurveyOptions, kind: str, figures: Mapping[str, Figures]) -> GateResult | None:
    """Hold the figures of every model against the gate of the options, where there is one."""
    if options.gate is None:
        return None
    values = {
        name: {figure: value(model) for figure, value in GATED[kind].items()}
        for name, model in figures.items()
    }
    return check_gate(parse_gate(options.gate, GATED[kind]), values)


def figure_warnings(name: str, figures: Figures) -> list[str]:
    """Return what has to be said beside a model's figures."""
    lines = []
    if figures.mass.value < _LOW_MASS:
        lines.append(
            f"{name}: only {figures.mass.value:.0%} of the probability lies on a valid answer; "
            "it would mostly reply something else"
        )
    if isinstance(figures, ModelFigures) and figures.flagged:
        biases = ", ".join(bias.replace("_", " ") for bias in figures.flagged)
        lines.append(f"{name}: its answers show {biases}")
    return lines


__all__ = ["ItemFigures", "SurveyOptions", "SurveyStatistics", "survey"]
