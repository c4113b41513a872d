import html.parser
import io
import json
import math
import re

import pytest
from rich.console import Console

from moralscope.axes.choice import rank
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.io.run_records import check_record
from moralscope.pages import build_page, report_html
from moralscope.pages.charts import Mark, ranked_section
from moralscope.pages.page import Chart, Page, Section, Table, head
from moralscope.pages.terminal import render
from moralscope.papers.choice import reproduce_choice
from moralscope.papers.direction import reproduce_direction

from .plain_records import (
    HOSTILE,
    compare_record,
    record,
    score_record,
    unknown_record,
    words_record,
)


def titles(page):
    return [section.title for section in page.sections]


def blocks(page, kind):
    return [
        block for section in page.sections for block in section.blocks if isinstance(block, kind)
    ]


def chart(page, title):
    return next(block for block in blocks(page, Chart) if block.title == title)


def data(document):
    return json.loads(re.search(r"id=data>(.*?)</script>", document)[1])


def test_a_score_report_says_who_is_best_how_sure_and_what_it_does_not_mean():
    page = build_page(score_record())
    text = " ".join(page.summary)
    assert page.title == "How minilm scores 3 actions"
    assert "10 wordings" in text
    assert "Highest: “help”" in text
    assert "Lowest: “harm”" in text
    assert "1 lie above zero with their whole 95 % interval, 1 below, and 1 on both sides" in text
    assert titles(page)[-2:] == ["How it was computed", "What it does not mean"]
    assert page.warnings == ["scores describe a model, they are not moral advice"]


def test_a_judges_report_speaks_of_wordings_and_shows_its_verdicts():
    plain = score_record(axis="judge")
    plain["config"] |= {"axis": "judge", "experts": "stories-mpnet", "encoder": None}
    judged = {"probability": 0.9, "verdict": "keeps", "task": "action+norm"}
    plain["results"] = [row | judged for row in plain["results"]]
    page = build_page(plain)
    text = " ".join(page.summary)
    assert "95 %" not in text
    assert "wordings of a question" not in text
    assert [column.title for column in page.main.columns[4:]] == ["verdict", "P(moral)", "expert"]
    assert page.main.rows[0][4:7] == ["keeps", 0.9, "action + norm"]
    assert page.main.details[0] == "wording 1, scored"


def test_ranked_scores_carry_their_intervals_and_signs_not_colours_alone():
    drawn = chart(build_page(score_record()), "Ranked scores")
    assert [trace["name"] for trace in drawn.traces] == [
        "above zero",
        "below zero",
        "interval spans zero",
    ]
    assert len({trace["marker"]["symbol"] for trace in drawn.traces}) == 3
    assert drawn.traces[0]["error_x"]["array"] == [pytest.approx(0.015)]
    assert drawn.layout["yaxis"]["names"] == ["help", "wait", "harm"]
    assert "help (+0.100)" in drawn.about


def test_an_interval_that_ends_at_zero_is_kept():
    plain = score_record(["a", "b"])
    plain["results"][0] |= {"low": 0.0, "high": 0.2}
    drawn = chart(build_page(plain), "Ranked scores")
    undecided = next(t for t in drawn.traces if t["name"] == "interval spans zero")
    assert undecided["error_x"]["arrayminus"] == [pytest.approx(0.1)]


def test_a_long_list_shows_both_ends_the_whole_curve_and_every_row_in_the_table():
    page = build_page(score_record([f"do {n}" for n in range(200)]))
    assert chart(page, "The 25 highest").layout["yaxis"]["names"][0] == "do 0"
    assert chart(page, "The 25 lowest").layout["yaxis"]["names"][-1] == "do 199"
    assert len(chart(page, "The whole list").traces[-1]["x"]) == 200
    assert len(page.main.rows) == 200


def test_rows_of_charts_point_into_the_table():
    plain = score_record(["a", "b", "c"], axis="direction")
    plain["results"].reverse()
    plain["statistics"]["map"]["points"].reverse()
    page = build_page(plain)
    drawn = chart(page, "Map of the actions")
    for trace in drawn.traces:
        for place, x in zip(trace.get("rows", []), trace["x"], strict=False):
            assert page.main.rows[place][2] == pytest.approx(x)
    assert page.main.details[0] == "Is it fine, way 0, to {}?"
    assert len(page.main.rows[0]) == 4 + 10


