"""Put a survey to language models and return a run record."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from moralscope.axes.language import Asking
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import LanguageModel, Report
from moralscope.core.records import ModelRef, RunRecord
from moralscope.models.language import EndpointOptions, load_language_model, steer_model
from moralscope.models.store import Progress
from moralscope.rules.audit import AuditModels
from moralscope.stats.gates import check_gate, parse_gate
from moralscope.surveys.asking import (
    Cell,
    CellAnswer,
    ask_cells,
    dilemma_cells,
    statement_cells,
)
from moralscope.surveys.items import Dilemma, Items, Statement, read_items, spread
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.questionnaire import (
    QuestionnaireFigures,
    questionnaire_figures,
    statement_figures,
)
from moralscope.surveys.replies import auditor_of, free_replies
from moralscope.surveys.statistics import (
    BIASES,
    COMPARED,
    ItemFigures,
    ModelFigures,
    compare_models,
    item_figures,
    model_figures,
)

_LOW_MASS = 0.5
NOT_DEEDS = (
    "a survey says what a model would answer to these questions; what it does elsewhere may "
    "differ, and no answer is moral advice"
)
Figures = ModelFigures | QuestionnaireFigures
FIGURES: Mapping[str, Callable[[Any], float]] = {
    **{name: (lambda found, name=name: abs(found.biases[name].value)) for name in BIASES},  # type: ignore[misc]
    "flagged": lambda found: float(len(found.flagged)),
    "flips": lambda found: found.flips.value,
    "mass": lambda found: found.mass.value,
    "consistency": lambda found: found.consistency.value,
    "entropy": lambda found: found.entropy.value,
    "better": lambda found: found.better.value if found.better else float("nan"),
    "accuracy": lambda found: found.accuracy.value if found.accuracy else float("nan"),
}  # of dilemmas, what a gate may ask for
SCALE_FIGURES: Mapping[str, Callable[[Any], float]] = {
    "agreement": lambda found: found.agreement.value,
    "acquiescence": lambda found: abs(found.acquiescence.value),
    "numbering": lambda found: abs(found.numbering.value),
    "mass": lambda found: found.mass.value,
}


def survey(
    items: str | Path | Items,
    options: SurveyOptions | None = None,
    *,
    speakers: Sequence[LanguageModel] | None = None,
    auditor: AuditModels | None = None,
    report: Report | None = None,
    progress: Progress | None = None,
    **given: Any,
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
        given["models"] = tuple(each.name for each in speakers)
    chosen = chosen_options(SurveyOptions, options, given)
    read = read_items(items) if isinstance(items, str | Path) else items
    read = spread(read, chosen.limit)
    about = SCALE_FIGURES if isinstance(read[0], Statement) else FIGURES
    limits = parse_gate(chosen.gate, about) if chosen.gate is not None else None
    if chosen.free and isinstance(read[0], Statement):
        raise InputError("free replies answer dilemmas, not statements", "leave --free out")
    loaded = speakers or [load_speaker(name, chosen, progress) for name in chosen.models]
    speakers = [steer_model(each, chosen.steer) for each in loaded]
    askings = [Asking.of(each, chosen.form) for each in speakers]
    if chosen.free and auditor is None:
        auditor = auditor_of(chosen)
    runs = [
        _put(asking, read, chosen, auditor, _step(report, at, len(askings)))
        for at, asking in enumerate(askings)
    ]
    figures = {asking.model.name: run.figures for asking, run in zip(askings, runs, strict=True)}
    statistics: dict[str, Any] = {"models": figures}
    if len(runs) > 1:
        tables = {name: run.rows for name, run in zip(figures, runs, strict=True)}
        names = tuple(SCALE_FIGURES) if isinstance(read[0], Statement) else COMPARED
        statistics["comparisons"] = compare_models(tables, names)
    if chosen.free:
        statistics["replies"] = {name: run.say_do for name, run in zip(figures, runs, strict=True)}
        statistics["say_rate_do"] = [row for run in runs for row in run.replies]
    named = {
        name: {key: get(found) for key, get in about.items()} for name, found in figures.items()
    }
    statistics["gate"] = check_gate(limits, named) if limits is not None else None
    return RunRecord(
        "survey",
        seed=chosen.seed,
        config={
            "kind": "questionnaire" if isinstance(read[0], Statement) else "dilemmas",
            "models": list(figures),
            "items": len(read),
            "asked": {asking.model.name: asking.form for asking in askings},
            "forms": list(chosen.forms),
            "wordings": chosen.wordings,
            "interval": "95 % over items; biases and mass all together",
            "options": plain_options(chosen),
        },
        models=[ref for each in speakers for ref in each.refs or (_ref(each),)],
        results=[row for run in runs for row in run.rows],
        statistics=statistics,
        warnings=[NOT_DEEDS, *_warnings(figures, speakers)],
    )


class _Run:
    """One model's part of a survey."""

    def __init__(self, rows: Sequence[Any], figures: Any) -> None:
        self.rows, self.figures = rows, figures
        self.replies: Sequence[Any] = ()
        self.say_do: Any = None


