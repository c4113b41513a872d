"""Surveys of a corpus: what the one-file path reads, its figures and its gates, for any size."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import pyarrow as pa

from moralscope.axes.language import Asking
from moralscope.batch.columns import arrow_schema
from moralscope.batch.job import Batch, BatchJob, Columns, Prepared, read_each
from moralscope.batch.parts import Parts
from moralscope.batch.types import Outcome
from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.options import plain_options
from moralscope.core.records import ModelRef, to_plain
from moralscope.models.language import steer_model
from moralscope.models.store import Progress
from moralscope.stats.gates import parse_gate
from moralscope.surveys.asking import wordings
from moralscope.surveys.items import COLUMNS, Dilemma, Statement, item_columns, parse_item
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.populations import PeopleTotals
from moralscope.surveys.priorities import PriorityTotals, priorities
from moralscope.surveys.questionnaire import StatementFigures
from moralscope.surveys.statistics import ItemFigures, likeliest
from moralscope.surveys.survey import (
    DILEMMAS,
    GATED,
    INTERVAL,
    NOT_DEEDS,
    QUESTIONNAIRE,
    SurveyStatistics,
    ask_items,
    figure_warnings,
    figures_of,
    gate_of,
    load_speaker,
    totals_of,
)

# What an item is, the parts carry from the input.
_CARRIED = ("model", "id", "situation", "actions", "better", "statement", "subscale", "scale")
_ROWS: Mapping[str, Any] = {DILEMMAS: ItemFigures, QUESTIONNAIRE: StatementFigures}


class SurveyBatch(BatchJob):
    """Puts the dilemmas, or the statements, of a corpus to one language model.

    Which columns the input has (`header`) says what is read, and whether it holds dilemmas or
    statements. `choice` is the number of the likeliest action.
    """

    name = "survey"

    def __init__(
        self,
        options: SurveyOptions,
        columns: Columns | None = None,
        header: Sequence[str] | None = None,
    ) -> None:
        if len(options.models) > 1 or options.free or options.pressure or options.limit:
            problem = "a corpus works with one model, without --free, --pressure and --limit"
            remedy = "name one --model, and leave --free, --pressure and --limit out"
            raise InputError(problem, remedy)
        self.options = options
        self.columns = columns or {}
        if header is None:
            header = [self.theirs(name) for name in COLUMNS if name != "statement"]
        read = item_columns(header, self.columns)
        self._reads = tuple(dict.fromkeys([*read, *(n for n in self.columns if n != "id")]))
        renamed = {ours: theirs for ours, theirs in read.items() if ours != theirs}
        self.columns = {**self.columns, **renamed}
        self.kind = QUESTIONNAIRE if "statement" in self.reads else DILEMMAS
        if options.gate is not None:
            parse_gate(options.gate, GATED[self.kind])

    @property
    def reads(self) -> tuple[str, ...]:
        return self._reads

    @property
    def needed(self) -> tuple[str, ...]:
        if self.kind == QUESTIONNAIRE:
            return ("statement",)
        if "context" not in self.reads:
            return ("situation", "action1", "action2")
        if "situation" not in self.reads:
            return ("context", "action1", "action2")
        return ("action1", "action2")  # a row may have either

    @property
    def light(self) -> bool:
        return self.options.models[0].startswith("scripted")

    @property
    def slow(self) -> bool:
        return not self.light

    def prepare(self, progress: Progress | None = None) -> Prepared:
        """Load the model once and find the form in which it is asked."""
        options = self.options
        model = steer_model(load_speaker(options.models[0], options, progress), options.steer)
        asking = Asking.of(model, options.form)
        config = {
            "kind": self.kind,
            "models": [model.name],
            "asked": {model.name: asking.form},
            "forms": list(options.forms),
            "wordings": options.wordings,
        }
        questions = sha256(repr(wordings()).encode()).hexdigest()
        seeded = {"seed": options.seed}
        return Prepared(
            state=None,
            writes=self._writes(),
            decides={**config, "questions": questions, "model": model.checksum, **seeded},
            config={**config, "interval": INTERVAL, "options": plain_options(options)},
            models=model.refs or (ModelRef(model.name, model.checksum),),
            warnings=[NOT_DEEDS, *(f"{model.name}: {line}" for line in model.warnings)],
        )

    def _writes(self) -> pa.Schema:
        """Return the columns of a part: the fields of a row that the input does not have."""
        schema = arrow_schema(_ROWS[self.kind], (*_CARRIED, "by_form"))
        if self.kind == DILEMMAS:
            schema = schema.insert(0, pa.field("choice", pa.int64()))
        return schema.append(pa.field("questions", pa.int64()))

    def load(self, state: Any) -> None:
        """Load the model of a worker."""
        options = self.options
        model = steer_model(load_speaker(options.models[0], options), options.steer)
        self._asking = Asking.of(model, self.options.form)

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Ask about the items of a batch."""
        names = [name for name in self.reads if self.theirs(name) in batch]
        cells = [batch[self.theirs(name)] for name in names]
        rows = [dict(zip(names, values, strict=True)) for values in zip(*cells, strict=True)]
        items = read_each(rows, _item)
        answers = ask_items(self._asking, items, self.options)
        figures = [
            figures_of(self._asking.model.name, item, some, self.options.seed)
            for item, some in zip(items, answers, strict=True)
        ]
        columns: dict[str, list[Any]] = {}
        for name in self._writes().names:
            if name == "choice":
                columns[name] = [
                    likeliest(row.likelihoods, item) + 1  # type: ignore[union-attr, arg-type]
                    for row, item in zip(figures, items, strict=True)
                ]
            elif name == "questions":
                columns[name] = [len(some) for some in answers]
            else:
                columns[name] = [to_plain(getattr(row, name)) for row in figures]
        return columns

    def sum_up(self, parts: Parts, prepared: Prepared, outcome: Outcome) -> SurveyStatistics:
        """Return the figures of the one-file path, from rows that are read one part at a time."""
        [model] = prepared.config["models"]
        totals = totals_of(self.kind)
        put_first, near = PriorityTotals(), PeopleTotals()
        for table in parts.tables(parts.known(*prepared.writes.names)):
            for cells in table.to_pylist():
                item = parse_item({name: parts.cell(cells, name) for name in self.reads}, 1)
                about = {name: getattr(item, name, None) for name in _CARRIED}
                about |= {"model": model, "statement": getattr(item, "text", ""), "by_form": {}}
                figures = {name: cells[name] for name in prepared.writes.names}
                row = decode(_ROWS[self.kind], figures | about, "a part")
                totals.add(row, item, cells["questions"])
                near.add(row, item)
                if self.options.priorities:
                    put_first.add(row, item)
        sums = {model: totals.figures()}
        wanted = self.options.priorities and bool(put_first.items_at_stake)
        closeness = near.figures()
        return SurveyStatistics(
            models=sums,
            priorities=priorities({model: put_first}, self.options.seed)[0] if wanted else None,
            people={model: closeness} if closeness else None,
            gate=gate_of(self.options, self.kind, sums),
            corpus=outcome,
            failed=parts.failed(),
        )

    def notes(self, statistics: Mapping[str, Any]) -> list[str]:
        """Return what has to be said beside the figures."""
        return [
            line
            for name, figures in statistics["models"].items()
            for line in figure_warnings(name, figures)
        ]


def _item(cells: Mapping[str, Any]) -> Dilemma | Statement:
    try:
        return parse_item(cells, 1)
    except InputError as error:
        raise ValueError(error.problem) from None
