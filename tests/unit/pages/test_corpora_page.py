"""Reports and figures of `words compare`, and whether a printed figure was reproduced."""

import pytest

from moralscope.core.records import to_plain
from moralscope.pages import build_page, figure_bytes, report_html
from moralscope.papers.choice import reproduce_choice
from moralscope.words.compare import CorporaStatistics, PeriodsStatistics
from moralscope.words.comparison import ActionDifference, CorpusAgreement, CorpusValue
from moralscope.words.trajectories import Point, Trajectory

from .plain_records import HOSTILE, record


def value(corpus, percentile):
    return CorpusValue(
        corpus, 0.1, percentile, percentile - 5, percentile + 5, 20, ("war", "peace")
    )


def corpora_record(actions=("steal", "give", "help")):
    rows = [
        ActionDifference(
            name, value("bible", 20.0 + 9 * n), value("pali", 70.0 - n), 50.0 - 10 * n, 30.0, 60.0,
            0.2, 0.1, 0.3, 5.0 - n,
        )
        for n, name in enumerate(actions)
    ]  # fmt: skip
    listed = [{"name": name, "words": 9000, "files": 2} for name in ("bible", "pali")]
    statistics = CorporaStatistics(
        agreement=CorpusAgreement(("give",), (), ("steal",)),
        paper_percentiles={},
        changed=3,
        compared=3,
        dropped_actions=(),
        dropped_set_words=(),
    )
    return record(
        "words compare",
        to_plain(rows),
        config={"corpora": listed},
        statistics=to_plain(statistics),
    )


def periods_record(actions=("steal", "give")):
    rows = [
        Trajectory(
            name,
            tuple(Point(p, 40.0 + at, 30.0, 60.0, 9) for at, p in enumerate("abc")),
            9.0,
            1.0,
            12.0,
            3.0,
        )
        for name in actions
    ]
    statistics = to_plain(PeriodsStatistics((), ()))
    config = {"periods": list("abc")}
    return record("words compare", to_plain(rows), config=config, statistics=statistics)


def test_corpora_are_drawn_as_slopes_with_what_stands_near():
    page = build_page(corpora_record())
    section = next(part for part in page.sections if part.title == "From bible to pali")
    chart, table = section.blocks
    assert chart.traces[0]["y"] == [20.0, 70.0]
    assert table.rows[0][-1] == "war, peace"


def test_periods_are_drawn_as_lines():
    page = build_page(periods_record())
    chart, table = page.sections[0].blocks
    assert [trace["name"] for trace in chart.traces] == ["steal", "give"]
    assert [table.rows[0][0], *table.rows[0][2:4]] == ["steal", 40.0, 42.0]


@pytest.mark.parametrize("make", [corpora_record, periods_record])
@pytest.mark.parametrize("kind", [".svg", ".png"])
def test_words_compare_has_a_report_and_a_figure(make, kind):
    assert len(figure_bytes(make(HOSTILE), kind)) > 3000
    assert "<img src=x" not in report_html(make(HOSTILE))


def test_a_reproduction_says_of_every_row_whether_it_came_out_again():
    shown = []
    plain = to_plain(reproduce_choice(["scripted"], show=shown.append))
    assert shown[0].name == "Means, t and Figure 4 (scripted)"
    page = build_page(plain)
    section = next(part for part in page.sections if part.title.startswith("Table 1"))
    table = section.blocks[0]
    assert [column.title for column in table.columns][-1] == "came out"
    assert {row[-1] for row in table.rows if row[4] is not None} <= {
        "equal", "inside the interval", "same sign", "other sign"
    }  # fmt: skip


def test_runs_before_and_after_have_figures():
    rows = [
        {"id": "", "text": f"do {n}", "before": n / 9, "after": 1 - n / 9, "change": 1 - 2 * n / 9}
        for n in range(9)
    ]
    assert b"do 8" in figure_bytes(record("compare runs", rows), ".svg")
