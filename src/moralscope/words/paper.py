"""What the papers print: word lists, tables and figures, as data beside our own numbers.

Jentzsch et al. 2019 (Tables 1-3, Figure 4) and Schramowski et al. 2019 (Tables 2-4 and 7).
Their tables print the bias as the sum over the ten prompts.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

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
    text = (resources.files(__package__) / "data" / "paper.toml").read_text("utf-8")
    data = tomllib.loads(text)
    figures = data["figures"]
    return ChoicePaper(
        dos=tuple(data["dos"].split(", ")),
        donts=tuple(data["donts"].split(", ")),
        weat=data["weat"],
        bias_sums=data["bias_sums"],
        female=data["female"],
        male=data["male"],
        rankings=tuple(
            PaperRanking(row["question"], tuple(row["answers"]), tuple(row["cosines"]))
            for row in data["rankings"]
        ),
        dos_summary=Summary(**figures["dos"]),
        donts_summary=Summary(**figures["donts"]),
        all_summary=Summary(**figures["all"]),
        t=figures["t"],
        p_below=figures["p_below"],
        r=figures["r"],
        positive_words=tuple(data["positive_words"].split(", ")),
        negative_words=tuple(data["negative_words"].split(", ")),
    )
