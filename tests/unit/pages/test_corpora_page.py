"""Reports and figures of `words compare`, and whether a printed figure was reproduced."""

import pytest

from moralscope.core.records import to_plain
from moralscope.pages import build_page, figure_bytes, report_html
from moralscope.papers.choice import reproduce_choice

from .plain_records import HOSTILE, record


def value(corpus, percentile):
    return {"corpus": corpus, "percentile": percentile, "neighbours": ["war", "peace"]}


def corpora_record(actions=("steal", "give", "help")):
    rows = [
        {"action": name, "first": value("bible", 20.0 + 9 * n), "second": value("pali", 70.0 - n),
         "change": 50.0 - 10 * n, "low": 30.0, "high": 60.0}
        for n, name in enumerate(actions)
    ]  # fmt: skip
    listed = [{"name": "bible", "words": 9000}, {"name": "pali", "words": 8000}]
    return record("words compare", rows, config={"corpora": listed}, statistics={"agreement": {}})


def periods_record(actions=("steal", "give")):
    rows = [
        {"action": name, "change": 9.0, "low": 1.0, "high": 12.0,
         "points": [{"period": p, "percentile": 40.0 + at} for at, p in enumerate("abc")]}
        for name in actions
    ]  # fmt: skip
    return record("words compare", rows, config={"periods": list("abc")})


def test_corpora_are_drawn_as_slopes_with_what_stands_near():
    page = build_page(corpora_record())
    assert page.sections[0].title == "From bible to pali"
    chart, table = page.sections[0].blocks
    assert chart.traces[0]["y"] == [20.0, 70.0]
    assert table.rows[0][-1] == "war, peace"


def test_periods_are_drawn_as_lines():
    page = build_page(periods_record())
    chart, table = page.sections[0].blocks
    assert [trace["name"] for trace in chart.traces] == ["steal", "give"]
    assert table.rows[0][:3] == ["steal", 40.0, 42.0]


@pytest.mark.parametrize("make", [corpora_record, periods_record])
@pytest.mark.parametrize("kind", [".svg", ".png"])
def test_words_compare_has_a_report_and_a_figure(make, kind):
    assert len(figure_bytes(make(HOSTILE), kind)) > 3000
    assert "<img src=x" not in report_html(make(HOSTILE))


def test_a_reproduction_says_of_every_row_whether_it_came_out_again():
    told = []
    plain = to_plain(reproduce_choice(["scripted"], tell=told.append))
    assert [each.encoder for each in told] == ["scripted"]
    tables = [b for section in build_page(plain).sections for b in section.blocks]
    listed = next(b for b in tables if getattr(b, "title", "").startswith("Table 1"))
    titles = [column.title for column in next(
        b for b in tables if getattr(b, "title", "") == "Table 1: gender bias of occupations, male"
    ).columns]  # fmt: skip
    assert "reproduced" in titles
    assert listed.title


def test_runs_before_and_after_have_figures():
    rows = [{"text": f"do {n}", "before": n / 9, "after": 1 - n / 9} for n in range(9)]
    assert b"do 8" in figure_bytes(record("compare runs", rows), ".svg")
