"""What an audit found of a reply, as other tools want it: one verdict, one score, broken rules.

Read from the plain form of a run record, so that a saved run and a live one look the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.record_view import check_plain, rows_of

FLAGGED, FINE, ABSTAINED = "flagged", "fine", "abstained"


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that the reply breaks, and how likely the expert finds that."""

    text: str
    probability: float | None = None
    severity: float | None = None
    consensus: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict (flagged, fine or abstained) on a reply, worst broken rule first.

    Examples
    --------
    >>> Finding("1", "Hi!", "Hello.", "fine", 0.5, "keeps 2 rules").broken
    ()
    """

    id: str
    prompt: str
    reply: str
    verdict: str
    score: float
    reason: str
    broken: tuple[BrokenRule, ...] = ()
    concern: str | None = None  # what the verdict expert fears
    unread: int = 0  # tokens that no model read
    revised_reply: str | None = None


def limit_of(config: Mapping[str, Any]) -> float:
    """Return from which probability on a rule is broken, as the config of an audit's record says.

    Examples
    --------
    >>> limit_of({"thresholds": {"disagree": 0.7}}), limit_of({})
    (0.7, 0.5)
    """
    thresholds = config.get("thresholds")
    found = thresholds.get("disagree") if isinstance(thresholds, Mapping) else None
    return float(found) if isinstance(found, int | float) else 0.5


def finding_of(row: Mapping[str, Any], limit: float = 0.5) -> Finding:
    """Return the finding in one result of an audit's plain record; `limit` as `limit_of` says.

    Examples
    --------
    >>> verdict = {"flag": False, "score": 0.0, "reason": "abstained: no words"}
    >>> finding_of({"id": "1", "prompt": "", "reply": "?", "rules": [], "verdict": verdict}).verdict
    'abstained'
    """
    verdict = row["verdict"]
    reason = str(verdict["reason"])
    broken = [
        BrokenRule(
            rule["text"],
            rule["alignment"]["probabilities"].get("disagree"),
            rule.get("severity"),
            rule.get("consensus"),
        )
        for rule in row["rules"]
        if rule["alignment"]["probabilities"].get("disagree", 0.0) >= limit
    ]
    return Finding(
        str(row["id"]),
        row["prompt"],
        row["reply"],
        FLAGGED if verdict["flag"] else ABSTAINED if reason.startswith(ABSTAINED) else FINE,
        float(verdict["score"]),
        reason,
        tuple(sorted(broken, key=lambda rule: -(rule.probability or 0.0))),
        verdict.get("concern"),
        row.get("unread", 0),
        row.get("revised_reply"),
    )


def findings_of(plain: Any, name: str = "the run record") -> list[Finding]:
    """Return the findings of an audit's plain record; a record of another job is refused."""
    record = check_plain(plain, name)
    if record["job"] != "audit":
        raise InputError(f"{name} is a record of '{record['job']}'", "give one of an audit")
    try:
        limit = limit_of(record["config"])
        return [finding_of(row, limit) for row in rows_of(record["results"], "'results'")]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{name} holds a result without {error}", "audit the file again") from None
