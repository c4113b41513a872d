"""What a warrant says of a rule, the file that it lies in beside a rulebook, and who may pass.

A warrant holds for the experts it was made with, what was learnt beside the rulebook, and the text
of the rule. One that holds no longer is none.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import SampleInterval, to_plain
from moralscope.io.documents import read_document
from moralscope.io.files import write_whole

SCHEMA = "moralscope.warrant/1"
ENFORCEABLE, REVIEW, NOT = WORDS = ("enforceable", "with review", "not by this model")
_MAX_BYTES = 20_000_000
_NAMED = 3  # rules that a refusal names


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

    experts: str
    experts_sha256: str
    learnt_sha256: str
    budget: float
    rules: tuple[RuleWarrant, ...]


def warrant_path(rulebook: Path | str) -> Path:
    """Return where the warrant of a rulebook lies: house.warrant.json beside house.yaml."""
    return Path(rulebook).expanduser().with_suffix(".warrant.json")


def write_warrant(path: Path, warrant: StoredWarrant) -> None:
    """Write a warrant, whole or not at all."""
    plain = {"schema": SCHEMA, **to_plain(warrant)}
    write_whole(path, [(json.dumps(plain, indent=1) + "\n").encode()])


def read_warrant(path: Path) -> StoredWarrant:
    """Read a warrant; what is not of ours is refused in one line."""
    remedy = "run 'moralscope rules warrant' again"
    plain = read_document(path, "the warrant", remedy, _MAX_BYTES).json_values()
    if not isinstance(plain, dict) or plain.pop("schema", None) != SCHEMA:
        raise InputError(f"{path} is not a warrant", remedy)
    return decode(StoredWarrant, plain, str(path), remedy=remedy, exact=True)


def check_warrants(
    warrants: Sequence[StoredWarrant], rules: Iterable[str], experts: str, learnt: str
) -> tuple[dict[str, float], list[str]]:
    """Return the limits of warranted rules and what to say of them; refuse rules without one.

    `experts` and `learnt` are the checksums of what judges now.
    """
    valid = [
        row for row in warrants if (row.experts_sha256, row.learnt_sha256) == (experts, learnt)
    ]
    known = {row.rule: row for warrant in valid for row in warrant.rules}
    texts = list(rules)
    without = [text for text in texts if text not in known or known[text].word == NOT]
    if without:
        why = (
            "theirs was made with other models"
            if not valid
            else "never tried, or not by this model"
        )
        why = why if warrants else "never tried"
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
