"""`rules train generator`: any base, the user's annotations or the data at hand, one command."""

import csv
import json

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import Decoding
from moralscope.models.language import load_generator
from moralscope.models.store import data_file
from moralscope.models.training import trainer
from moralscope.rules.records import Exchange
from moralscope.rules.training import data as training_data
from moralscope.rules.training.data import SOCIAL_FILES
from moralscope.rules.training.train import train_rules
from moralscope.rules.writing.rule_writer import MARKERS, rule_prompt

from ...generator_makers import tiny_llama, tiny_seq2seq

QUICK = ("epochs=1", "batch_size=8")


def train(out, *settings, **given):
    return train_rules(task="generator", to=out, settings=settings, **given)


@pytest.fixture
def mic(tmp_path):
    path = tmp_path / "MIC.csv"
    with path.open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["Q", "A", "rot"])
        out.writerows([f"Do {n}?", f"I do {n}.", f"It is bad to do {n}."] for n in range(30))
    return path


@pytest.fixture
def asked(monkeypatch):
    """Stop before training and keep what would be trained."""
    found = {}

    def stop(training, base, markers, examples, *_):
        found.update(training=training, lessons=examples[0], dev=examples[1])
        raise InputError("stopped", "here")

    monkeypatch.setattr(trainer, "train_generator", stop)

    def ask(folder, *settings, **given):
        with pytest.raises(InputError, match="stopped"):
            train(folder, *settings, **given)
        return found

    return ask


@pytest.mark.parametrize("make", [tiny_llama, tiny_seq2seq])
def test_a_base_learns_exchanges_and_writes_rules(make, mic, tmp_path):
    base = make(tmp_path / "base")
    settings = (*QUICK, "rank=2", "max_output=12")
    given = {"data": mic, "columns": "prompt=Q", "base": str(base)}
    record = train(tmp_path / "mine", *settings, **given)
    (look,) = record.results
    assert look["score"] == look["exchanges BLEU"]
    assert record.statistics["lessons"] == {"exchanges": 24}
    card = json.loads((tmp_path / "mine" / "expert.json").read_text())
    assert (card["tasks"], card["markers"]) == (["rule"], list(MARKERS))
    assert card["card"]["data"] == ["annotated exchanges of MIC.csv"]
    assert card["card"]["command"] == (
        "moralscope rules train generator --base base --data MIC.csv --columns prompt=Q "
        "--recipe generator --set epochs=1 --set batch_size=8 --set rank=2 --set max_output=12 "
        "--seed 0"
    )
    assert card["card"]["command"] in (tmp_path / "mine" / "README.md").read_text()
    assert str(tmp_path) not in (tmp_path / "mine" / "README.md").read_text()
    writer = load_generator(str(base), adapter=tmp_path / "mine")
    prompt = rule_prompt(Exchange("Do 1?", "I do 1."))
    ((one,),) = writer.generate([prompt], Decoding("greedy", max_tokens=5), [0])
    assert one.log_probabilities


def test_every_weight_is_trained_and_saved_whole_where_asked(mic, tmp_path):
    base = tiny_llama(tmp_path / "base")
    settings = (*QUICK, "weights=all", "max_output=6")
    train(tmp_path / "mine", *settings, data=mic, base=str(base))
    assert (tmp_path / "mine" / "model.safetensors").is_file()
    writer = load_generator(str(tmp_path / "mine"))
    ids = writer._ids([rule_prompt(Exchange("a", "b"))], 5)[0]
    assert set(ids) >= set(writer._tokenizer.convert_tokens_to_ids(list(MARKERS)))


def test_paper_means_section_5_1(mic, tmp_path, asked):
    base = str(tiny_llama(tmp_path / "base"))
    found = asked(tmp_path / "mine", data=mic, base=base, recipe="paper-generator")
    making = schedule = found["training"]
    assert (schedule.epochs, schedule.learning_rate, schedule.batch_size) == (5, 3e-5, 16)
    assert (making.weights, making.learn_prompt, making.overlap) == ("all", True, "BLEU")
    assert {row.prompt for row in found["lessons"]}.isdisjoint(row.prompt for row in found["dev"])


def test_rule_only_and_limit_are_passed_on(mic, tmp_path, asked):
    base = str(tiny_llama(tmp_path / "base"))
    found = asked(tmp_path / "mine", "learn_prompt=false", data=mic, base=base, limit=5)
    assert (found["training"].learn_prompt, len(found["lessons"])) == (False, 5)