def test_a_direction_brings_map_and_both_variances():
    page = build_page(score_record([f"do {n}" for n in range(30)], axis="direction"))
    assert {"Map of the actions", "How strong is the direction"} <= set(titles(page))
    bars = chart(page, "Explained variance by component")
    assert [trace["y"][0] for trace in bars.traces] == [31.0, 25.0]
    assert bars.traces[0]["marker"]["pattern"] != bars.traces[1]["marker"]["pattern"]
    drawn = chart(page, "Map of the actions")
    assert drawn.layout["xaxis"]["title"] == "moral direction"
    assert drawn.traces[0]["hovertext"] == ["smile"]
    assert len(drawn.labels) == 30


def test_people_are_set_beside_the_model():
    page = build_page(score_record([f"do {n}" for n in range(12)], human=True))
    drawn = chart(page, "Scores against people")
    assert {"amt", "regional"} <= {trace["name"] for trace in drawn.traces}
    table = next(t for t in blocks(page, Table) if t.title == "Agreement")
    assert table.rows[0][1] == "0.70*** (0.50 … 0.80), n = 56"
    assert any("allows: 0.970" in line for s in page.sections for line in s.prose)
    residuals = chart(page, "Largest residuals")
    assert residuals.layout["yaxis"]["names"][0] == "do 11"
    assert residuals.layout["yaxis"]["names"][-1] == "do 0"


def test_words_are_drawn_with_a_pooled_and_two_inner_fits():
    page = build_page(words_record())
    drawn = chart(page, "Association against bias")
    lines = [trace for trace in drawn.traces if trace["mode"] == "lines"]
    assert [line["line"]["dash"] for line in lines] == ["dot", "dot", "solid"]
    assert ("0.78***", "r, all words") in page.figures
    assert "unknown" not in [row[0] for row in page.main.rows]


def test_the_fit_line_is_least_squares():
    plain = words_record()
    for row in plain["results"][:-1]:
        row["association"] = 2 * row["bias"] + 1
    fit = chart(build_page(plain), "Association against bias").traces[-1]
    for x, y in zip(fit["x"], fit["y"], strict=True):
        assert y == pytest.approx(2 * x + 1, abs=1e-4)


def test_compare_draws_slopes_and_the_most_disputed_first():
    page = build_page(compare_record())
    drawn = chart(page, "Score of each action by model")
    assert [trace["name"] for trace in drawn.traces] == ["help", "wait", "harm"]
    assert {trace["line"]["dash"] for trace in drawn.traces} == {"dash"}  # mpnet is harsher
    assert any("was not met" in line for line in page.summary)
    table = next(t for t in blocks(page, Table) if t.title.startswith("Largest differences"))
    assert table.rows[0][:4] == ["help", 1.0, 0.0, -1.0]


def test_score_and_compare_name_their_axis_and_unit():
    assert "choice axis, scores a difference of cosines" in build_page(score_record()).headline
    plain = score_record()
    plain["config"] |= {"axis": "judge", "experts": "stories-mpnet"}
    assert "judge axis, scores from -1 (bad) to +1 (good)" in build_page(plain).headline
    plain = compare_record()
    plain["config"] |= {"axis": "choice", "scale": "z-score of each encoder"}
    page = build_page(plain)
    assert page.headline.endswith("choice axis")
    assert "scale: z-score of each encoder" in page.sections[0].prose


def test_no_star_where_the_interval_is_written_with_an_end_at_zero():
    plain = compare_record()
    for row, low in zip(plain["results"], (-1.5, -1.5, -1.5), strict=True):
        row["differences"][0] |= {"p_holm": 0.01, "low": low, "high": -0.2}
    plain["results"][0]["differences"][0]["high"] = -0.004
    table = next(
        t for t in blocks(build_page(plain), Table) if t.title.startswith("Largest differences")
    )
    stars = {row[0]: row[-1].endswith("*") for row in table.rows}
    first = plain["results"][0]["action"]
    assert stars == {name: name != first for name in stars}


