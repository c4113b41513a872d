"""From a plain run record to a page: the job decides which."""

from dataclasses import replace
from typing import Any

from moralscope.reports.compare_page import compare_page
from moralscope.reports.generic_page import generic_page
from moralscope.reports.page import Page
from moralscope.reports.plain import Plain, check_plain, label_key, text
from moralscope.reports.provenance import closing_sections
from moralscope.reports.reproduce_page import reproduce_page
from moralscope.reports.score_page import score_page
from moralscope.reports.words_page import words_page


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
    if plain["job"] == "compare":
        return compare_page(plain)
    if plain["job"] == "words correlate":
        return words_page(plain)
    if plain["job"] == "reproduce":
        return reproduce_page(plain)
    if plain["job"] == "score" or label_key(plain["results"]):
        return score_page(plain)
    return generic_page(plain)
