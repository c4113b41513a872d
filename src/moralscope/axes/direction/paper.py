"""What Schramowski et al. 2019 print: actions, tables and figures, as data beside our own numbers.

In Table 9 the good actions have m < 0; `CompassPaper` keeps the printed sign.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from moralscope.core.decode import decode
from moralscope.io.documents import shipped_toml
from moralscope.stats.summary import Summary


@dataclass(frozen=True, slots=True)
class PaperBias:
    """Printed mean biases of one encoder: the top ten dos and don'ts (Tables 7 and 8)."""

    dos: Mapping[str, float]
    donts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PaperProjection:
    """Printed projections m of one encoder (Table 9); m < 0 is good."""

    atomic: Mapping[str, float]
    contextual: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """Mean biases of dos, don'ts and both, and their correlation with WEAT (Figure 2)."""

    dos: Summary
    donts: Summary
    all: Summary
    r: float
    p: float


@dataclass(frozen=True, slots=True)
class CompassPaper:
    """The printed lists and tables of the Moral Compass, by encoder: `use` and `bert`."""

    atomic: tuple[str, ...]
    contextual: tuple[str, ...]
    figures: Mapping[str, PaperFigure]
    table7: Mapping[str, PaperBias]
    table8: Mapping[str, PaperBias]
    table9: Mapping[str, PaperProjection]


@cache
def load_paper() -> CompassPaper:
    """Return the paper's printed lists and tables."""
    data = shipped_toml("moralscope.axes.direction", "paper.toml")
    data["atomic"] = data["atomic"].split(", ")
    return decode(CompassPaper, data, "paper.toml")