def test_no_score_that_differs_from_zero_lies_in_the_grey_band():
    """A narrow interval beside a wide one: help is nearer to zero than wait, and yet above it."""
    wait, help_, stall = (
        Mark("wait", 0.4, 0, -0.2, 1.0),
        Mark("help", 0.2, 1, 0.1, 0.3),
        Mark("stall", 0.1, 2, -0.5, 0.7),
    )
    for rows, band in (
        ([wait, help_, stall], [0.0, 0.1]),
        ([wait, stall], [0.0, 0.4]),
        ([wait, help_], None),
    ):
        (section,) = ranked_section(rows, ("bad", "good"), "")
        assert section.blocks[0].layout["xaxis"].get("band") == band
        assert ("grey band" in section.prose[0]) == (band is not None)


def test_rank_is_a_ranked_list_under_its_question():
    page = build_page(to_plain(rank("to toast bread", ["hamster", "bread"], encoder="scripted")))
    assert page.title == "to toast bread"
    assert chart(page, "Ranked answers").layout["yaxis"]["names"][0] == "bread"


def test_reproduce_choice_stands_beside_the_paper():
    plain = to_plain(reproduce_choice(["scripted"]))
    page = build_page(plain)
    table = next(t for t in blocks(page, Table) if t.title.startswith("Means, t and Figure 4"))
    titles = [column.title for column in table.columns]
    assert titles == ["figure", "column", "ours", "interval", "paper", "came out"]
    assert len(table.rows) >= 7
    assert chart(page, "Table 2: dos and don'ts (scripted)").labels


@pytest.mark.slow
def test_reproduce_direction_draws_the_four_figures():
    page = build_page(to_plain(reproduce_direction(["scripted"])))
    names = {block.title for block in blocks(page, Chart)}
    assert {
        "Figures 1 and 4: map of the actions",
        "Table 9: ours against the paper's",
        "Explained variance by component",
    } <= names


def test_an_unknown_job_becomes_readable_tables():
    page = build_page(unknown_record())
    assert page.title == "moralscope something new"
    results = next(t for t in blocks(page, Table) if t.title == "Results")
    assert [column.title for column in results.columns] == ["text", "group", "before", "after"]
    assert "n 5, mean 0.5, sd 0.1" in report_html(unknown_record())


class Elements(html.parser.HTMLParser):
    """Collects what a browser would make elements and handlers of."""

    def __init__(self):
        super().__init__()
        self.tags, self.handlers, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name == "href"]
        self.handlers += [name for name, _ in attributes if name.startswith("on")]


def all_hostile():
    yield score_record(HOSTILE, axis="direction", human=True)
    yield compare_record(HOSTILE)
    yield {**unknown_record(), "job": HOSTILE[1], "warnings": list(HOSTILE)}
    yield record("x", [], config={HOSTILE[1]: HOSTILE[0]}, statistics={HOSTILE[0]: {HOSTILE[1]: 1}})
    plain = words_record()
    for row, text in zip(plain["results"], HOSTILE, strict=False):
        row["word"] = row["group"] = text
    yield plain


@pytest.mark.parametrize("plain", list(all_hostile()))
def test_hostile_text_is_text_in_every_report(plain):
    document = report_html(plain)
    found = Elements()
    found.feed(re.sub(r"<script>.*?</script>", "<script></script>", document, flags=re.DOTALL))
    assert found.tags.count("script") == 5  # data, charts, tables, the report
    assert not {"img", "svg", "b", "i"} & set(found.tags)
    assert all(re.fullmatch(r"#s\d+", link) for link in found.links)  # the contents
    assert found.handlers == []
    assert "<" not in re.search(r"id=data>(.*?)</script>", document)[1]


def test_line_separators_and_lone_surrogates_do_no_harm():
    document = report_html(score_record(["a\u2028b\u2029c", "\ud800 half", "\u202eback", "x\x00y"]))
    document.encode("utf-8")
    names = [
        row[0] for row in next(b for b in data(document)["blocks"].values() if "rows" in b)["rows"]
    ]
    assert names == ["a b c", "� half", "�back", "x�y"]


