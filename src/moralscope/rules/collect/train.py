"""Train the two filters of `collect` on labelled replies, as in appendix B of Ziems et al. 2022.

Labelled CSV → 60-20-20 by prompt → the one trainer → a folder that `collect --filters` takes. Two
people judge a reply; it is sufficient where both say so, and has moral content where either does.
Dev chooses the epoch and the learning rate; the figures are those of the test part (Table 4).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options
from moralscope.core.protocols import Bools, Floats
from moralscope.core.records import RunRecord
from moralscope.io.tables import TableFile, parse_columns, rename_columns
from moralscope.models.store import Progress
from moralscope.models.training.cards import CardText
from moralscope.models.training.heads import Head
from moralscope.models.training.recipe import TrainingRecipe, chosen_recipe
from moralscope.models.training.records import Report, TrainingExample
from moralscope.models.training.trainer import (
    TrainedModel,
    TrainingData,
    TrainingSummary,
    train_model,
)
from moralscope.rules.annotations.reading import LAYOUT, LIMITS, PARTS
from moralscope.rules.collect.chatbots import seed_of
from moralscope.rules.collect.filters import MORAL_CONTENT, SUFFICIENCY, TASKS
from moralscope.rules.collect.options import FilterTrainOptions
from moralscope.rules.records import Exchange
from moralscope.rules.texts.sanitize import clean
from moralscope.stats.intervals import percentile_interval, resample_weights

FILTERS = "filters"
_CARD_HEAD = ("| task | chatbot | precision | recall | F1 | replies |", "|---" * 6 + "|")
_CARD_ROW = (
    "| {task} | {chatbot} | {precision:.1f} | {recall:.1f} | {f1:.1f} ({low:.1f} … {high:.1f}) "
    "| {n} |"
)
_NEEDED = ("prompt", "reply", "sufficient", "moral")
COLUMNS = {name: name for name in (*_NEEDED, "chatbot")}
_VOTES = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_REMEDY = "write 0 or 1, or one vote per person like 1|0"
_HELD_OUT = 5  # one prompt in so many is dev, and as many are test
_RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class LabelledExchange:
    """An exchange, what people said of its reply, and which chatbot gave it."""

    exchange: Exchange
    labels: Mapping[str, bool]  # by task
    chatbot: str = ""


@dataclass(frozen=True, slots=True)
class FilterResult:
    """Macro precision, recall and F1, in percent, of a filter on one chatbot's replies, or all."""

    task: str
    chatbot: str
    precision: float
    recall: float
    f1: float
    low: float  # of the 95 % interval of F1
    high: float
    n: int


def read_labelled(path: Path, columns: Mapping[str, str] | None = None) -> list[LabelledExchange]:
    """Read a CSV file with the columns prompt, reply, sufficient, moral and, if known, chatbot."""
    table = TableFile(
        path,
        kind=".csv",
        columns=rename_columns(COLUMNS, columns, path),
        layout=LAYOUT,
        limits=LIMITS,
    )
    rows = []
    for line, cells in table.good_rows(_NEEDED):
        votes = {
            name: [_VOTES.get(vote.strip().lower()) for vote in cells[name].split("|")]
            for name in ("sufficient", "moral")
        }
        wrong = [name for name, given_votes in votes.items() if None in given_votes]
        if wrong:
            table.note(line, f"has no vote under '{wrong[0]}'")
            continue
        exchange = Exchange(cells["prompt"], cells["reply"], str(line))
        labels = {SUFFICIENCY: all(votes["sufficient"]), MORAL_CONTENT: any(votes["moral"])}
        chatbot = clean(cells.get("chatbot", "")).replace("|", "/")[:60]
        rows.append(LabelledExchange(exchange, labels, chatbot))
    table.check(_REMEDY)
    return rows


