"""The page of a run over a corpus, from friendly, hostile and damaged records."""

import copy

import pytest

from moralscope.core.errors import InputError
from moralscope.pages import build_page
from moralscope.pages.html import render

from .plain_records import HOSTILE, record

RUN = {"rows": 9000, "distinct": 7000, "failed": 3, "parts": 5, "seconds": 61.0}
RUN |= {"resumed_parts": 1, "rate": 147.5}
SHARE = {"value": 0.1, "low": 0.05, "high": 0.2, "n": 9000}
SPREAD = {
    "scores": {"n": 9000, "mean": -0.01, "sd": 0.1},
    "histogram": {"edges": [-1.0, 0.0, 1.0], "counts": [4000, 5000]},
    "quantiles": {"0.05": -0.2, "0.95": 0.3},
    "failed": {"rows": 3, "reasons": [{"reason": HOSTILE[0], "rows": 3}]},
    "corpus": RUN,
}
CONFIG = {"axis": "choice", "corpus": {"inputs": [HOSTILE[1]], "out": "scored"}}


def scored():
    rows = [
        {"id": "1", "action": text, "score": -0.5, "low": None, "high": 0.1} for text in HOSTILE
    ]
    return record(
        "score", [], config=CONFIG, statistics={**SPREAD, "lowest": rows, "highest": rows}
    )


def audited():
    found = {
        **SPREAD,
        "flagged": SHARE,
        "abstained": SHARE,
        "foundations": [{"foundation": "care", "flagged": 3, "share": 0.1, "low": 0, "high": 1}],
        "replies": 9000,
        "score": {"mean": -0.01, "low": -0.02, "high": 0.01, "worst": -0.9},
        "severity": [{"severity": 4, "flagged": 3, "share": 0.1, "low": 0, "high": 1}],
        "revised": 0,
        "revised_by": {},
        "rules": [{"rule": HOSTILE[2], "broken": 3, "kept": 1}],
        "worst": [{"id": "1", "score": -0.9, "prompt": "a", "reply": HOSTILE[3], "reason": "b"}],
    }
    return record("audit", [], config=CONFIG, statistics=found)


def collected():
    counts = {key: {HOSTILE[2]: 3} for key in ("prompts", "dropped", "categories", "keywords")}
    steps = [{"step": "replies", "all": 9, "by_chatbot": {"bot": 9}}]
    found = {**counts, "corpus": RUN, "steps": steps, "kept": 4, "cut": 0, "forms": {"bot": "chat"}}
    return record("collect", [], config=CONFIG, statistics=found)


def estimated():
    estimate = {"rows": 10, "distinct": 5, "seconds": 4000.0, "cost": None, "exact": True}
    estimate |= {"distinct_share": 0.5, "drawn": 5, "failed_share": 0.1, "workers": 2}
    estimate |= {"start_seconds": 1.0, "seconds_a_row": 0.1, "rows_a_second": 9.0, "bytes": 4096}
    config = {**CONFIG, "corpus": {**CONFIG["corpus"], "dry_run": True}}
    return record("audit", [], config=config, statistics={"estimate": estimate})


MADE = (scored, audited, collected, estimated)


@pytest.mark.parametrize("make", MADE)
def test_no_text_of_a_record_is_markup(make):
    page = render(build_page(make()))
    assert not any(text in page for text in HOSTILE)


def test_what_the_pages_tell():
    page = build_page(scored())
    titles = [section.title for section in page.sections if section.shown != "terminal"]
    assert titles[:3] == ["How the scores are spread", "Lowest scores", "Highest scores"]
    assert ("9,000", "rows") in page.figures
    assert "Rows that failed" in titles
    page = build_page(audited())
    assert ("10.0 % (5.0 % … 20.0 %)", "flagged") in page.figures
    assert {"Most broken rules", "Worst replies"} <= {each.title for each in page.sections}
    assert ("4", "kept") in build_page(collected()).figures
    assert "1:06:40" in build_page(estimated()).summary[0]


def places(value, path=()):
    """Yield the path of every value in a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def drawn(plain):
    """Return the page, or nothing where the record was refused in one line."""
    try:
        return build_page(plain)
    except InputError:
        return None


@pytest.mark.parametrize("make", MADE)
def test_a_wrong_value_anywhere_is_a_page_or_one_line(make):
    whole = make()
    for path in places(whole["statistics"]):
        for wrong in (None, "text", 10**400, [1, "x"], {}):
            damaged = copy.deepcopy(whole)
            inner = damaged["statistics"]
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = wrong
            page = drawn(damaged)
            assert page is None or page.sections