def test_other_columns_are_named(tmp_path, asked):
    path = tmp_path / "mine.csv"
    rows = [f"q{n},a{n},It is bad to do {n}." for n in range(30)]
    path.write_text("\n".join(["question,answer,rule", *rows]))
    columns = "prompt=question,reply=answer,rule=rule"
    base = str(tiny_llama(tmp_path / "base"))
    found = asked(tmp_path / "out", data=path, columns=columns, base=base)
    assert found["dev"][0].target.startswith("It is bad to do ")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Write a few stories and situations of our own in the shape of the data at hand."""
    root = tmp_path / "data"
    (root / "social_chem").mkdir(parents=True)
    (root / "moral_stories").mkdir()
    header = "situation,rot,action,action-moral-judgment,rot-agree,rot-moral-foundations,split"
    lines = [
        f"painting wall {n},It's good to ask about wall {n}.,asking about wall {n},1,3,care,train"
        for n in range(30)
    ]
    (root / "social_chem" / "obligatory_sc101.csv").write_text("\n".join([header, *lines]))
    stories = []
    for n in range(24):
        part = "train" if n < 12 else "dev" if n < 18 else "test"
        kinds = dict.fromkeys(("norm_distance", "lexical_bias", "minimal_pairs"), part)
        stories.append(
            {
                "ID": str(n),
                "norm": f"It's wrong to hide key {n if n != 3 else 13}.",
                "situation": "Tom is at home." if n % 2 else None,
                "intention": "Tom wants his key." if n % 2 else None,
                "moral_action": f"Tom gives key {n} to Ann.",
                "immoral_action": f"Tom hides key {n} from Ann.",
                "moral_consequence": None,
                "immoral_consequence": None,
                "splits": {"action": kinds, "consequence": kinds},
            }
        )
    text = "\n".join(map(json.dumps, stories))
    (root / "moral_stories" / "stories.jsonl").write_text(text)
    monkeypatch.setenv("MORALSCOPE_DATA", str(root))
    return root


def test_without_a_file_the_data_at_hand_becomes_exchanges(data, tmp_path, asked):
    found = asked(tmp_path / "mine", base=str(tiny_llama(tmp_path / "base")))
    lessons = found["lessons"]
    assert {row.group for row in lessons} == {"situations", "stories", "norms", "exchanges"}
    assert all(row.prompt.count(MARKERS[2]) == 1 for row in lessons)
    told = [row.prompt for row in lessons if row.group == "stories"]
    assert not any("Tom hides" in prompt for prompt in told)  # rewritten to the first person
    assert any("key 5" in prompt for prompt in told)
    assert any("I am painting wall" in row.prompt for row in lessons)
    # a moral action without its context could keep any norm
    assert not any("key 4 to Ann" in prompt for prompt in told)


def test_no_rule_that_is_held_out_is_learnt(data, tmp_path, asked):
    found = asked(tmp_path / "mine", base=str(tiny_llama(tmp_path / "base")))
    learnt = {row.target for row in found["lessons"]}
    assert "It's wrong to hide key 5." in learnt
    assert "It's wrong to hide key 13." not in learnt  # story 3 of train has a norm of dev
    assert not any(f"key {n}." in rule for rule in learnt for n in range(12, 24))


@pytest.mark.parametrize(
    ("settings", "line"), [((), "social_chem"), (("learning_rate=0.0",), "learning rate")]
)
def test_what_cannot_be_trained_is_refused_in_one_line(settings, line, tmp_path, monkeypatch):
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    with pytest.raises(InputError) as told:
        train(tmp_path / "mine", *settings)
    assert line in str(told.value)
    assert not (tmp_path / "mine").exists()


def test_a_folder_with_other_things_is_not_written_over(mic, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    base = str(tiny_llama(tmp_path / "base"))
    with pytest.raises(InputError, match="holds files already"):
        train(tmp_path / "mine", data=mic, base=base)


@pytest.mark.realdata
@pytest.mark.slow
def test_the_real_data_gives_exchanges_and_holds_its_rules_out():
    if data_file(SOCIAL_FILES[0]) is None or data_file("moral_stories/stories.jsonl") is None:
        pytest.skip("SOCIAL-CHEM-101 or Moral Stories is not below MORALSCOPE_DATA")
    parts = training_data.ruled_at_hand(0)
    assert len(parts["train"]) > 35_000
    held_out = {training_data._plain(row.rule) for part in ("dev", "test") for row in parts[part]}
    assert not any(training_data._plain(row.rule) in held_out for row in parts["train"])
    acts = [row for row in parts["train"] if row.group == "stories"]
    assert sum(row.act is not None for row in acts) > 0.6 * len(acts)  # in the first person