def test_nothing_is_asked_of_the_network():
    document = report_html(score_record())
    head = document.split("</head>")[0]
    assert "default-src 'none'" in head
    assert head.count("sha256-") == 4
    assert "unsafe-eval" not in head
    assert not re.search(r"script-src[^;]*unsafe-inline", head)
    ours = re.sub(r"<script>.*?</script>", "", document, flags=re.DOTALL)
    assert "http://" not in ours
    assert "https://" not in ours


def test_the_same_record_gives_the_same_report():
    assert report_html(score_record()) == report_html(score_record())


def test_five_thousand_actions_fit_in_eight_megabytes():
    words = [f"do something of ordinary length number {n}" for n in range(5000)]
    assert len(report_html(score_record(words, axis="direction")).encode()) <= 8_000_000


def test_more_rows_than_a_page_can_hold_are_named():
    page = build_page(score_record([f"do {n}" for n in range(20_010)]))
    assert len(page.main.rows) == 20_000
    assert page.main.note == "10 in the middle are in the run record only."


def test_numbers_that_are_null_are_left_out_and_counted():
    plain = score_record(["a", "b", "c"])
    plain["results"][1]["score"] = None
    page = build_page(plain)
    assert len(page.main.rows) == 2
    assert any("1 of 3 got no score" in line for line in page.summary)


@pytest.mark.parametrize(
    "plain",
    [
        score_record([]),
        record("compare", []),
        record("reproduce", [], config={"paper": "integrity"}),
    ],
)
def test_an_empty_record_still_makes_a_report(plain):
    assert "What it does not mean" in report_html(plain)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "moralscope.run/2"}, "upgrade moralscope"),
        ({"schema": "moralscope.run/x"}, "upgrade moralscope"),
        ({"schema": "other"}, "not a run record"),
        ({"schema": 7}, "not a run record"),
        ({"job": None}, "no usable 'job'"),
        ({"results": {}}, "no usable 'results'"),
        ({"config": []}, "no usable 'config'"),
        ({"statistics": [1]}, "no usable 'statistics'"),
        ({"results": [1, 2]}, "row 1"),
        ({"results": [{"action": "a", "score": "high"}]}, "row 1, score is 'high'"),
        ({"results": [{"action": "a", "score": True}]}, "row 1, score is 'True'"),
        ({"results": [{"action": "a", "score": 1, "prompts": ["x"]}]}, "row 1, prompts, row 1"),
        ({"results": [{"action": "a", "score": 1, "prompts": 3}]}, "row 1, prompts"),
        ({"statistics": {"map": {"points": [[1], [1], [1]]}}}, "map"),
        ({"statistics": {"human": {"rows": [1]}}}, "human"),
        ({"statistics": {"direction": {"explained_variance": "all"}}}, "direction"),
    ],
)
def test_what_is_no_run_record_is_refused_in_words(change, message):
    with pytest.raises(InputError, match=re.escape(message)):
        build_page({**score_record(), **change})


@pytest.mark.parametrize("value", [None, [], "text", 3, {}])
def test_other_json_is_no_run_record(value):
    with pytest.raises(InputError, match="is not a run record"):
        check_record(value)


def test_numbers_beyond_measure_are_read_as_missing():
    plain = score_record(["a", "b"])
    plain["results"][0]["score"] = 10**400
    plain["results"][1]["low"] = float("inf")
    page = build_page(plain)
    assert [row[0] for row in page.main.rows] == ["b"]
    assert math.isnan(page.main.rows[0][3][0])


def test_in_a_narrow_terminal_titles_are_broken_rather_than_the_words_of_texts():
    heads = head(
        "after | answers that turn: share interval 0 | moved: signed interval 2",
        "beyond neutral turns: signed interval 2 | gives way",
    )
    spans = [(0.28, 0.17, 0.42), (-0.04, -0.4, 0.13), (-0.21, -0.31, -0.09)]
    table = Table("t", heads, [["repetition", *spans, "no"], ["objection", *spans, "no"]])
    for width, lines in ((80, 4), (120, 3)):
        out = Console(width=width, file=io.StringIO())
        render(Page("p", [], [], [Section("", [], [table], shown="all")]), out)
        printed = out.file.getvalue().splitlines()
        assert len(printed) == lines
        assert [line.split()[0] for line in printed[-2:]] == ["repetition", "objection"]
