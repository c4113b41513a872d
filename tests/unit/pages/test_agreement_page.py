"""The page of agreement: coefficients, split items, leanings, and no text as markup."""

import json

import pytest

from moralscope.core.records import Interval
from moralscope.pages import build_page, report_html
from moralscope.pages.page import Chart, Table

from .plain_records import HOSTILE, record
from .test_hostile_records import pages_with_wrong_values


def estimate(value):
    return {"value": value, "low": value - 0.1, "high": value + 0.1}


def agreement_record(item="1"):
    spread = {"item": item, "field": "severity", "answers": 3, "disagreement": 0.6}
    spread["counts"] = {"1": 1, item: 2}
    form = {"form": "ICC(1)", **estimate(0.4), "f": 2.0, "df1": 5, "df2": 12, "p": 0.01}
    form |= {"units": 6, "k": 3.0}
    field = {"field": "severity", "level": "ordinal", "alpha": estimate(0.3)}
    field |= {"percent": estimate(0.5), "fleiss": None, "cohen": estimate(0.2), "icc": [form]}
    field |= {"items": 4, "answers": 12, "people": 3}
    split = {"field": "severity", "item": item, "value": "", "first": "left", "second": "right"}
    split |= {"first_mean": 4.0, "second_mean": 2.0, "difference": 2.0, "p": 0.001}
    split |= {"corrected": 0.02, "first_people": 8, "second_people": 9}
    weight = {"leaning": "left", "foundation": "care", "mean": 4.1, "low": 3.9, "high": 4.3}
    return record(
        "agreement",
        [spread],
        config={"smallest_group": 5},
        statistics={
            "people": 17,
            "fields": [field],
            "most_split": [spread],
            "texts": {item: item},
            "leanings": [
                {"leaning": "left", "people": 8, "share": {**estimate(0.47), "n": 17},
                 "annotations": 20, "annotation_share": 0.5}
            ],
            "foundations": [{**weight, "people": 8}],
            "within": [{"field": "severity", "leaning": "left", "people": 8,
                        "alpha": estimate(0.2), "items": 4, "counts": {"1": 3}}],
            "field_splits": [{**split, "item": ""}],
            "item_splits": [split],
            "items_compared": 1,
        },
    )  # fmt: skip


def blocks(page, kind):
    return {b.title: b for s in page.sections for b in s.blocks if isinstance(b, kind)}


def test_every_figure_has_its_place():
    page = build_page(agreement_record())
    assert [section.title for section in page.sections] == [
        "How far people agree",
        "Agreement by field",
        "Where annotators disagree",
        "Who the annotators are",
        "Leanings in figures",
        "Items that divide groups",
        "Differences that hold",
        "Every item",
        "How it was computed",
        "What it does not mean",
    ]
    tables = blocks(page, Table)
    assert tables["Coefficients"].rows[0][4:6] == [Interval(0.3, 0.3 - 0.1, 0.4), "0.20 (Cohen)"]
    assert tables["Intraclass correlation"].rows[0][1] == "ICC(1)"
    assert tables["Items that split leanings"].rows[0][0] == "1"
    assert tables["Leanings over all items"].rows[0][0] == "all"
    assert set(blocks(page, Chart)) == {
        "Alpha by field",
        "Leanings of people and of annotations",
        "Weight of each foundation by leaning",
    }
    assert ("0.30", "alpha, severity") in page.figures


def test_without_leanings_there_is_no_word_of_them():
    plain = agreement_record()
    kept = ("people", "fields", "most_split", "texts")
    plain["statistics"] = {key: plain["statistics"][key] for key in kept} | {"leanings": []}
    titles = [section.title for section in build_page(plain).sections]
    assert "Who the annotators are" not in titles
    assert "Items that divide groups" not in titles


@pytest.mark.parametrize("text", HOSTILE)
def test_an_item_is_never_markup(text):
    page = report_html(agreement_record(text), "x")
    assert text not in page
    assert "&lt;" in page


def test_a_wrong_value_anywhere_is_shown_or_refused():
    for page in pages_with_wrong_values(agreement_record):
        charts = [b for s in page.sections for b in s.blocks if hasattr(b, "traces")]
        json.dumps([[c.traces, c.layout, c.labels] for c in charts], allow_nan=False)
