"""Rate dos and don'ts by a valence lexicon and return a run record."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.io.actions import read_actions
from moralscope.words.extraction import DO, DONT
from moralscope.words.paper import load_paper
from moralscope.words.valence import (
    PAPER,
    RatedWord,
    ValenceLexicon,
    load_valence,
    validate_lists,
)


def validate(
    dos: Path | None = None,
    donts: Path | None = None,
    *,
    valence: Path | None = None,
    seed: int = 0,
) -> RunRecord:
    """Compare the valence of two lists of words, by default the papers' printed lists.

    Parameters
    ----------
    dos, donts
        Files with one word a line.
    valence
        A file of word<TAB>rating lines; by default AFINN, where the user has it.
    """
    if (dos is None) != (donts is None):
        raise InputError("one of --dos and --donts is missing", "give both, or none")
    lexicon = load_valence(valence)
    paper = load_paper()
    first = read_actions(dos).actions if dos else paper.dos
    second = read_actions(donts).actions if donts else paper.donts
    statistics = valence_statistics(first, second, lexicon)
    if dos is None:
        statistics["paper"] = PAPER
    return RunRecord(
        "words validate",
        seed=seed,
        config={
            "dos": str(dos) if dos else "paper",
            "donts": str(donts) if donts else "paper",
            "unrated": "0 in all_words, left out in rated_only",
            "test": "Student's t, two-sided",
        },
        models=[ModelRef(lexicon.name, lexicon.checksum)],
        results=[
            RatedWord(word, side, lexicon.ratings.get(word))
            for side, words in ((DO, first), (DONT, second))
            for word in words
        ],
        statistics=statistics,
        warnings=_warnings(first, second, lexicon),
    )


def valence_statistics(
    dos: Sequence[str], donts: Sequence[str], lexicon: ValenceLexicon
) -> dict[str, Any]:
    """Return the comparison with all words and with rated words only, as a record keeps it."""
    found = validate_lists(dos, donts, lexicon.ratings)
    return {
        "lexicon": ModelRef(lexicon.name, lexicon.checksum),
        "all_words": found.all_words,
        "rated_only": found.rated_only,
    }


def _warnings(dos: Sequence[str], donts: Sequence[str], lexicon: ValenceLexicon) -> list[str]:
    found = []
    both = sorted(set(dos) & set(donts))
    if both:
        found.append(f"words on both sides: {', '.join(both)}")
    for name, words in (("dos", dos), ("don'ts", donts)):
        if len(set(words)) < len(words):
            found.append(f"words stand more than once among the {name} and count each time")
        if sum(word in lexicon.ratings for word in words) < 2:
            found.append(f"fewer than two of the {name} are in {lexicon.name}: no t for rated only")
    return found
