"""Pages that are still drawn from plain records: each goes when its command gets a typed page."""

from moralscope.core.records import RunRecord, to_plain
from moralscope.io.record_view import label_key, text
from moralscope.pages.closing import (
    AUDIT_LIMITS,
    JUDGE_LIMITS,
)
from moralscope.pages.generic_page import generic_page
from moralscope.pages.page import Page
from moralscope.pages.score_page import score_page


def old_page(record: RunRecord) -> Page:
    """Lay out a record whose command has no typed page yet: to be deleted with the last of them."""
    plain = to_plain(record)
    plain.setdefault("schema", "moralscope.run/1")
    named = plain["job"] == "score" or label_key(plain["results"])
    return score_page(plain) if named else generic_page(plain)


def old_limits(record: RunRecord) -> tuple[str, ...]:
    """Return what the results of a command without a typed page do not mean."""
    config = record.config
    known = _LIMITS_OF.get(text(config.get("axis"))) or _LIMITS_OF.get(text(config.get("paper")))
    return known or _LIMITS.get(record.job, ())


_LIMITS_OF = {"judge": JUDGE_LIMITS}  # by axis
_LIMITS = {
    "audit": AUDIT_LIMITS,
}
