"""Pages that are still drawn from plain records: each goes when its command gets a typed page."""

from collections.abc import Callable, Mapping

from moralscope.core.records import RunRecord, to_plain
from moralscope.io.record_view import Plain, label_key, text
from moralscope.pages.agreement_page import agreement_page
from moralscope.pages.audit_page import audit_page
from moralscope.pages.closing import (
    AUDIT_LIMITS,
    JUDGE_LIMITS,
    PEOPLE_LIMITS,
    STEER_LIMITS,
)
from moralscope.pages.corpora_page import corpora_page
from moralscope.pages.corpus_page import corpus_page
from moralscope.pages.generic_page import generic_page
from moralscope.pages.page import Page
from moralscope.pages.reproduce_page import reproduce_page, words_page
from moralscope.pages.score_page import score_page
from moralscope.pages.statement_page import statement_page
from moralscope.pages.steer_page import check_page

_PAGES: Mapping[str, Callable[[Plain], Page]] = {
    "agreement": agreement_page,
    "annotate statement": statement_page,
    "audit": audit_page,
    "words compare": corpora_page,
    "words correlate": words_page,
    "reproduce": reproduce_page,
    "steer check": check_page,
}


def old_page(record: RunRecord) -> Page:
    """Lay out a record whose command has no typed page yet: to be deleted with the last of them."""
    plain = to_plain(record)
    plain.setdefault("schema", "moralscope.run/1")
    if isinstance(plain["config"].get("corpus"), Mapping):
        return corpus_page(plain)
    named = plain["job"] == "score" or label_key(plain["results"])
    return _PAGES.get(plain["job"], score_page if named else generic_page)(plain)


def old_limits(record: RunRecord) -> tuple[str, ...]:
    """Return what the results of a command without a typed page do not mean."""
    config = record.config
    known = _LIMITS_OF.get(text(config.get("axis"))) or _LIMITS_OF.get(text(config.get("paper")))
    return known or _LIMITS.get(record.job, ())


_LIMITS_OF = {"judge": JUDGE_LIMITS, "stories": JUDGE_LIMITS}  # by axis and by paper
_LIMITS = {
    "agreement": PEOPLE_LIMITS,
    "annotate statement": PEOPLE_LIMITS,
    "audit": AUDIT_LIMITS,
    "steer check": STEER_LIMITS,
    "steer make": STEER_LIMITS,
}
