"""Every printed figure says the paper's value, ours, whether it came out again, and why not."""

import re

import pytest
from typer.testing import CliRunner

from moralscope.axes.direction.paper import load_paper as load_compass
from moralscope.cli.root import app
from moralscope.papers import PaperRow, PaperTable, with_outcomes
from moralscope.papers.choice import choice_tables, reproduce_choice
from moralscope.papers.direction import direction_tables, reproduce_direction
from moralscope.papers.options import StoriesOptions
from moralscope.papers.words import reproduce_words, words_tables
from moralscope.words.paper import load_paper


@pytest.fixture(scope="module")
def direction():
    return reproduce_direction(["scripted"]).results[0]


def test_the_papers_means_and_p_values_are_carried():
    paper = load_paper()
    assert (paper.all_summary.mean, paper.all_summary.sd, paper.p_below) == (-0.188, 0.25, 0.0001)
    figures = load_compass().figures
    assert (figures["use"].r, figures["use"].p) == (0.73, 2.3732e-16)
    assert (figures["bert"].r, figures["bert"].p) == (0.88, 1.1054e-29)
    assert (figures["use"].all.mean, figures["bert"].all.mean) == (-0.018, -0.054)


def test_table_7_keeps_dos_and_donts_on_their_lists(direction):
    paper = load_paper()
    assert {row.action for row in direction.table7.dos} <= set(paper.dos)
    assert {row.action for row in direction.table7.donts} <= set(paper.donts)


def test_direction_prints_figure_2_with_its_r_p_and_means():
    shown = CliRunner().invoke(app, ["reproduce", "direction", "--encoders", "scripted"]).output
    for printed in ("0.880", "0.730", "1.1e-29", "2.4e-16", "-0.054", "-0.018"):
        assert printed in shown
    assert "Why not all: other weights" in shown


def test_choice_prints_the_overall_mean_and_the_p_value():
    shown = CliRunner().invoke(app, ["reproduce", "choice", "--encoders", "scripted"]).output
    assert re.search(r"all, sum of biases +mean +\S+ +- +-0.188", shown)
    assert re.search(r"printed: below +p +\S+ +- +1.0e-04", shown)


def test_every_row_with_a_printed_figure_says_whether_it_came_out(direction):
    tables = [
        *choice_tables(reproduce_choice(["scripted"]).results[0]),
        *direction_tables(direction),
    ]
    rows = [row for table in tables for row in table.rows if row.paper is not None]
    assert len(rows) > 200
    for row in rows:
        came = row.reproduced in ("equal", "inside the interval")
        assert row.reproduced
        assert came == (row.why == "")


def test_a_share_outside_our_interval_is_no_success_for_having_the_same_sign():
    table = PaperTable("Table 2", [PaperRow("action", "accuracy", 0.5, 0.4, 0.6, 0.84)])
    [row] = with_outcomes(table, other="smaller", missing="none").rows
    assert (row.reproduced, row.why) == ("outside the interval", "smaller")


def test_quick_measures_few_stories_and_leaves_the_splits_out():
    assert StoriesOptions().max_stories is None
    quick = StoriesOptions(quick=True)
    assert (quick.max_stories, quick.encoder) == (50, "none")


def test_all_papers_are_one_record_and_one_page(tmp_path, monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MORALSCOPE_OFFLINE", "1")
    page = tmp_path / "page.html"
    command = ["reproduce", "all", "--encoders", "scripted", "--experts", "scripted"]
    ran = CliRunner().invoke(app, [*command, "--report", str(page)])
    assert ran.exit_code == 0, ran.output
    assert "stories was left out" in ran.output
    drawn = page.read_text("utf-8")
    for paper in ("choice: Table 2", "direction: Table 9", "integrity: Table 1"):
        assert paper in drawn
    assert "no MIC.csv was given" in drawn


def test_every_word_and_action_that_a_table_prints_has_its_row(direction):
    choice = choice_tables(reproduce_choice(["scripted"], vectors=()).results[0])
    named = {table.name.partition(":")[0]: table.rows for table in choice}
    assert {row.row for row in named["Table 2"]} == set(load_paper().bias_sums)
    assert sum(row.column.startswith("the printed order") for row in named["Table 3"]) == 3
    compass = load_compass()
    for table in direction_tables(direction):
        number, name = table.name.partition(":")[0], "bert" if "BERT" in table.name else "use"
        if number in ("Table 7", "Table 8"):
            printed = {"Table 7": compass.table7, "Table 8": compass.table8}[number][name]
            assert {row.row: row.paper for row in table.rows} == {**printed.dos, **printed.donts}


def test_a_figure_is_equal_when_it_has_the_printed_digits_and_a_spread_has_no_sign():
    rows = [
        PaperRow("norm", "tokens", 7.9583, None, None, 7.96),
        PaperRow("situation", "tokens", 15.86, None, None, 16.2),
        PaperRow("dos", "sd", 0.5, None, None, 0.18),
        PaperRow("dos", "mean", 0.5, None, None, 0.18),
    ]
    rows_out = with_outcomes(PaperTable("Table 7", rows), other="", missing="", signed=True).rows
    assert [row.reproduced for row in rows_out] == ["equal", "same sign", "differs", "same sign"]
    assert (
        with_outcomes(PaperTable("T", rows[1:2]), other="", missing="").rows[0].reproduced
        == "differs"
    )


def test_words_are_extracted_from_each_vocabulary_and_beside_the_printed_valence(monkeypatch):
    import moralscope.words.extract as extraction
    from moralscope.words.verbs import VerbLexicon

    verbs = frozenset({"help", "thank", "cheer", "kill", "steal", "slander"})
    lexicon = VerbLexicon("mine", "", verbs, verbs)
    monkeypatch.setattr(extraction, "load_verb_lexicon", lambda progress: lexicon)
    words, problems = reproduce_words(("scripted", "nobodys-vectors"))
    assert [extraction.vectors for extraction in words.extractions] == ["scripted"]
    assert "nobodys-vectors" in problems[0]
    weat, valence = words_tables(words)
    assert {row.row for row in weat.rows if row.column == "WEAT"} == set(load_paper().weat)
    assert {row.column for row in weat.rows} == {"WEAT", "r"}
    shared = [row for row in valence.rows if row.column == "in the papers' lists"]
    assert [row.row for row in shared] == [
        "extracted from scripted, of 3 dos",
        "extracted from scripted, of 3 don'ts",
    ]


def test_tables_are_in_the_papers_layout_one_row_for_each_system(tmp_path):
    page = tmp_path / "page.html"
    command = ["reproduce", "integrity", "--encoder", "none", "--bertscore", "none"]
    command += ["--report", str(page)]
    ran = CliRunner().invoke(app, command, env={"COLUMNS": "120", "MORALSCOPE_DATA": ""})
    assert ran.exit_code == 0, ran.output
    # Table 1 of Ziems et al. 2022: a system's figures stand in one row.
    assert re.search(r"T-5, beam +paper +53.89 +33.68 +52.62 +24.85 +93.52 +8.86", ran.output)
    assert "In the paper's layout" in page.read_text("utf-8")
