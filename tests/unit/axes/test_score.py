import json

import pytest

from moralscope.axes.choice import rank
from moralscope.axes.score import DEMO_ACTIONS, score
from moralscope.core.errors import InputError, StoreError, UnknownName
from moralscope.io.files import record_lines, write_record
from moralscope.models.store.commands import list_models, verify_models, where_models
from moralscope.papers.choice import reproduce_choice


def as_json(record):
    return json.loads("".join(record_lines(record)))


def test_a_score_record_has_the_shape_of_the_contract():
    document = as_json(score(["kill time", "kill people"], encoder="scripted", seed=3))
    assert list(document) == [
        "schema",
        "job",
        "version",
        "created",
        "seed",
        "config",
        "models",
        "results",
        "statistics",
        "warnings",
    ]
    assert document["schema"] == "moralscope.run/1"
    assert document["seed"] == 3
    assert document["models"][0]["name"] == "scripted"
    assert [row["action"] for row in document["results"]] == ["kill time", "kill people"]
    for row in document["results"]:
        assert row["low"] <= row["score"] <= row["high"]
        assert len(row["prompts"]) == 10
    assert document["statistics"]["scores"]["n"] == 2
    assert any("not moral advice" in line for line in document["warnings"])


def test_the_same_seed_gives_the_same_record():
    first, again = (score(["eat", "kill time"], encoder="scripted", seed=5) for _ in range(2))
    assert first == again


def test_an_unknown_axis_is_answered_with_the_nearest():
    with pytest.raises(UnknownName, match="did you mean 'choice'"):
        score(["kill time"], axis="choise", encoder="scripted")


def test_the_gender_template_scores_occupations(minilm):
    nurse, coach = score(["nurse", "coach"], encoder=minilm, template="gender").results
    assert coach.score < 0 < nurse.score


def test_a_record_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    record = score(["kill time"], encoder="scripted")
    path = tmp_path / "run.json"
    write_record(record, path)
    before = path.read_bytes()
    assert json.loads(before) == as_json(record)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Exception, match=r"could not be written \(No space left"):
        write_record(record, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["run.json"]


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    record = score(["kill time"], encoder="scripted")
    for path in (tmp_path, tmp_path / "none" / "run.json"):
        with pytest.raises(InputError, match="cannot be written"):
            write_record(record, path)


def test_rank_refuses_an_empty_question_and_no_answers():
    with pytest.raises(InputError, match="empty"):
        rank(" ", ["bread"], encoder="scripted")
    with pytest.raises(InputError, match="no actions"):
        rank("What?", [], encoder="scripted")


def test_the_demo_has_twenty_actions():
    assert len(set(DEMO_ACTIONS)) == 20
    assert {"kill people", "kill time", "eat meat", "eat dirt"} <= set(DEMO_ACTIONS)


def test_reproduce_leaves_out_what_cannot_be_fetched(empty_home):
    record = reproduce_choice(["scripted", "minilm"])
    assert [result.encoder for result in record.results] == ["scripted"]
    assert any(line.startswith("minilm was left out") for line in record.warnings)
    with pytest.raises(StoreError, match="models pull minilm"):
        reproduce_choice(["minilm"])
    json.loads("".join(record_lines(record)))


def test_models_are_listed_and_found(empty_home):
    statuses = {status.name: status for status in list_models()}
    assert set(statuses) == {
        "minilm",
        "mpnet",
        "use-lite",
        "smollm2",
        "gemma3-270m",
        "tinyllama",
        "qwen",
        "qwen-small",
        "googlenews-26k",
        "glove-50",
        "english-verbs",
        "bert-tiny-toxicity",
        "use-multilingual",
    }
    assert statuses["minilm"].state == "absent"
    assert where_models() == str(empty_home)
    assert where_models("minilm").startswith(str(empty_home))
    with pytest.raises(StoreError, match="models pull"):
        verify_models([])
    with pytest.raises(UnknownName, match="did you mean 'mpnet'"):
        where_models("mpnett")
