"""What the papers print: word lists, tables and figures, as data beside our own numbers.

Jentzsch et al. 2019 (Tables 1-3, Figure 4) and Schramowski et al. 2019 (Tables 2-4 and 7).
Their tables print the bias as the sum over the ten prompts.
"""

from dataclasses import dataclass
from functools import cache

from moralscope.core.decode import decode
from moralscope.io.documents import shipped_toml
from moralscope.stats.summary import Summary


@dataclass(frozen=True, slots=True)
class PaperRanking:
    """A question of Table 3 with its answers and their printed cosines."""

    question: str
    answers: tuple[str, ...]
    cosines: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChoicePaper:
    """The printed lists and figures of the Moral Choice Machine."""

    dos: tuple[str, ...]
    donts: tuple[str, ...]
    weat: dict[str, float]
    bias_sums: dict[str, float]
    female: dict[str, float]
    male: dict[str, float]
    rankings: tuple[PaperRanking, ...]
    dos_summary: Summary
    donts_summary: Summary
    all_summary: Summary
    t: float
    p_below: float
    r: float
    positive_words: tuple[str, ...]
    negative_words: tuple[str, ...]


@cache
def load_paper() -> ChoicePaper:
    """Return the papers' printed lists and figures."""
    data = shipped_toml("moralscope.words", "paper.toml")
    figures = data.pop("figures")
    figures |= {f"{side}_summary": figures.pop(side) for side in ("dos", "donts", "all")}
    lists = ("dos", "donts", "positive_words", "negative_words")
    words = {name: data.pop(name).split(", ") for name in lists}
    return decode(ChoicePaper, {**data, **figures, **words}, "paper.toml")
