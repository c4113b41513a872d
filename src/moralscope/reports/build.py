"""From a plain run record to a page: the job decides which."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from moralscope.io.record_view import Plain, check_plain, label_key, text
from moralscope.reports.agreement_page import agreement_page
from moralscope.reports.audit_page import audit_page
from moralscope.reports.chain_page import chain_page
from moralscope.reports.compare_page import compare_page
from moralscope.reports.corpus_page import corpus_page
from moralscope.reports.evaluate_page import evaluate_page
from moralscope.reports.generic_page import generic_page
from moralscope.reports.page import Page
from moralscope.reports.provenance import closing_sections
from moralscope.reports.reproduce_page import reproduce_page
from moralscope.reports.runs_page import runs_page
from moralscope.reports.score_page import score_page
from moralscope.reports.stories_page import split_page, stats_page
from moralscope.reports.words_page import words_page

_PAGES: Mapping[str, Callable[[Plain], Page]] = {
    "agreement": agreement_page,
    "audit": audit_page,
    "compare": compare_page,
    "compare runs": runs_page,
    "words correlate": words_page,
    "chain": chain_page,
    "generate": chain_page,
    "stories evaluate": evaluate_page,
    "stories stats": stats_page,
    "stories split": split_page,
    "reproduce": reproduce_page,
}


def build_page(record: Any, name: str = "the run record") -> Page:
    """Lay out the report of a plain run record.

    Examples
    --------
    >>> record = {"schema": "moralscope.run/1", "job": "score", "config": {},
    ...           "results": [{"action": "kill time", "score": 0.1}]}
    >>> [section.title for section in build_page(record).sections]
    ['Ranked scores', 'All actions', 'How it was computed', 'What it does not mean']
    """
    plain = check_plain(record, name)
    page = _page(plain)
    made = f"moralscope {text(plain.get('version'))} · {text(plain.get('created'))}"
    return replace(
        page,
        sections=[*page.sections, *closing_sections(plain)],
        warnings=[text(line) for line in plain["warnings"]],
        footer=made,
    )


def _page(plain: Plain) -> Page:
    if isinstance(plain["config"].get("corpus"), Mapping):
        return corpus_page(plain)
    page = _PAGES.get(plain["job"])
    if page is not None:
        return page(plain)
    if plain["job"] == "score" or label_key(plain["results"]):
        return score_page(plain)
    return generic_page(plain)
