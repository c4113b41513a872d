"""Training of attributes as a job: which data, whose settings, what is written, what is refused."""

import csv
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from moralscope.core.errors import InputError
from moralscope.models.classifiers.saved import read_settings
from moralscope.models.training.recipe import load_recipe
from moralscope.rules.attributes import attributes, prepare_attributes, rule_queries
from moralscope.rules.training.data import AtHand, examples_at_hand, exchange_examples
from moralscope.rules.training.train import AttributeSource, RulesRecipe, train_rules
from moralscope.stories.experts import prepare_experts

from ...expert_makers import story, tiny_bert

SOCIAL = ("situation", "rot", "action", "rot-moral-foundations", "action-moral-judgment")
SOCIAL += ("rot-agree", "rot-bad", "split")
MIC = ("Q", "A", "rot", "rot-agree", "violation-severity", "moral", "A_agrees")

pytestmark = pytest.mark.slow


def write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder as MORALSCOPE_DATA has it, with sentences of our own."""
    root = tmp_path / "data"
    names = ("care-harm", "loyalty-betrayal", "fairness-cheating|care-harm", "")
    rows = [
        (
            f"losing game {n}",
            f"It's good to help player {n}.",
            f"helping player {n}.",
            names[n % 4],
            1.0,
            4.0,
            0,
            "train",
        )
        for n in range(40)
    ]
    write(root / "social_chem/obligatory_sc101.csv", SOCIAL, rows)
    parts = ["train"] * 8 + ["dev"] * 3 + ["test"] * 3
    lines = [json.dumps(story(number, part)) for number, part in enumerate(parts)]
    (root / "moral_stories").mkdir()
    (root / "moral_stories/stories.jsonl").write_text("\n".join(lines))
    monkeypatch.setenv("MORALSCOPE_DATA", str(root))
    return root


@pytest.fixture
def mic(tmp_path):
    rows = [
        (
            f"Do you lie {n}?",
            "Yes." if n % 2 else "No.",
            f"Don't lie {n}.",
            1 + n % 5,
            1 + n % 4,
            ("care", "liberty|care")[n % 2],
            (0, 2, 1)[n % 3],
        )
        for n in range(40)
    ]
    return write(tmp_path / "MIC.csv", MIC, rows)


FLAGS = ("data", "exchanges", "stories", "start", "limit", "test", "seed")


def options(base, task="attributes", **given):
    """Return keywords of `train_rules`: what has no flag of its own becomes a setting."""
    flags = {name: given.pop(name) for name in FLAGS if name in given}
    adapter = {"weights": "adapter"} if "rank" in given else {}
    settings = {"epochs": 1, "batch_size": 32, **adapter, **given}
    told = tuple(f"{name}={value}" for name, value in settings.items())
    return {"task": task, "base": str(base), **flags, "settings": told}


def train(given, out):
    return train_rules(to=out, **given)


def test_at_hand_alignment_and_foundations_go_into_one_adapter(tmp_path, base, data):
    own = tmp_path / "own.yaml"
    rows = [
        {"prompt": "Lie?", "reply": reply, "rule": "Don't lie.", "alignment": label}
        for reply, label in (("No.", "agree"), ("Yes.", "disagree"))
    ]
    own.write_text(json.dumps(rows))
    out = tmp_path / "x"
    record = train(options(base, rank=4, test=True, exchanges=own), out)
    figures = record.statistics["figures"]
    wanted = {"alignment", "alignment reversed", "alignment stances", "foundations", "exchanges"}
    assert wanted <= set(figures["dev"])
    assert wanted - {"exchanges"} <= set(figures["test"])
    assert record.statistics["baselines"]["part"] == "test"
    assert record.statistics["counts"]["rewritten"]["stories train"] == [16, 16]
    assert json.loads((out / "expert.json").read_text())["kinds"] == {"foundations": "many"}
    card = (out / "README.md").read_text()
    assert "CC BY-SA 4.0" in card
    assert "Moral Stories" in card
    assert "--exchanges own.yaml" in card
    assert str(tmp_path) not in card
    experts = prepare_experts(str(out))
    assert experts.tasks == ("alignment", "foundations")
    learnt = {"split": "norm_distance", "part": "train", "limit": None}
    assert experts.card["trained_on"] == learnt  # else stories learnt would be measured on
    asked = rule_queries(["Don't lie."], "Do you?", "Yes.")
    (row,) = attributes(asked, models=prepare_attributes(str(out))).results
    assert row.alignment in ("agree", "disagree", "neither")
    assert set(row.probabilities) == {"care", "fairness", "loyalty"}
    assert row.severity is None


def test_no_epochs_give_the_mean_of_what_is_started_from(tmp_path, base, data):
    first, second, out = (tmp_path / name for name in ("first", "second", "mean"))
    for seed, folder in enumerate((first, second)):
        train(options(base, "foundations", rank=4, seed=seed), folder)
        assert "split" not in read_settings(folder).card["trained_on"]  # no story was learnt
    still = {"rank": 4, "start": (first, second), "epochs": 0}
    record = train(options(base, "foundations", **still), out)
    one, other, mean = (
        load_file(folder / "adapter_model.safetensors") for folder in (first, second, out)
    )
    for name, value in mean.items():
        wanted = (one[name].astype("f4") + other[name].astype("f4")) / 2
        np.testing.assert_allclose(value.astype("f4"), wanted, atol=2e-3)
    assert record.statistics["thresholds"] == read_settings(first).thresholds
    assert "--set epochs=0" in (out / "README.md").read_text()
    with pytest.raises(InputError, match="nothing is learnt"):
        train(options(base, epochs=0), tmp_path / "none")


def test_held_out_rules_train_nothing(data):
    taught = examples_at_hand(AtHand(("alignment", "foundations"), turns=2))
    held = {
        row.pair[1] for part in ("dev", "test") for row in taught.parts[part] if not row.pair[0]
    }
    trained = [row for row in taught.parts["train"] if not row.pair[0] and row.weight == 1.0]
    assert held
    assert trained
    assert not held & {row.pair[1] for row in trained}
    norms = {f"It's rude to shout at neighbour {n}." for n in range(8, 14)}
    assert not norms & {row.pair[0] for row in taught.parts["train"]}


@pytest.mark.parametrize(
    ("task", "figure"),
    [("severity", "severity r"), ("consensus", "consensus mse"), ("foundations", "foundations")],
)
def test_annotations_train_every_attribute(tmp_path, base, mic, task, figure):
    record = train(options(base, task, data=mic, rank=4, test=True), tmp_path / "x")
    assert figure in record.statistics["figures"]["test"]
    row = attributes(
        rule_queries(["Don't lie."]), models=prepare_attributes(str(tmp_path / "x"))
    ).results[0]
    told = {"severity": row.severity, "consensus": row.consensus, "foundations": row.probabilities}
    assert told[task]
    if task == "foundations":
        assert set(row.probabilities) == {"care", "liberty"}
    else:
        assert 1 <= told[task] <= 5


def test_annotations_bring_the_paper_s_settings(base, mic):
    found = load_recipe(RulesRecipe, "mic-grid")
    assert found.weights == "all"
    assert tuple(AttributeSource("attributes", mic).data(found).heads) == (
        "alignment",
        "foundations",
        "severity",
        "consensus",
    )
    rates = [(one.learning_rate, one.batch_size, one.epochs) for one in found.points]
    assert rates == [(2e-5, 16, 8), (3e-5, 16, 8), (5e-5, 16, 8)]
    assert {one.adam_epsilon for one in found.points} == {1e-8}


def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(tmp_path, base, mic, monkeypatch):
    from moralscope.models.training import classifier

    wanted = options(base, "severity", data=mic, rank=4, epochs=3, patience=9)
    whole = train(wanted, tmp_path / "whole")
    real = classifier.train

    def stopped(learner, schedule, checkpoint, report):
        def stop(moment):
            if moment.epoch == 2:
                raise KeyboardInterrupt

        return real(learner, schedule, checkpoint, stop)

    monkeypatch.setattr(classifier, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        train(wanted, tmp_path / "cut")
    monkeypatch.setattr(classifier, "train", real)
    again = train(wanted, tmp_path / "cut")
    assert whole.results == again.results
    one, other = (tmp_path / name / "adapter_model.safetensors" for name in ("whole", "cut"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"task": "severitie"}, "no attribute"),
        ({"learning_rate": 0.0}, "learning rate"),
        ({"task": "foundations", "exchanges": "x.yaml"}, "for alignment"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(tmp_path, base, given, problem):
    with pytest.raises(InputError, match=problem):
        train(options(base, **given), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_annotations_do_not_go_with_stories(tmp_path, base, mic):
    with pytest.raises(InputError, match="do not work with --data"):
        train(options(base, data=mic, stories=mic), tmp_path / "x")


def test_severity_without_annotations_says_whom_to_ask(tmp_path, base, data):
    with pytest.raises(InputError, match="no annotations"):
        train(options(base, "severity"), tmp_path / "x")


def test_a_scale_that_never_varies_cannot_be_learnt(tmp_path, base, data):
    social = data / "social_chem/obligatory_sc101.csv"
    with pytest.raises(InputError, match="consensus is 5 in every row"):
        train(options(base, "consensus", data=social), tmp_path / "x")


def test_an_attribute_that_the_file_lacks_is_named(tmp_path, base, data):
    social = data / "social_chem/obligatory_sc101.csv"
    with pytest.raises(InputError, match="no severity"):
        train(options(base, "severity", data=social), tmp_path / "x")


@pytest.mark.parametrize("text", ["a: b", "- {prompt: x}", "- [", "[]"])
def test_exchanges_that_cannot_be_read(tmp_path, text):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    with pytest.raises(InputError):
        exchange_examples(path)


def test_the_same_command_makes_the_same_experts(tmp_path, base, data):
    for name in ("one", "two"):
        train(options(base, "alignment", rank=4, limit=4), tmp_path / name)
    one, two = (tmp_path / name / "adapter_model.safetensors" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert not list((tmp_path / "one").glob("*training*"))
