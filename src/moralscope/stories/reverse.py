"""Reverse norms and return a run record: the reversals, and how many norms could be read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord, Statistics
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReverseStatistics(Statistics):
    """How many norms could be read and reversed."""

    norms: int
    reversed: int
    share: float
    patterns: Mapping[str, int]  # norms by the sentence frame they are in
    demand: int
    forbid: int
    written: int  # reversals
    read_back: int  # of them, those that read as the opposite
    unread: tuple[str, ...]  # the first norms that could not be read


def reverse_norms(
    norms: Sequence[str] | None = None,
    options: ReverseOptions | None = None,
    *,
    file: Path | None = None,
    **fields: Any,
) -> RunRecord:
    """Reverse norms, or those of a file of stories, in up to `variants` wordings each.

    `options` are `ReverseOptions`, or its fields as keywords. The seed is part of every record;
    nothing here is random.
    """
    chosen = chosen_options(ReverseOptions, options, fields)
    if norms and file:
        raise InputError("both norms and a file of stories were given", "give one of them")
    source = str(file) if file else "arguments" if norms else "MORALSCOPE_DATA"
    if not norms:
        norms = [story.norm for story in load_stories(file).stories if story.norm]
    if not norms:
        raise InputError(f"there is no norm in {source}", "give stories that have a norm")
    if not all(norm.strip() for norm in norms):
        raise InputError("a norm is empty", "give each as a sentence, e.g. 'It is rude to lie.'")
    rows = []
    for norm in norms:
        read, wordings = parse_norm(norm), reversals(norm)[: chosen.variants]
        rows.append(
            ReversedNorm(norm, read.pattern, read.behaviour, read.polarity, wordings)
            if read
            else ReversedNorm(norm, UNREAD, None, None, ())
        )
    turned = [row for row in rows if row.reversals]
    written = [(row.polarity, text) for row in turned for text in row.reversals]
    unread = [row.norm for row in rows if row.pattern == UNREAD]
    more = len(unread) - _LISTED
    return RunRecord(
        "stories reverse",
        seed=chosen.seed,
        config={"source": source, "variants": chosen.variants, "options": plain_options(chosen)},
        results=rows,
        statistics=ReverseStatistics(
            norms=len(rows),
            reversed=len(turned),
            share=len(turned) / len(rows),
            patterns=dict(Counter(row.pattern for row in rows).most_common()),
            demand=sum(row.polarity == 1 for row in turned),
            forbid=sum(row.polarity == -1 for row in turned),
            written=len(written),
            read_back=sum(
                (read := parse_norm(text)) is not None and read.polarity == -(polarity or 0)
                for polarity, text in written
            ),
            unread=tuple(unread[:_LISTED]),
        ),
        warnings=[f"{more:,} more norms that were not read are not listed"] if more > 0 else [],
    )
