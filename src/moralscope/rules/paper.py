"""What Ziems et al. 2022 print: Tables 1 to 4 and the reliability of Figure 2. Computes nothing."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from moralscope.rules.records import FOUNDATIONS

AUTOMATIC = ("R-1", "R-2", "R-L", "BLEU", "BScore", "Avg. Len")
PEOPLE = ("Well-Formed", "Fluent", "Relevant")
ATTRIBUTES = (
    *(f"{name} {of}" for name in ("severity", "consensus") for of in ("r", "MSE")),
    "alignment F1",
    *(f"{name} F1" for name in FOUNDATIONS),
)
FILTERS = tuple(f"{name} {of}" for name in ("sufficient", "moral") for of in ("P", "R", "F1"))

Table = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class IntegrityPaper:
    """The printed figures: `tables["Table 1"][row][column]`, reliability by attribute.

    `shares` says how many annotations name each foundation.
    """

    tables: Mapping[str, Table]
    figure2: Table
    shares: Mapping[str, float]
    corpus: Mapping[str, int]
    notes: Mapping[str, str]

    def printed(self, table: str, row: str, column: str) -> float | None:
        """Return a cell, or None where the paper has none.

        Examples
        --------
        >>> load_paper().printed("Table 1", "T-5, beam", "R-L")
        52.62
        """
        return self.tables.get(table, {}).get(row, {}).get(column)


@cache
def load_paper() -> IntegrityPaper:
    """Return the printed figures.

    Examples
    --------
    >>> load_paper().tables["Table 4"]["GPT-Neo"]["moral F1"], load_paper().figure2["care"]["alpha"]
    (55.6, 0.34)
    """
    text = (resources.files(__package__) / "data" / "paper.toml").read_text("utf-8")
    data = tomllib.loads(text)
    generation = (*AUTOMATIC, *PEOPLE)
    tables = {
        "Table 1": _named(generation, data["table1"]) | _named(PEOPLE, data["human"]),
        "Table 2": _named(generation, data["table2"]),
        "Table 3": _named(ATTRIBUTES, data["table3"]),
        "Table 4": _named(FILTERS, data["table4"]),
    }
    corpus = {name: value for name, value in data["corpus"].items() if isinstance(value, int)}
    figure2 = _named(("alpha", "ICC(1, k)"), data["figure2"])
    return IntegrityPaper(tables, figure2, data["shares"], corpus, data["notes"])


def _named(
    columns: Sequence[str], rows: Mapping[str, Sequence[float]]
) -> dict[str, dict[str, float]]:
    return {name: dict(zip(columns, values, strict=True)) for name, values in rows.items()}
