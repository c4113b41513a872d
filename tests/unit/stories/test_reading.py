"""Stories are read in every official shape, and nothing malformed is read silently."""

import json
import os
from pathlib import Path

import pytest

from moralscope.core.errors import InputError
from moralscope.io import formats
from moralscope.stories.reading import read_stories

FULL = {
    "ID": "A1",
    "norm": "You should water a neighbor's plants.",
    "situation": "Mia minds her neighbor's flat.",
    "intention": "Mia wants a quiet week.",
    "moral_action": "Mia waters the plants.",
    "moral_consequence": "The plants bloom.",
    "immoral_action": "Mia lets the plants dry.",
    "immoral_consequence": "The plants die.",
}


def write(path, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def sample(digit, label, *names, story="A1"):
    return {"ID": f"{story}{digit}", **{name: FULL[name] for name in names}, "label": label}


def test_a_full_file_keeps_and_counts_missing_sentences(tmp_path):
    short = {key: FULL[key] for key in ("norm", "moral_action", "immoral_action")}
    rows = [FULL, {"ID": "A2", **short, "situation": None, "intention": "  "}]
    found = read_stories(write(tmp_path / "s.jsonl", *rows))
    assert [story.id for story in found.stories] == ["A1", "A2"]
    assert len(found.complete) == 1
    assert found.stories[1].missing == (
        "situation",
        "intention",
        "moral_consequence",
        "immoral_consequence",
    )
    assert found.stories[0].immoral_consequence == "The plants die."


def test_keys_that_are_not_there_are_missing_sentences(tmp_path):
    rows = [
        {"ID": "A1", **{key: FULL[key] for key in ("norm", "situation", "intention")}},
        {"ID": "A2", "moral_action": FULL["moral_action"]},
    ]
    found = read_stories(write(tmp_path / "s.jsonl", *rows))
    assert [len(story.missing) for story in found.stories] == [4, 6]
    assert found.stories[0].intention == FULL["intention"]
    assert found.complete == ()


def test_the_samples_of_a_task_file_become_one_story(tmp_path):
    path = tmp_path / "consequence+action" / "minimal_pairs" / "dev.jsonl"
    write(
        path,
        sample(1, "1", "moral_action", "moral_consequence"),
        sample(2, "0", "moral_action", "immoral_consequence"),
        sample(3, "1", "immoral_action", "immoral_consequence"),
        sample(4, "0", "immoral_action", "moral_consequence"),
    )
    (story,) = read_stories(path).stories
    assert story.id == "A1"
    assert story.missing == ("norm", "situation", "intention")
    assert story.consequence("moral") == "The plants bloom."
    assert story.splits == {"consequence": {"minimal_pairs": "dev"}}


def test_a_folder_puts_files_and_membership_together(tmp_path):
    write(tmp_path / "moral_stories_full.jsonl", FULL)
    write(
        tmp_path / "classification" / "action+norm" / "norm_distance" / "test.jsonl",
        sample(1, "1", "norm", "moral_action"),
        sample(0, "0", "norm", "immoral_action"),
    )
    old_name = tmp_path / "classification" / "consequence+action+context" / "norm_overlap"
    write(old_name / "test.jsonl", sample(1, "1", "moral_action", "moral_consequence"))
    (story,) = read_stories(tmp_path).stories
    assert not story.missing
    assert story.official("action", "norm_distance") == "test"
    assert story.official("consequence", "norm_distance") == "test"


def test_a_path_that_says_nothing_gives_no_membership(tmp_path):
    path = write(tmp_path / "dev.jsonl", sample(1, "1", "moral_action"))
    assert read_stories(path).stories[0].splits == {}


def test_the_same_story_in_two_parts_is_reported(tmp_path):
    for part in ("dev", "test"):
        write(
            tmp_path / "action" / "lexical_bias" / f"{part}.jsonl", sample(1, "1", "moral_action")
        )
    found = read_stories(tmp_path, malformed="skip")
    assert "puts story A1 in test, an earlier line in dev" in str(found.problems[0])


MALFORMED = {
    "cut short": ('{"ID": "B", "norm": "Be', "is not JSON (cut short?)"),
    "not JSON": ("{norm}", "is not JSON"),
    "no object": ("[1]", "is not an object"),
    "no ID": (json.dumps({**FULL, "ID": None}), "has no text under 'ID'"),
    "blank ID": (json.dumps({**FULL, "ID": " "}), "has no text under 'ID'"),
    "no known key": ('{"ID": "B", "text": "Be kind."}', "has none of the sentences"),
    "blank sentences": ('{"ID": "B", "norm": " ", "intention": null}', "has none of the sentences"),
    "wrong type": (json.dumps({**FULL, "ID": "B", "norm": 3}), "has no text under 'norm' but int"),
    "wrong label": (
        json.dumps({"ID": "B1", "moral_action": "x", "label": "2"}),
        "has the label '2'",
    ),
    "label of another type": (
        json.dumps({"ID": "B1", "moral_action": "x", "label": 1}),
        "has the label '1', which is neither",
    ),
    "label against ID": (
        json.dumps({"ID": "B0", "moral_action": "x", "label": "1"}),
        "an ID ending in 0 says otherwise",
    ),
    "ID without digit": (
        json.dumps({"ID": "Bx", "moral_action": "x", "label": "1"}),
        "does not end in a sample's digit",
    ),
    "no sentence": ('{"ID": "B1", "label": "1"}', "has none of the sentences"),
    "repeated ID": (json.dumps(FULL), "repeats the ID of line 1"),
    "unknown part": (
        json.dumps({**FULL, "ID": "B", "splits": {"action": {"norm_distance": "valid"}}}),
        "has the part 'valid'",
    ),
    "unknown kind": (json.dumps({**FULL, "ID": "B", "splits": {"norm": {}}}), "splits of 'norm'"),
    "half a surrogate": (json.dumps({**FULL, "ID": "B", "norm": "\ud800"}), "that is not text"),
    "too long a text": (json.dumps({**FULL, "ID": "B", "norm": "x" * 10_001}), "10,001 characters"),
    "deep": ("[" * 100_000, "is not JSON"),
    "another sentence": (
        json.dumps({"ID": "A11", "moral_action": "Mia sleeps.", "label": "1"}),
        "has another moral_action than an earlier line of story A1",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_line_is_named_and_the_others_are_read(name, tmp_path):
    line, told = MALFORMED[name]
    path = tmp_path / "s.jsonl"
    last = json.dumps({**FULL, "ID": "C"})
    path.write_text(f"{json.dumps(FULL)}\n{line}\n\n{last}\n", encoding="utf-8")
    found = read_stories(path, malformed="skip")
    assert [story.id for story in found.stories] == ["A1", "C"]
    (problem,) = found.problems
    assert problem.line == 2
    assert told in problem.what
    with pytest.raises(InputError, match="line 2 "):
        read_stories(path)


def test_every_malformed_line_is_reported_before_stopping(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{\n" + json.dumps(FULL).encode() + b"\n\xff\n7\n")
    with pytest.raises(InputError, match=r"3 malformed lines: line 1 .*line 3 .*UTF-8.*line 4 "):
        read_stories(path)


def test_an_absurdly_long_line_is_passed_over_without_being_held(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MAX_LINE", 1000)
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * 10_000 + b"\n" + json.dumps(FULL).encode())
    found = read_stories(path, malformed="skip")
    assert found.problems[0].what.startswith("has more than")
    assert found.stories[0].id == "A1"


def test_a_byte_order_mark_is_no_problem(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(FULL), encoding="utf-8-sig")
    assert len(read_stories(path).stories) == 1


@pytest.mark.parametrize("make", ["empty", "blank", "folder", "absent", "garbage"])
def test_what_holds_no_stories_is_refused(make, tmp_path):
    path = tmp_path / "s.jsonl"
    if make == "folder":
        path = tmp_path / "empty"
        path.mkdir()
    elif make != "absent":
        path.write_text({"empty": "", "blank": "\n\n", "garbage": "{"}[make])
    with pytest.raises(InputError):
        read_stories(path, malformed="skip")


def test_an_unknown_policy_is_refused(tmp_path):
    with pytest.raises(InputError, match="stop or skip"):
        read_stories(write(tmp_path / "s.jsonl", FULL), malformed="mend")


@pytest.mark.realdata
def test_the_official_files_give_the_full_file_again():
    root = os.environ.get("MORALSCOPE_DATA")
    if not root:
        pytest.skip("MORALSCOPE_DATA is not set")
    folder = Path(root, "moral_stories")
    full = read_stories(folder / "stories.jsonl")
    assert (len(full.stories), len(full.complete), full.problems) == (12_000, 6_912, ())
    tasks = read_stories(folder / "classification")
    assert {story.id for story in tasks.stories} == {story.id for story in full.stories}
    by_id = {story.id: story for story in full.stories}
    for story in tasks.stories:
        assert story.moral_action == by_id[story.id].moral_action
        assert story.immoral_consequence == by_id[story.id].immoral_consequence
