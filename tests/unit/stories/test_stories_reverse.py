"""The job counts what it can reverse and lists what it cannot."""

import json

import pytest

from moralscope.core.errors import InputError
from moralscope.io.files import record_lines
from moralscope.stories.reverse import reverse_norms
from moralscope.stories.story import SENTENCES


def write(path, norms):
    rows = [
        dict.fromkeys(SENTENCES) | {"ID": str(place), "norm": norm}
        for place, norm in enumerate(norms)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_norms_are_reversed_in_as_many_wordings_as_asked():
    record = reverse_norms(["It's rude to hum.", "Bonjour !"], variants=4)
    first, second = record.results
    assert len(first.reversals) == 4
    assert (first.behaviour, first.polarity) == ("hum", -1)
    assert (second.reversals, second.pattern) == ((), "not read")


def test_a_file_is_reported_by_pattern(tmp_path):
    norms = ["You should hum.", "Humming is rude.", "Hum-de-dum", "You shouldn't hum."]
    found = reverse_norms(file=write(tmp_path / "s.jsonl", norms)).statistics
    assert (found["norms"], found["reversed"], found["share"]) == (4, 3, 0.75)
    assert found["patterns"] == {"should / must": 2, "…ing is": 1, "not read": 1}
    assert found["unread"] == ("Hum-de-dum",)
    assert (found["demand"], found["forbid"]) == (1, 2)
    assert found["read_back"] == found["written"] == 9


def test_the_list_of_unread_norms_is_bounded(tmp_path):
    record = reverse_norms([f"Hum {n}" for n in range(150)])
    assert len(record.statistics["unread"]) == 100
    assert record.warnings == ["50 more norms that were not read are not listed"]


def test_the_record_is_json():
    record = reverse_norms(["It's rude to hum."])
    assert json.loads("".join(record_lines(record)))["results"][0]["polarity"] == -1


def test_norms_and_a_file_at_once_are_refused(tmp_path):
    with pytest.raises(InputError, match="both"):
        reverse_norms(["It's rude to hum."], file=tmp_path / "s.jsonl")


def test_stories_without_a_norm_are_refused(tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"ID": "1", "situation": "Jo is at work."}) + "\n")
    with pytest.raises(InputError, match="no norm"):
        reverse_norms(file=path)
