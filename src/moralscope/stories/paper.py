"""What Emelin et al. 2021 print: data and classifiers (Tables 1-3, 7-10, 13, 14), generation.

Tables 4-6 (BLEU, ROUGE-L, diversity, people), 11, 12, 15-17 and 19 are about generation; Table 18
is the task table (`tasks.py`). Settings bear the names of the task table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from moralscope.core.decode import decode
from moralscope.core.registry import require_known
from moralscope.io.documents import shipped_toml
from moralscope.stories.options import PARTS, SPLITS

_LEARNING_RATE = 1e-5  # of every cell of Table 14
_TRAINED = ("batch_size", "epochs")


@dataclass(frozen=True, slots=True)
class PaperText:
    """One printed row: a setting (our `task`, or our `recipe`), and what it reached."""

    table: int
    setting: str
    bleu: float
    rouge_l: float
    model: str = ""
    task: str = ""
    recipe: str = ""
    diversity: float | None = None
    # By criterion (total, moral, immoral), (total) for norms; None in Tables 15-17.
    people: Mapping[str, tuple[float, ...]] | None = None

    @property
    def name(self) -> str:
        """The setting with its model."""
        return f"{self.setting} ({self.model})" if self.model else self.setting


@dataclass(frozen=True, slots=True)
class GenerationPaper:
    """Every table about generation, and what the models were trained with."""

    rows: tuple[PaperText, ...]
    reference_diversity: float
    rated: int
    raters: int
    hyper_parameters: Mapping[str, float]
    sizes: Mapping[str, tuple[int, ...]]
    components: Mapping[str, Mapping[str, str]]

    def table(self, number: int) -> tuple[PaperText, ...]:
        """Return the rows of one table in their order."""
        return tuple(row for row in self.rows if row.table == number)

    def beside(self, strategy: str) -> tuple[PaperText, ...]:
        """Return the rows for a task or recipe of ours, best model first."""
        return tuple(row for row in self.rows if strategy in (row.task, row.recipe))


@cache
def load_generation_paper() -> GenerationPaper:
    """Return the printed figures."""
    values = shipped_toml("moralscope.stories", "paper_generation.toml")
    return decode(GenerationPaper, {**values, **values["samples"]}, "paper_generation.toml")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class StoriesPaper:
    """The printed figures: `metrics[part][metric][task][split]`, `table1[split][part]`, ..."""

    metrics: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
    table1: Mapping[str, Mapping[str, float]]
    table7: Mapping[str, float]
    table10: Mapping[str, Mapping[str, int]]
    table14: Mapping[str, Mapping[str, Mapping[str, int]]]

    def training(self, task: str, split: str) -> list[str]:
        """Return a cell of Table 14 as what `stories train --recipe paper --set` takes."""
        require_known(task, self.table14, f"Table 14 has no '{task}'")
        require_known(split, SPLITS, f"there is no split '{split}'")
        row = self.table14[task]
        settings = {"learning_rate": _LEARNING_RATE, **{k: row[k][split] for k in _TRAINED}}
        return [f"{name}={value}" for name, value in settings.items()]

    def printed(self, part: str, metric: str, task: str, split: str) -> float | None:
        """Return a cell of Tables 2, 3, 8 or 9, or None where the paper has none."""
        return self.metrics.get(part, {}).get(metric, {}).get(task, {}).get(split)


@cache
def load_paper() -> StoriesPaper:
    """Return the printed figures."""
    data = shipped_toml("moralscope.stories", "paper.toml")
    return StoriesPaper(
        metrics={
            part: {
                metric: {task: _named(SPLITS, row) for task, row in table.items()}
                for metric, table in data[part].items()
            }
            for part in ("dev", "test")
        },
        table1={name: _named(PARTS, row) for name, row in data["table1"].items()},
        table7=data["table7"],
        table10={name: _named(PARTS, row) for name, row in data["table10"].items()},
        table14={
            task: {name: _named(SPLITS, values) for name, values in row.items()}
            for task, row in data["table14"].items()
        },
    )


def _named(names: tuple[str, ...], values: list[T]) -> dict[str, T]:
    return dict(zip(names, values, strict=True))


@cache
def paper_topics() -> Mapping[str, tuple[str, ...]]:
    """Return Table 13: five words a topic."""
    topics = shipped_toml("moralscope.stories", "topics.toml")
    return {topic: tuple(words) for topic, words in topics.items()}
