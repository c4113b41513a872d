"""Stories found, described and split: records, membership files, reports and the commands."""

import json
import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from moralscope.cli.stories import split, stats
from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.models.encoders import load_encoder
from moralscope.pages import report_html
from moralscope.stories.reading import load_stories, read_stories
from moralscope.stories.split import stories_split, write_membership
from moralscope.stories.splits import part_of
from moralscope.stories.stats import stories_stats


def row(number):
    made = {
        "ID": f"S{number:02}",
        "norm": f"You should return thing {number} to a friend.",
        "moral_action": f"Ana gives thing {number} back to her friend.",
        "immoral_action": f"Ana sells thing {number} " + "for money " * (1 + number % 3),
    }
    if number % 2:
        made["moral_consequence"] = f"The friend thanks Ana {number} times."
        made["immoral_consequence"] = f"The friend is sad for {number} days."
    return made


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "mine.jsonl"
    place.write_text("".join(f"{json.dumps(row(n))}\n" for n in range(36)))
    return place


def test_stories_come_from_the_data_folder_or_the_card_is_named(path, monkeypatch, tmp_path):
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    with pytest.raises(InputError, match="data where moral-stories"):
        load_stories()
    (tmp_path / "moral_stories").mkdir()
    path.rename(tmp_path / "moral_stories" / "stories.jsonl")
    assert len(load_stories().stories) == 36


def test_stats_say_what_is_missing_beside_the_paper(path):
    path.write_text(path.read_text() + "{\n")
    record = stories_stats(load_stories(path, malformed="skip"), topics=2)
    plain = to_plain(record)
    assert plain["statistics"]["malformed_lines"] == 1
    assert plain["results"][0]["paper"] == 7.96
    assert plain["results"][1]["missing"] == 36
    assert len(plain["statistics"]["topics"]) == 2
    assert "left out: line 37" in plain["warnings"][0]
    page = report_html(plain)
    assert "Most frequent norms" in page
    assert "Table 13" in page


def test_a_split_is_written_and_read_again_as_membership(path, tmp_path):
    file = load_stories(path)
    record = stories_split(file, encoder=load_encoder("scripted"))
    assert (
        to_plain(stories_split(file, encoder=load_encoder("scripted")))["results"]
        == to_plain(record)["results"]
    )
    out = tmp_path / "with_splits.jsonl"
    write_membership(record, file, out)
    again = read_stories(out).stories
    assert [story.norm for story in again] == [story.norm for story in file.stories]
    parts = part_of(again, "norm_distance")
    assert parts == {row.id: row.action["norm_distance"] for row in record.results}
    assert sorted(parts.values()).count("test") == 3
    assert record.results[0].consequence["minimal_pairs"] is None
    assert record.results[1].consequence["minimal_pairs"] in ("train", "dev", "test")


def test_the_overlap_with_official_membership_is_reported(path, tmp_path):
    file = load_stories(path)
    record = stories_split(file, encoder=load_encoder("scripted"))
    assert all(item["official_overlap"] is None for item in record.statistics["parts"])
    out = tmp_path / "with_splits.jsonl"
    write_membership(record, file, out)
    again = stories_split(load_stories(out), encoder=load_encoder("scripted"))
    for item in again.statistics["parts"]:
        assert item["official_overlap"] == item["stories"]
        assert item["official_mean"] == item["mean"]
    assert any(leak.split.startswith("official ") for leak in again.statistics["leaks"])


def test_a_file_without_consequences_still_gets_the_action_splits(path, tmp_path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    keys = ("ID", "norm", "moral_action", "immoral_action")
    path.write_text("".join(json.dumps({k: r[k] for k in keys}) + "\n" for r in rows))
    record = stories_split(load_stories(path), encoder=load_encoder("scripted"))
    kinds = {(item["split"], item["kind"]) for item in record.statistics["parts"]}
    assert kinds == {
        ("norm_distance", "both"),
        ("lexical_bias", "action"),
        ("minimal_pairs", "action"),
    }
    assert any("consequences was not built" in line for line in record.warnings)
    assert "Splits" in report_html(to_plain(record))


@pytest.mark.parametrize("threshold", [0.0, 1.1, float("nan")])
def test_a_similarity_out_of_bounds_is_refused(threshold, path):
    with pytest.raises(InputError, match=r"0\.5 to 1"):
        stories_split(load_stories(path), encoder=load_encoder("scripted"), threshold=threshold)


@pytest.fixture
def door():
    app = typer.Typer()
    app.command("stats")(stats)
    app.command("split")(split)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_the_commands_print_tables_records_and_reports(door, path, tmp_path):
    shown = door("stats", path, "--topics", 0)
    assert shown.exit_code == 0, shown.exception
    assert "36 stories" in shown.stdout
    record = json.loads(door("split", path, "-e", "scripted", "--json").stdout)
    assert record["job"] == "stories split"
    out, page = tmp_path / "m.jsonl", tmp_path / "page.html"
    shown = door("split", path, "-e", "scripted", "--membership", out, "--report", page)
    assert "test in train" in shown.stdout
    assert len(out.read_text().splitlines()) == 36
    assert page.read_text().startswith("<!doctype html>")


def test_a_place_that_cannot_be_written_is_refused_before_work(door, path, tmp_path):
    found = door("split", path, "-e", "scripted", "--membership", tmp_path / "no" / "m.jsonl")
    assert isinstance(found.exception, InputError)


# Half of the stories. What grows, grows no faster than with their square: all of them need at most
# four times as much. The first ones are split before, so that what never grows is not counted so.
MEASURE = """
import time
from dataclasses import replace
from pathlib import Path
from moralscope.models.encoders import load_encoder
from moralscope.stories.reading import load_stories
from moralscope.stories.split import stories_split

def kilobytes():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

file, encoder = load_stories(), load_encoder("minilm")
assert len(file.stories) == 12_000
stories_split(replace(file, stories=file.stories[:600]), encoder=encoder)
start, held = time.process_time(), kilobytes()
record = stories_split(replace(file, stories=file.stories[::2]), encoder=encoder)
assert len(record.results) == 6_000
seconds = time.process_time() - start
print(start + 4 * seconds, held + 4 * (kilobytes() - held))
"""


@pytest.mark.slow
@pytest.mark.realdata
def test_all_splits_of_all_stories_within_five_minutes_and_three_gigabytes(minilm_folder):
    if not os.environ.get("MORALSCOPE_DATA"):
        pytest.skip("MORALSCOPE_DATA is not set")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, timeout=900
    )
    seconds, kilobytes = map(float, done.stdout.split())  # of the CPU: others may be at work here
    assert seconds < 300, done.stdout
    assert kilobytes < 3_000_000, done.stdout
