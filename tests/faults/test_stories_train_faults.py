"""`moralscope stories train` as a person types it: what works, and bad input in one line."""

import json
from functools import partial

import pytest

from ..expert_makers import story, tiny_bert
from ..generator_makers import tiny_llama


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("train")
    tiny_bert(place / "bert")
    tiny_llama(place / "llama")
    parts = ["train"] * 6 + ["dev"] * 2 + ["test"] * 2
    write(place / "own.jsonl", [story(number, part) for number, part in enumerate(parts)])
    return place


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def run(run, monkeypatch):
    monkeypatch.delenv("MORALSCOPE_DATA", raising=False)
    return partial(run, "stories", "train")


@pytest.fixture
def train(run, place, tmp_path):
    def call(task, *words, base="bert", stories="own.jsonl"):
        given = ("--base", place / base, "--stories", place / stories, "--to", tmp_path / "out")
        quick = ("--set", "epochs=1", "--set", "batch_size=8", "--set", "rank=4")
        return run(task, *given, *quick, *words)

    return call


@pytest.fixture
def refused(train, tmp_path):
    def call(*words, code=2, **given):
        found, out, err = train(*words, **given)
        assert (found, out) == (code, ""), err
        assert len(err.strip().splitlines()) == 1, err
        assert err.startswith("error: ")
        assert not (tmp_path / "out" / "expert.json").exists()
        return err

    return call


def test_experts_end_to_end(train, tmp_path):
    code, out, err = train("action+norm", "--json")
    assert code == 0, err
    record = json.loads(out)
    assert record["job"] == "train"
    assert set(record["statistics"]["figures"]["dev"]) >= {"action+norm", "action+norm reversed"}
    assert record["config"]["out"] == str(tmp_path / "out")
    assert err == ""
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "expert.json",
        "head.safetensors",
    }


def test_a_person_is_told_dev_and_where_it_went(train, tmp_path):
    code, out, err = train("action", "--test")
    assert code == 0
    assert "epoch 1: loss" in err
    assert "dev" in out
    assert "test" in out
    assert f"written to {tmp_path / 'out'}" in out.replace("\n", "")


def test_a_generator_end_to_end(train, tmp_path):
    code, out, err = train("norm|actions", "--json", base="llama")
    assert code == 0, err
    record = json.loads(out)
    assert record["statistics"]["lessons"] == {"norm|actions": 6}
    facts = json.loads((tmp_path / "out" / "expert.json").read_text())
    assert facts["schema"] == "moralscope.generator/1"
    assert "'norm|actions'" in facts["card"]["command"]


@pytest.mark.parametrize(
    ("task", "meant"),
    [("action+nrom", "action+norm"), ("action|contxt", "action|context"), ("txts", "texts")],
)
def test_an_unknown_task_is_guessed(refused, task, meant):
    assert f"there is no task '{task}'; did you mean '{meant}'" in refused(task)


def test_an_unknown_split_is_guessed(refused):
    wrong = ("--set", "split=lexical_bais")
    assert "did you mean 'lexical_bias'" in refused("action", *wrong)
    assert "did you mean 'lexical_bias'" in refused("texts", *wrong, base="llama")


def test_stories_without_membership_say_how_to_get_one(refused, place):
    rows = [{**story(number, "train"), "splits": None} for number in range(5)]
    write(place / "bare.jsonl", rows)
    assert "moralscope stories split" in refused("action", stories="bare.jsonl")


@pytest.mark.parametrize("task", ["action+context", "action+consequence", "all"])
def test_stories_without_the_sentences_are_named(refused, place, task):
    rows = [story(number, part) for number, part in enumerate(["train", "train", "dev"])]
    for row in rows:
        row["situation"] = row["moral_consequence"] = row["immoral_consequence"] = None
    write(place / "short.jsonl", rows)
    err = refused(task, stories="short.jsonl")
    assert "no story of the train part has every sentence that 'action+con" in err


def test_and_for_texts(refused, place):
    rows = [{**story(n, part), "norm": None} for n, part in enumerate(["train", "train", "dev"])]
    write(place / "normless.jsonl", rows)
    err = refused("norm|actions", base="llama", stories="normless.jsonl")
    assert "no story of the train part has every sentence that 'norm|actions' needs" in err


def test_no_dev_is_said_before_training(refused, place):
    write(place / "train.jsonl", [story(number, "train") for number in range(4)])
    assert "no story of the dev part" in refused("action", stories="train.jsonl")
    write(place / "two.jsonl", [story(number, ("train", "dev")[number % 2]) for number in range(4)])
    assert "no story of the test part" in refused("action", "--test", stories="two.jsonl")


