"""The job behind `words associate`: records that hide nothing."""

import json
import logging

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.io.files import record_lines
from moralscope.words.associate import associate, associate_tests
from moralscope.words.vectors import TableVectors, scripted_vectors


def plain(record):
    return json.loads("".join(record_lines(record)))


def test_the_record_holds_word_and_score_in_order():
    record = plain(associate(["steal", "zzz", "gift", "steal"], vectors="scripted"))
    assert record["job"] == "words associate"
    assert [row["word"] for row in record["results"]] == ["steal", "zzz", "gift", "steal"]
    assert record["results"][1]["score"] is None
    assert record["results"][0] == pytest.approx(record["results"][3])
    assert record["config"]["sets"] == "papers"
    assert record["config"]["case"] == "exact"
    assert record["models"] == [{"name": "scripted", "sha256": scripted_vectors().checksum}]
    assert record["statistics"]["missing"] == ["zzz"]
    assert record["statistics"]["scores"]["n"] == 3


def test_warnings_name_what_is_missing_and_what_stands_in_the_sets():
    warnings = " / ".join(associate(["joy", "zzz"], vectors="scripted").warnings)
    assert "1 of 2 words are out of vocabulary: zzz" in warnings
    assert "positive words of papers are out of vocabulary: affectionate" in warnings
    assert "1 words stand in the sets themselves" in warnings
    assert "not moral advice" in warnings


def test_complete_words_leave_no_warning_about_words(tmp_path):
    (tmp_path / "mine.yaml").write_text("positive: [joy]\nnegative: [war]\n")
    record = associate(["gift"], vectors="scripted", sets=str(tmp_path / "mine.yaml"))
    assert len(record.warnings) == 1
    assert record.config["sets"] == "mine"


def test_lower_case_is_a_policy_of_the_record():
    record = associate(["JOY"], vectors=scripted_vectors(case="lower"))
    assert record.config["case"] == "lower"
    assert record.results[0].word == "JOY"
    assert record.results[0].score == associate(["joy"], vectors="scripted").results[0].score
    assert "1 words stand in the sets" in " ".join(record.warnings)


def test_sets_that_meet_in_lower_case_are_refused(tmp_path):
    (tmp_path / "mine.yaml").write_text("positive: [Joy]\nnegative: [joy]\n")
    with pytest.raises(InputError, match="share 1 words"):
        associate(
            ["gift"], vectors=scripted_vectors(case="lower"), sets=str(tmp_path / "mine.yaml")
        )


def test_duplicate_rows_are_told_in_the_record(caplog, tmp_path):
    (tmp_path / "mine.yaml").write_text("positive: [joy]\nnegative: [war]\n")
    with caplog.at_level(logging.ERROR):
        vectors = TableVectors("twice", "0" * 64, np.eye(3), ["joy", "war", "joy"])
    record = associate(["joy"], vectors=vectors, sets=str(tmp_path / "mine.yaml"))
    assert "twice holds 1 duplicate words: the first is used" in record.warnings


def test_a_test_stands_beside_its_published_figures():
    record = plain(associate_tests("caliskan-7", vectors="scripted"))
    (row,) = record["results"]
    assert row["published"]["word2vec"] == {"d": 0.97, "p": 0.027}
    assert row["exact"] is True
    assert (row["n_x"], row["n_y"], row["partitions"]) == (4, 4, 70)
    assert row["missing"]["x"] == ["calculus", "equations", "computation", "addition"]
    assert row["low"] <= row["effect_size"] <= row["high"]
    assert "caliskan-7 lacks words out of vocabulary: 4 of 8 in x" in record["warnings"][1]


def test_a_test_that_cannot_be_run_says_so_and_spares_the_others():
    record = associate_tests("all", vectors="scripted")
    problems = {row.name: row.problem for row in record.results}
    assert len(problems) == 10
    assert problems["caliskan-7"] is None
    assert "is in scripted" in problems["caliskan-2"]
    assert record.results[1].effect_size is None
    assert any("caliskan-2 could not be run" in line for line in record.warnings)


def test_no_test_at_all_is_an_error():
    with pytest.raises(InputError, match="no test can be run on scripted"):
        associate_tests(["caliskan-2", "caliskan-10"], vectors="scripted")
    with pytest.raises(InputError, match="none was named"):
        associate_tests([], vectors="scripted")
    with pytest.raises(InputError, match="no target sets"):
        associate_tests(["papers"], vectors="scripted")


def test_weak_tests_are_called_weak(tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "positive: [joy, love]\nnegative: [war]\nx: [gift, love]\ny: [steal]\n"
    )
    warnings = " / ".join(associate_tests(str(tmp_path / "mine.yaml"), vectors="scripted").warnings)
    assert "only 3 partitions" in warnings
    assert "p cannot be below 0.33" in warnings
    assert "both as target and in a set: love" in warnings


def test_with_plurals_standing_in_eight_of_caliskans_tests_hold(word_vectors_26k):
    """Sign and significance (5 %) as published for word2vec; the stand-ins are named."""
    record = associate_tests(vectors=word_vectors_26k, missing="plural")
    agree = [
        row.name
        for row in record.results
        if row.p is not None
        and row.effect_size * row.published["word2vec"].d > 0
        and (row.p < 0.05) == (row.published["word2vec"].p < 0.05)
    ]
    assert len(agree) >= 8
    assert record.statistics["stand_ins"]["orchid"] == "orchids"
    assert any("orchids for orchid" in line for line in record.warnings)


def test_an_unknown_policy_for_missing_words_is_refused():
    with pytest.raises(InputError, match=r"missing is 'guess'; .*leave"):
        associate_tests(vectors="scripted", missing="guess")
