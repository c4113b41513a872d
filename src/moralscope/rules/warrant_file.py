"""What a warrant says of a rule, the file that it lies in beside a rulebook, and who may pass.

A warrant holds for the experts it was made with, what was learnt beside the rulebook, and the text
of the rule. One that holds no longer is none.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval, to_plain
from moralscope.io.documents import read_document
from moralscope.io.files import write_whole

SCHEMA = "moralscope.warrant/1"
ENFORCEABLE, REVIEW, NOT = WORDS = ("enforceable", "with review", "not by this model")
_MAX_BYTES = 20_000_000
_NAMED = 3  # rules that a refusal names
_REMEDY = "run 'moralscope rules warrant' again, or delete it"


@dataclass(frozen=True, slots=True)
class PairOutcome:
    """A pair that was got wrong: both exchanges, and how likely each breaks the rule."""

    source: str
    prompt: str
    breaks: str
    other_prompt: str
    other: str
    p_breaks: float
    p_other: float


@dataclass(frozen=True, slots=True)
class Rewording:
    """The rule in other words, and the share of the same pairs that is right with them."""

    text: str
    pairs: SampleInterval


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleWarrant:
    """Whether a rule can be enforced: pairs, limit, false alarms, and one word."""

    rule: str
    word: str
    pairs: SampleInterval
    """the share of pairs of which both halves are right, at the limit"""
    labelled: SampleInterval
    """the same of the pairs of one's own labels"""
    limit: float
    """the probability from which it is broken"""
    alarms: SampleInterval
    """the share of fine replies that break it there"""
    failed: tuple[PairOutcome, ...] = ()
    """the first pairs that were got wrong"""
    rewording: Rewording | None = None

    def __post_init__(self) -> None:
        if self.word not in WORDS or not 0 <= self.limit <= 1:
            raise ValueError("has no such word or limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredWarrant:
    """The warrants of a rulebook, and what they were made with."""

    schema: str = SCHEMA
    experts: str
    experts_sha256: str
    learnt_sha256: str
    budget: float
    rules: tuple[RuleWarrant, ...]

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"is no {SCHEMA}")


def warrant_path(rulebook: Path | str) -> Path:
    """Return where the warrant of a rulebook lies: house.warrant.json beside house.yaml."""
    return Path(rulebook).expanduser().with_suffix(".warrant.json")


def write_warrant(path: Path, warrant: StoredWarrant) -> None:
    """Write a warrant, whole or not at all."""
    write_whole(path, [(json.dumps(to_plain(warrant), indent=1) + "\n").encode()])


def read_warrant(path: Path) -> StoredWarrant:
    """Read a warrant; what is not of ours is refused in one line."""
    plain = read_document(path, "the warrant", _REMEDY, _MAX_BYTES).json_values()
    return parse_warrant(plain, str(path))


def parse_warrant(plain: Any, source: str) -> StoredWarrant:
    """Return the warrant that a file or a request holds."""
    return decode(StoredWarrant, plain, source, remedy=_REMEDY, exact=True)


def known_warrants(
    warrants: Sequence[StoredWarrant], experts: str, learnt: str
) -> dict[str, RuleWarrant]:
    """Return what holds for the models that judge now, given by checksums, by the rule's text."""
    now = experts, learnt
    valid = [row for row in warrants if (row.experts_sha256, row.learnt_sha256) == now]
    return {row.rule: row for warrant in valid for row in warrant.rules}


def check_warrants(
    known: Mapping[str, RuleWarrant], rules: Iterable[str], *, tried: bool
) -> tuple[dict[str, float], list[str]]:
    """Return the limits of warranted rules and what to say of them; refuse rules without one.

    `tried` says whether there is a warrant at all, and `known` what holds of it.
    """
    texts = list(rules)
    without = [text for text in texts if text not in known or known[text].word == NOT]
    if without:
        why = "never tried, or not by this model" if known else "never tried"
        why = "theirs was made with other models" if tried and not known else why
        raise InputError(
            f"{len(without):,} of {len(texts):,} rules have no warrant ({why}): {_listed(without)}",
            "run 'moralscope rules warrant RULEBOOK', reword or leave out these rules, or leave "
            "--require-warrant out",
        )
    review = [text for text in texts if known[text].word == REVIEW]
    notes = [f"{len(review):,} rules need review: {_listed(review)}"] if review else []
    return {text: known[text].limit for text in texts}, notes


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _NAMED:,} more" if len(texts) > _NAMED else ""
    return ", ".join(f"“{text[:80]}”" for text in texts[:_NAMED]) + more
