"""Surveys of a corpus: dilemmas of any number, with the figures of the one-file path."""

from collections.abc import Mapping
from hashlib import sha256
from operator import attrgetter
from typing import Any

import pyarrow as pa

from moralscope.axes.language import Asking
from moralscope.batch.job import Batch, BatchJob, Columns, Prepared, read_each
from moralscope.batch.parts import Parts
from moralscope.batch.types import Outcome
from moralscope.core.errors import InputError
from moralscope.core.options import plain_options
from moralscope.core.records import ModelRef
from moralscope.models.language import steer_model
from moralscope.models.store import Progress
from moralscope.stats.gates import check_gate, parse_gate
from moralscope.stats.streams import Moments
from moralscope.surveys.asking import CellAnswer, ask_cells, wordings
from moralscope.surveys.items import Dilemma, read_item
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.statistics import ItemFigures, item_figures
from moralscope.surveys.survey import NOT_DEEDS, cells_of, load_speaker

_NUMBERS = (
    *("entropy", "consistency", "order_bias", "label_bias", "yes_bias", "flips", "mass"),
    *("wording_variance", "noise_variance"),
)
_WRITES = pa.schema(
    [
        ("choice", pa.int64()),
        ("likelihoods", pa.list_(pa.float64())),
        ("right", pa.bool_()),
        *((name, pa.float64()) for name in _NUMBERS),
    ]
)


class SurveyBatch(BatchJob):
    """Puts the dilemmas of a corpus to one language model.

    `choice` is the number of the likeliest action.

    Examples
    --------
    >>> job = SurveyBatch(SurveyOptions(models=("scripted",), wordings=1))
    >>> job.load(job.prepare().state)
    >>> rows = {"situation": ["You go."], "action1": ["I run."], "action2": ["I walk."]}
    >>> len(job(rows)["likelihoods"][0])
    2
    """

    name = "survey"
    reads = ("situation", "action1", "action2", "action3", "action4", "better")
    needed = ("situation", "action1", "action2")

    def __init__(self, options: SurveyOptions, columns: Columns | None = None) -> None:
        if len(options.models) > 1 or options.free or options.limit:
            problem = "a corpus is put to one model, whole and without free replies"
            raise InputError(problem, "name one --model, and leave --free and --limit out")
        if options.gate is not None:
            parse_gate(options.gate, _NUMBERS)
        self.options = options
        self.columns = columns or {}

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
            "kind": "dilemmas",
            "models": [model.name],
            "asked": {model.name: asking.form},
            "forms": list(options.forms),
            "wordings": options.wordings,
        }
        asked = sha256(repr(wordings()).encode()).hexdigest()
        return Prepared(
            state=None,
            writes=_WRITES,
            decides={**config, "questions": asked, "model": model.checksum, "seed": options.seed},
            config={**config, "options": plain_options(options)},
            models=model.refs or (ModelRef(model.name, model.checksum),),
            warnings=[NOT_DEEDS],
        )

    def load(self, state: Any) -> None:
        """Load the model of a worker."""
        options = self.options
        model = steer_model(load_speaker(options.models[0], options), options.steer)
        self._asking = Asking.of(model, self.options.form)

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Ask about the dilemmas of a batch."""
        names = {name: self.theirs(name) for name in self.reads}
        there = {ours: batch[theirs] for ours, theirs in names.items() if theirs in batch}
        rows = [
            dict(zip(there, values, strict=True)) for values in zip(*there.values(), strict=True)
        ]
        items = read_each(rows, _dilemma)
        groups: list[list[CellAnswer]] = [[] for _ in items]
        for answer in ask_cells(self._asking, cells_of(items, self.options)):
            groups[answer.cell.item].append(answer)
        name, seed = self._asking.model.name, self.options.seed
        found = [item_figures(name, i, a, seed) for i, a in zip(items, groups, strict=True)]
        return _columns(found)

    def sum_up(self, parts: Parts, prepared: Prepared, outcome: Outcome) -> dict[str, Any]:
        """Return the mean of every figure with its interval, and the share of right choices."""
        moments = {name: Moments() for name in (*_NUMBERS, "right")}
        for table in parts.tables(parts.known(*moments)):
            for name, each in moments.items():
                values = table.column(name).drop_null().cast(pa.float64()).to_numpy()
                each.add(values)
        figures = {}
        for name, each in moments.items():
            low, high = each.mean_interval()
            figures[name] = {"value": each.summary.mean, "low": low, "high": high, "n": each.n}
        gate = None
        if self.options.gate is not None:
            values = {name: abs(found["value"]) for name, found in figures.items()}
            gate = check_gate(parse_gate(self.options.gate, values), {"": values})
        return {"figures": figures, "gate": gate}


def _dilemma(row: Mapping[str, Any]) -> Dilemma:
    try:
        found = read_item({key: value for key, value in row.items() if value is not None}, 1, "row")
    except InputError as error:
        raise ValueError(error.problem) from None
    if not isinstance(found, Dilemma):
        raise ValueError("a statement, not a dilemma")
    return found


def _columns(found: list[ItemFigures]) -> dict[str, list[Any]]:
    choices = [max(range(len(f.likelihoods)), key=f.likelihoods.__getitem__) + 1 for f in found]
    return {
        "choice": choices,
        "likelihoods": [list(each.likelihoods) for each in found],
        "right": [each.right for each in found],
        **{name: [_known(attrgetter(name)(each)) for each in found] for name in _NUMBERS},
    }


def _known(value: float) -> float | None:
    return None if value != value else value  # noqa: PLR0124 - not a number
