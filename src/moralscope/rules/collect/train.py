"""Train the two filters of `collect` on labelled replies, as in appendix B of Ziems et al. 2022.

Labelled CSV → 60-20-20 by prompt → the one trainer → a folder that `collect --filters` takes. Dev
chooses the epoch and the learning rate; the figures are those of the test part.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options
from moralscope.core.records import RunRecord
from moralscope.io.tables import parse_columns
from moralscope.models.store import Progress
from moralscope.models.training.cards import CardText
from moralscope.models.training.heads import Head
from moralscope.models.training.recipe import Recipe, chosen_recipe
from moralscope.models.training.records import Report
from moralscope.models.training.trainer import Summary, TrainedModel, TrainingData, train_model
from moralscope.rules.collect.filter_training import (
    LabelledExchange,
    filter_examples,
    measure_filter,
    read_labelled,
    share_out,
)
from moralscope.rules.collect.filters import TASKS
from moralscope.rules.options import FilterTrainOptions

FILTERS = "filters"


@dataclass(frozen=True, kw_only=True)
class FilterRecipe(Recipe):
    """A recipe for filters."""

    PACKAGE: ClassVar[str] = "moralscope.rules"


def train_filters(
    options: FilterTrainOptions | None = None,
    *,
    report: Report | None = None,
    progress: Progress | None = None,
    **given: Any,
) -> RunRecord:
    """Train both filters in one network, write them, and say how well they do on test.

    Parameters
    ----------
    options
        `FilterTrainOptions`, or its fields as keywords: labelled, to, recipe, settings, …
    report, progress
        Told where the run stands, and the bytes of a download.

    Raises
    ------
    InputError
        Broken lines (by number), too few labels, or a folder of other things.
    """
    chosen = chosen_options(FilterTrainOptions, options, given)
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

    def data(self, recipe: Recipe) -> TrainingData:
        """Return the replies of train, dev and test, no prompt in two of them."""
        rows = read_labelled(self.labelled, self.columns)
        parts = share_out(rows[: recipe.limit], recipe.seed)
        heads = {task: Head(labels) for task, labels in TASKS.items()}
        examples = {part: filter_examples(own) for part, own in parts.items()}
        return TrainingData(examples, heads, counts={"parts": parts})

    def summary(self, trained: TrainedModel) -> Summary:
        """Tell precision, recall and F1 of the test part, in all and by chatbot (Table 4)."""
        parts: Mapping[str, list[LabelledExchange]] = trained.data.counts["parts"]
        rows = [row for own in parts.values() for row in own]
        figures = _table_4(trained, parts["test"])
        statistics = {
            "parts": {part: len(own) for part, own in parts.items()},
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
            table=_card_table(figures),
            facts={"metrics": figures},
        )
        return Summary({"dev": trained.history.best_evaluation}, card, statistics, figures)


def _table_4(trained: TrainedModel, rows: Sequence[LabelledExchange]) -> list[dict[str, Any]]:
    told = [
        bool(logits.argmax()) for logits in trained.learner.on(filter_examples(rows)).dev_logits()
    ]
    chatbots = sorted({row.chatbot for row in rows if row.chatbot})
    found: list[dict[str, Any]] = []
    for place, task in enumerate(TASKS):
        answers = told[place :: len(TASKS)]
        for chatbot in ("", *(chatbots if len(chatbots) > 1 else ())):
            own = [at for at, row in enumerate(rows) if chatbot in ("", row.chatbot)]
            gold = [rows[at].labels[task] for at in own]
            measured = measure_filter(gold, [answers[at] for at in own], trained.recipe.seed)
            found.append({"task": task, "chatbot": chatbot or "all", **asdict(measured)})
    return found


def _card_table(figures: Sequence[Mapping[str, Any]]) -> str:
    lines = ["| task | chatbot | precision | recall | F1 | replies |", "|---" * 6 + "|"]
    lines += [
        f"| {row['task']} | {row['chatbot']} | {row['precision']:.1f} | {row['recall']:.1f} "
        f"| {row['f1']:.1f} ({row['low']:.1f} … {row['high']:.1f}) | {row['n']} |"
        for row in figures
    ]
    return "\n".join(lines)
