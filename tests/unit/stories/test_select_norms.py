"""Norms for new stories from SOCIAL-CHEM-101: what each filter removes, and bad files."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from moralscope.annotation.item_files import read_items
from moralscope.core.errors import InputError
from moralscope.stories.select_norms import select_norms, write_norms

_HEAD = ("area", "rot-agree", "rot-categorization", "rot-bad", "action-moral-judgment", "rot")
_ROWS = (
    ("dear", "4", "morality-ethics", "0", "-2", "It's wrong to steal."),
    ("dear", "3", "social-norms|advice", "0", "1", "You should thank your host."),
    ("dear", "4", "social-norms", "0", "1", "It's kind to share."),
    ("dear", "4", "advice", "0", "1", "You should save money."),
    ("dear", "2", "social-norms", "0", "-1", "It's rude to be early."),
    ("dear", "4", "social-norms", "0", "0", "It's okay to nap."),
    ("dear", "4", "social-norms", "1", "1", "It's good to."),
    ("dear", "4", "social-norms", "0", "1", "It's fine to ask, but it's rude to insist."),
    ("dear", "", "social-norms", "0", "1", "It's good to whistle."),
    ("dear", "4", "social-norms", "0", "1", "It's good to tell a secret."),
    ("dear", "4", "social-norms", "0", "-1", "It's good to tell a secret."),
    ("dear", "4", "social-norms", "0", "2", "it's kind to share"),
)


def _file(path: Path, rows: tuple[tuple[str, ...], ...] = _ROWS, delimiter: str = "\t") -> Path:
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, delimiter=delimiter).writerows([_HEAD, *rows])
    return path


def test_each_filter_of_the_paper_removes_its_own_and_is_counted(tmp_path: Path) -> None:
    record = select_norms(_file(tmp_path / "sc.tsv"))
    assert [row.norm for row in record.results] == [
        "It's wrong to steal.",
        "You should thank your host.",
        "It's kind to share.",
    ]
    assert record.statistics["removed"] == {
        "marked as unclear": 1,
        "other categories": 1,
        "not rated by people": 1,
        "controversial": 1,
        "value-neutral": 1,
        "people judge both ways": 1,
        "more than one judgment": 1,
    }
    assert (record.statistics["rows"], record.statistics["rules"]) == (12, 10)
    shared = record.results[2]
    assert (shared.judgment, shared.people) == (1.5, 2)


def test_the_norms_are_items_of_a_story_writing_project(tmp_path: Path) -> None:
    record = select_norms(_file(tmp_path / "sc.csv", delimiter=","))
    write_norms(record.results, tmp_path / "norms.csv")
    items = read_items(tmp_path / "norms.csv", "story-writing")
    assert len(items) == 1
    assert set(items[0].texts.values()) == {row.norm for row in record.results}


def test_a_draw_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    rows = tuple(("a", "4", "social-norms", "0", "1", f"It's kind to share {n}.") for n in range(9))
    path = _file(tmp_path / "sc.tsv", rows)
    drawn = [select_norms(path, count=3, seed=seed).results for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 3


def test_bad_lines_are_named_or_left_out(tmp_path: Path) -> None:
    bad = (*_ROWS, ("dear", "many", "social-norms", "0", "1", "It's good to sing."))
    path = _file(tmp_path / "sc.tsv", bad)
    with pytest.raises(InputError, match=r"line 14 has 'many' under 'rot-agree'"):
        select_norms(path)
    record = select_norms(path, malformed="skip")
    assert record.statistics["malformed"] == 1
    assert "line 14" in record.warnings[0]


def test_the_command_says_what_a_file_lacks_and_which_categories_there_are(tmp_path: Path) -> None:
    from moralscope.cli.stories import app

    (tmp_path / "other.csv").write_text("norm\nBe kind.\n")
    for given, told in (
        ([str(tmp_path / "other.csv")], "rot"),
        ([str(_file(tmp_path / "sc.tsv")), "--categories", "ethics"], "morality-ethics"),
        ([str(_file(tmp_path / "sc.tsv")), "--agree", "7"], "0 to 4"),
    ):
        found = CliRunner().invoke(app, ["norms", *given])
        assert isinstance(found.exception, InputError)
        assert told in str(found.exception)
    items = tmp_path / "norms.csv"
    found = CliRunner().invoke(app, ["norms", str(tmp_path / "sc.tsv"), "--items", str(items)])
    assert found.exit_code == 0, found.exception
    assert "controversial" in found.stdout
    assert items.read_text().startswith("norm,categories,agree,judgment")