def test_ethics_that_is_not_there(refused, monkeypatch, tmp_path):
    ethics = ("--set", "sources=moral-stories,ethics")
    assert "the ETHICS data is not below" in refused("action", *ethics)
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "ethics").mkdir(parents=True)
    (tmp_path / "data" / "ethics" / "README.txt").write_text("half")
    assert "cannot be read as ETHICS" in refused("action", *ethics)


def test_no_stories_at_all(run, place, tmp_path):
    code, _, err = run("action", "--base", place / "bert", "--to", tmp_path / "out")
    assert code == 2
    assert "moralscope data where moral-stories" in err


@pytest.mark.parametrize("text", ["", "{", '{"results": 3}', "[1]"])
def test_wrong_drafts(refused, tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    err = refused("texts", "--drafts", tmp_path / "run.json", base="llama")
    assert "run.json" in err


def test_drafts_that_are_not_there(refused, tmp_path):
    assert "none.json cannot be read" in refused("texts", "--drafts", tmp_path / "none.json")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("action", "--drafts", "x.json"), "--drafts is for texts"),
        (("texts", "--set", "grid.epochs=1,2"), "grid is for classification"),
        (("texts", "--set", "sources=moral-stories,ethics"), "ethics is for classification"),
        (("texts", "--set", "consistency=1"), "consistency is for classification"),
        (("action", "--set", "consistency=nan"), "consistency is nan; give 0 to 1,000"),
        (("action", "--set", "epoch=1"), "did you mean 'epochs'"),
        (("action", "--set", "epochs"), "write --set key=value"),
        (("action", "--set", "grid.epoch=1,2"), "did you mean 'epochs'"),
        (("action", "--set", "heads.action.loss=cross_entropi"), "did you mean 'cross_entropy'"),
        (("action", "--set", "heads.actions.weight=2"), "did you mean 'action'"),
        (("action", "--set", "optimizer.lr=2"), "--set has no key 'optimizer'"),
        (("action", "--recipe", "expert"), "did you mean 'experts'"),
        (("action", "--recipe", "none.toml"), "none.toml"),
        (("action", "--recipe", "texts"), "trains a generator"),
        (("texts", "--recipe", "experts"), "trains a classifier"),
        (("action", "--epochs", "1"), "No such option: --epochs"),
        (("texts", "--test"), "--test is for classification"),
        (("texts", "--start", "nowhere"), "nowhere holds no adapter"),
        (("action", "--set", "learning_rate=0"), "more than 0"),
        (("action", "--base-is", "minilmm"), "minilm"),
    ],
)
def test_options_that_do_not_go_together(refused, words, said):
    assert said in refused(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("--set", "epochs=-1"),
        ("--set", "epochs=0"),
        ("--set", "batch_size=-3"),
        ("--set", "learning_rate=-0.1"),
        ("--set", "learning_rate=nan"),
        ("--set", "rank=0"),
        ("--limit", "-2"),
        ("--set", "patience=0"),
        ("--set", "max_length=4"),
        ("--seed", "-1"),
        ("--set", "epochs=many"),
        ("--set", "epochs=1.5"),
        ("--set", "weights=some"),
    ],
    ids=" ".join,
)
def test_numbers_out_of_range(refused, words):
    refused("action", *words)


@pytest.mark.parametrize(("task", "guess"), [("action", "minilm"), ("texts", "smollm2")])
def test_a_base_that_is_not_there(run, place, tmp_path, task, guess):
    given = ("--stories", place / "own.jsonl", "--to", tmp_path / "out")
    code, _, err = run(task, "--base", guess + "x", *given)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert f"did you mean '{guess}'" in err
    code, _, err = run(task, "--base", tmp_path / "no" / "where", *given)
    assert (code, len(err.strip().splitlines())) == (2, 1)
    assert "there is no folder" in err


@pytest.mark.parametrize("task", ["action", "texts"])
def test_a_base_that_is_damaged(refused, place, tmp_path, task):
    broken = place / f"broken-{task}"
    broken.mkdir()
    (broken / "model.safetensors").write_bytes(b"no")
    (broken / "config.json").write_text("{}")
    assert "model.safetensors is damaged" in refused(task, base=broken.name, code=1)


def test_a_folder_that_is_taken(refused, train, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert "holds files already" in refused("action")
    (tmp_path / "out" / "notes.txt").unlink()
    assert train("action")[0] == 0
    code, _, err = train("action")
    assert code == 2
    assert "holds files already" in err


def test_a_checkpoint_of_another_run_or_a_damaged_one(refused, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "training.safetensors").write_bytes(b"half")
    assert "is not our checkpoint; delete it" in refused("action")