def share_out(rows: Sequence[LabelledExchange], seed: int = 0) -> dict[str, list[LabelledExchange]]:
    """Return train, dev and test; every part must hold both labels of both tasks."""
    prompts = sorted({clean(row.exchange.prompt).casefold() for row in rows})
    prompts.sort(key=lambda prompt: seed_of(prompt, seed))
    held = max(1, round(len(prompts) / _HELD_OUT))
    groups = {prompt: at // held for at, prompt in enumerate(prompts)}
    parts: dict[str, list[LabelledExchange]] = {part: [] for part in PARTS}
    for row in rows:
        at = groups[clean(row.exchange.prompt).casefold()]
        parts["test" if at == 0 else "dev" if at == 1 else "train"].append(row)
    for part, members in parts.items():
        for task, labels in TASKS.items():
            if len({row.labels[task] for row in members}) < len(labels):
                raise InputError(
                    f"the {part} part has no reply of each label of {task}",
                    "give more labelled replies, of both kinds",
                )
    return parts


def filter_examples(rows: Sequence[LabelledExchange]) -> list[TrainingExample]:
    """Return a lesson a task for each reply; on dev both labels of a task weigh the same."""
    return [
        TrainingExample(
            task,
            (row.exchange.prompt, row.exchange.reply),
            int(row.labels[task]),
            group=f"{task}: {labels[row.labels[task]]}",
        )
        for row in rows
        for task, labels in TASKS.items()
    ]


def measure_filter(
    gold: Sequence[bool],
    answers: Sequence[bool],
    seed: int = 0,
    *,
    task: str = "",
    chatbot: str = "all",
) -> FilterResult:
    """Return macro precision, recall and F1 over the two labels, as in Table 4."""
    true, said = np.asarray(gold, dtype=bool), np.asarray(answers, dtype=bool)
    n = len(true)
    precision, recall, f1 = _macro(true, said, np.full((1, n), 1 / n))[:, 0].tolist()
    low, high = percentile_interval(_macro(true, said, resample_weights(n, _RESAMPLES, seed))[2:])
    return FilterResult(task, chatbot, precision, recall, f1, float(low[0]), float(high[0]), n)


def _macro(gold: Bools, answers: Bools, weights: Floats) -> Floats:
    """Return precision, recall and F1 in percent, a column for each row of weights."""
    measures = []
    for true, told_true in ((gold, answers), (~gold, ~answers)):
        right, said, there = (weights @ flags for flags in (true & told_true, told_true, true))
        halves = (right / np.maximum(total, 1e-12) for total in (said, there, (said + there) / 2))
        measures.append(list(halves))
    return np.asarray(100.0 * np.mean(measures, axis=0))


@dataclass(frozen=True, kw_only=True)
class FilterRecipe(TrainingRecipe):
    """A recipe for filters."""

    PACKAGE: ClassVar[str] = "moralscope.rules"


def train_filters(
    options: FilterTrainOptions | None = None,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> RunRecord:
    """Train both filters in one network, write them, and say how well they do on test.

    `options` are `FilterTrainOptions`, or its fields as keywords; `report` is told where the run
    stands, `progress` the bytes of a download.
    """
    chosen = chosen_options(FilterTrainOptions, options, changes)
    recipe = chosen_recipe(FilterRecipe, chosen, FILTERS)
    if recipe.task != FILTERS:
        raise InputError(f"recipe '{recipe.name}' is not for filters", "give another --recipe")
    source = FilterSource(chosen.labelled, parse_columns(chosen.columns))
    return train_model(
        recipe, source, chosen.to, base_is=chosen.base_is, report=report, progress=progress
    )


@dataclass(frozen=True, slots=True)
class FilterSource:
    """Labelled replies, each an example of both tasks."""

    labelled: Path
    columns: Mapping[str, str] = field(default_factory=dict)
    job: str = "collect-train"

    @property
    def words(self) -> list[str]:
        """The command that does the same again, less its recipe."""
        return [f"moralscope collect-train {self.labelled.name}"]

    @property
    def files(self) -> dict[str, Any]:
        """The file that was named, for the run record."""
        return {"source": str(self.labelled), "columns": dict(self.columns)}

    def data(self, recipe: TrainingRecipe) -> TrainingData:
        """Return the replies of train, dev and test, no prompt in two of them."""
        parts = share_out(read_labelled(self.labelled, self.columns)[: recipe.limit], recipe.seed)
        heads = {task: Head(labels) for task, labels in TASKS.items()}
        examples = {part: filter_examples(members) for part, members in parts.items()}
        return TrainingData(examples, heads, counts={"parts": parts})

    def summary(self, trained: TrainedModel) -> TrainingSummary:
        """Tell precision, recall and F1 of the test part, in all and by chatbot (Table 4)."""
        parts: Mapping[str, list[LabelledExchange]] = trained.data.counts["parts"]
        rows = [row for members in parts.values() for row in members]
        figures = _table_4(trained, parts["test"])
        statistics = {
            "parts": {part: len(members) for part, members in parts.items()},
            "labels": {
                task: dict(Counter(labels[row.labels[task]] for row in rows))
                for task, labels in TASKS.items()
            },
            "dev": trained.history.best_evaluation,
        }
        card = CardText(
            "Filters of chatbot replies",
            "is a reply sufficient for its prompt, has it moral content",
            [f"{len(rows)} labelled replies of {self.labelled.name}"],
            "Shared out 60-20-20 by prompt; dev chose the epoch",
            "test part; macro precision, recall and F1 in percent, F1 with its 95 % interval",
            "They filter what is worth annotating; they judge nobody.",
            table="\n".join([*_CARD_HEAD, *(_CARD_ROW.format_map(asdict(row)) for row in figures)]),
            facts={"metrics": [asdict(row) for row in figures]},
        )
        return TrainingSummary({"dev": trained.history.best_evaluation}, card, statistics, figures)


def _table_4(trained: TrainedModel, rows: Sequence[LabelledExchange]) -> list[FilterResult]:
    answers = [
        bool(logits.argmax()) for logits in trained.learner.on(filter_examples(rows)).dev_logits()
    ]
    chatbots = sorted({row.chatbot for row in rows if row.chatbot})
    figures = []
    for column, task in enumerate(TASKS):
        of_task = answers[column :: len(TASKS)]
        for chatbot in ("", *(chatbots if len(chatbots) > 1 else ())):
            indices = [at for at, row in enumerate(rows) if chatbot in ("", row.chatbot)]
            gold = [rows[at].labels[task] for at in indices]
            answered = [of_task[at] for at in indices]
            seed, name = trained.recipe.seed, chatbot or "all"
            figures.append(measure_filter(gold, answered, seed, task=task, chatbot=name))
    return figures
