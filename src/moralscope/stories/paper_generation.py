"""What the paper prints about generation, as data to set beside our figures.

Emelin et al. 2021, Tables 4-6 (BLEU, ROUGE-L, diversity, people), 11, 12, 15-17 and 19. Table 18
is the task table (`tasks.py`).
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class PaperText:
    """One printed row: a setting (our `task`, or our `recipe`), and what it reached.

    `people` holds [total, moral, immoral] by criterion, [total] for norms; empty in Tables 15-17.
    """

    table: int
    setting: str
    bleu: float
    rouge_l: float
    model: str = ""
    task: str = ""
    recipe: str = ""
    diversity: float | None = None
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
    """Return the printed figures.

    Examples
    --------
    >>> paper = load_generation_paper()
    >>> [(row.name, row.rouge_l) for row in paper.beside("action-ranking")]
    [('CoE ranking', 29.23)]
    >>> paper.table(4)[3].people["norm"]
    (0.89, 0.92, 0.86)
    """
    text = resources.files("moralscope.stories").joinpath("data/paper_generation.toml")
    data = tomllib.loads(text.read_text("utf-8"))
    return GenerationPaper(
        rows=tuple(_row(row) for row in data["rows"]),
        reference_diversity=data["reference_diversity"],
        rated=data["samples"]["rated"],
        raters=data["samples"]["raters"],
        hyper_parameters=data["hyper_parameters"],
        sizes={task: tuple(counts) for task, counts in data["sizes"].items()},
        components=data["components"],
    )


def _row(row: dict[str, object]) -> PaperText:
    people = row.pop("people", None)
    if isinstance(people, dict):
        people = {criterion: tuple(values) for criterion, values in people.items()}
    return PaperText(**row, people=people)  # type: ignore[arg-type]