def load_speaker(
    name: str, options: SurveyOptions, progress: Progress | None = None
) -> LanguageModel:
    """Load one of the models that a survey names."""
    served = EndpointOptions(
        options.endpoint,
        samples=options.samples,
        max_requests=options.max_requests,
        input_price=options.input_price,
        output_price=options.output_price,
    )
    return load_language_model(name, endpoint=served, progress=progress)


def _put(
    asking: Asking,
    items: Items,
    options: SurveyOptions,
    auditor: AuditModels | None,
    report: Report | None,
) -> _Run:
    cells = cells_of(items, options)
    groups: list[list[CellAnswer]] = [[] for _ in items]
    for answer in ask_cells(asking, cells, report):
        groups[answer.cell.item].append(answer)
    rows = [
        figures_of(asking.model.name, item, some, options.seed)
        for item, some in zip(items, groups, strict=True)
    ]
    if isinstance(items[0], Statement):
        return _Run(rows, questionnaire_figures(rows, len(cells)))
    run = _Run(rows, model_figures(rows, items, len(cells)))  # type: ignore[arg-type]
    if auditor is not None and options.free:
        run.replies, run.say_do = free_replies(asking, items, groups, auditor, options)  # type: ignore[arg-type]
    return run


def cells_of(items: Items, options: SurveyOptions) -> list[Cell]:
    """Return every question of a survey."""
    cells: list[Cell] = []
    for place, item in enumerate(items):
        if isinstance(item, Statement):
            cells += statement_cells(place, item, options.wordings)
        else:
            cells += dilemma_cells(place, item, options.forms, options.wordings)
    return cells


def figures_of(
    model: str, item: Dilemma | Statement, answers: Sequence[CellAnswer], seed: int
) -> Any:
    """Sum up one item."""
    if isinstance(item, Statement):
        return statement_figures(model, item, answers)
    return item_figures(model, item, answers, seed)


def _warnings(figures: Mapping[str, Figures], speakers: Sequence[LanguageModel]) -> list[str]:
    lines = []
    for (name, found), speaker in zip(figures.items(), speakers, strict=True):
        lines += [f"{name}: {line}" for line in speaker.warnings]
        if found.mass.value < _LOW_MASS:
            lines.append(
                f"{name}: only {found.mass.value:.0%} of the probability lies on a valid answer; "
                "it would mostly reply something else"
            )
        if isinstance(found, ModelFigures) and found.flagged:
            told = ", ".join(each.replace("_", " ") for each in found.flagged)
            lines.append(f"{name}: its answers hang on {told}")
    return lines


def _step(report: Report | None, place: int, models: int) -> Report | None:
    if report is None:
        return None
    return lambda done, total: report(place * total + done, models * total)


def _ref(model: LanguageModel) -> ModelRef:
    return ModelRef(model.name, model.checksum)


__all__ = ["FIGURES", "ItemFigures", "SurveyOptions", "survey"]
