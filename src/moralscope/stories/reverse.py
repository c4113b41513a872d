"""Reverse norms and return a run record: the reversals, and how many norms could be read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord
from moralscope.stories.norms.reversal import parse_norm, reversals
from moralscope.stories.options import ReverseOptions
from moralscope.stories.reading import load_stories

UNREAD = "not read"
_LISTED = 100  # norms that could not be read, in the record


@dataclass(frozen=True, slots=True)
class ReversedNorm:
    """A norm, how it was read, and its reversals; none when it could not be read."""

    norm: str
    pattern: str
    behaviour: str | None
    polarity: int | None
    reversals: tuple[str, ...]


def reverse_norms(
    norms: Sequence[str] | None = None,
    options: ReverseOptions | None = None,
    *,
    file: Path | None = None,
    **given: Any,
) -> RunRecord:
    """Reverse norms, or those of a file of stories, in up to `variants` wordings each.

    `options` are `ReverseOptions`, or its fields as keywords. The seed is part of every record;
    nothing here is random.

    Examples
    --------
    >>> record = reverse_norms(["Lying is wrong."], variants=1)
    >>> record.results[0].reversals, record.statistics["reversed"]
    (('Lying is right.',), 1)
    """
    chosen = chosen_options(ReverseOptions, options, given)
    if norms and file:
        raise InputError("both norms and a file of stories were given", "give one of them")
    source = str(file) if file else "arguments" if norms else "MORALSCOPE_DATA"
    if not norms:
        norms = [story.norm for story in load_stories(file).stories if story.norm]
    if not norms:
        raise InputError(f"there is no norm in {source}", "give stories that have a norm")
    if not all(norm.strip() for norm in norms):
        raise InputError("a norm is empty", "give each as a sentence, e.g. 'It is rude to lie.'")
    rows = [_reverse(norm, chosen.variants) for norm in norms]
    unread = [row.norm for row in rows if row.pattern == UNREAD]
    more = len(unread) - _LISTED
    return RunRecord(
        "stories reverse",
        seed=chosen.seed,
        config={
            "source": source,
            "variants": chosen.variants,
            "options": plain_options(chosen),
        },
        models=[],
        results=rows,
        statistics=_statistics(rows) | {"unread": unread[:_LISTED]},
        warnings=[f"{more:,} more norms that were not read are not listed"] if more > 0 else [],
    )


def _reverse(norm: str, variants: int) -> ReversedNorm:
    read = parse_norm(norm)
    if read is None:
        return ReversedNorm(norm, UNREAD, None, None, ())
    wordings = reversals(norm)[:variants]
    return ReversedNorm(norm, read.pattern, read.behaviour, read.polarity, wordings)


def _statistics(rows: Sequence[ReversedNorm]) -> dict[str, Any]:
    """Count norms by pattern and side, and reversals that read back as the opposite."""
    done = [row for row in rows if row.reversals]
    written = [(row.polarity, text) for row in done for text in row.reversals]
    back = sum(
        (read := parse_norm(text)) is not None and read.polarity == -(polarity or 0)
        for polarity, text in written
    )
    return {
        "norms": len(rows),
        "reversed": len(done),
        "share": len(done) / len(rows),
        "patterns": dict(Counter(row.pattern for row in rows).most_common()),
        "demand": sum(row.polarity == 1 for row in done),
        "forbid": sum(row.polarity == -1 for row in done),
        "written": len(written),
        "read_back": back,
    }
