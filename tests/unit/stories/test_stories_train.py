"""Training as a job: whose settings, which grid, which folder, and what the card says."""

import gc
import json
import weakref
from hashlib import sha256

import numpy as np
import pytest
from safetensors.numpy import load_file

from moralscope.core.errors import ChecksumMismatch, InputError, UnknownName
from moralscope.core.records import Decoding
from moralscope.models.hugging_face import folder_checksum
from moralscope.models.language import load_generator
from moralscope.models.training import classifier, trainer
from moralscope.models.training.classifier import train_classifier
from moralscope.models.training.folder import CHECKPOINT, training_folder
from moralscope.models.training.recipe import load_recipe
from moralscope.models.training.trainer import named_base
from moralscope.stories.degree_examples import CONTRAST_FILES
from moralscope.stories.examples import REFINEMENT, read_drafts
from moralscope.stories.experts import prepare_experts
from moralscope.stories.tasks import classification_task, classification_tasks
from moralscope.stories.train import ExpertSource, StoriesRecipe, train_task

from ...expert_makers import story, tiny_bert, tiny_decoder
from ...generator_makers import tiny_llama, tiny_seq2seq

pytestmark = pytest.mark.slow  # half a minute of training


@pytest.fixture(scope="module")
def stories(tmp_path_factory):
    path = tmp_path_factory.mktemp("stories") / "own.jsonl"
    parts = ["train"] * 8 + ["dev"] * 3 + ["test"] * 3
    rows = [story(number, part) for number, part in enumerate(parts)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert"))


FLAGS = ("recipe", "start", "limit", "test", "seed", "drafts", "base_is")


def options(base, task="action+norm", **given):
    """Return keywords of `train_task`: what has no flag of its own becomes a setting."""
    flags = {name: given.pop(name) for name in FLAGS if name in given}
    settings = {"epochs": 1, "batch_size": 8, "rank": 4, **given}
    told = tuple(f"{name}={value}" for name, value in settings.items() if value is not None)
    return {"task": task, "base": str(base), **flags, "settings": told}


def train(given, out, stories, report=None):
    return train_task(to=out, stories=stories, report=report, **given)


def test_a_causal_base_is_learnt_by_the_recipe_large_and_read_back(stories, tmp_path):
    causal = tiny_decoder(tmp_path / "causal")
    given = options(causal, recipe="large", max_length=64, sources="moral-stories")
    record = train(given, tmp_path / "experts", stories)
    assert record.config["head_rate"] == 1e-3
    experts = prepare_experts(str(tmp_path / "experts"))
    rows = experts.expert("action+norm").probabilities([("It's rude.", "Mia shouts 3.")])
    assert rows.sum() == pytest.approx(1, abs=1e-5)
    assert "causal" in (tmp_path / "experts" / "README.md").read_text("utf-8")


class Seen(Exception):
    """Carries what would have been trained."""


@pytest.fixture
def asked(monkeypatch):
    """Return the training that options lead to, without training."""

    def stop(training, *_):
        raise Seen(training)

    monkeypatch.setattr(trainer, "train_classifier", stop)
    monkeypatch.setattr(trainer, "train_generator", stop)

    def ask(out, stories, **given):
        with pytest.raises(Seen) as caught:
            train_task(to=out, stories=stories, **given)
        return caught.value.args[0]

    return ask


def test_paper_means_appendix_b(asked, tmp_path, base, stories):
    plan = made = asked(tmp_path / "x", stories, task="action+norm", base=str(base), recipe="paper")
    assert made.weights == "all"
    assert (plan.learning_rate, plan.batch_size, plan.accumulate) == (1e-5, 16, 1)
    assert (plan.adam_epsilon, plan.clip, plan.warmup) == (1e-8, 1.0, 0.0)
    assert (made.max_length, plan.epochs, plan.weight_decay) == (100, 4, 0.0)


def test_paper_means_table_11_for_texts(asked, tmp_path, stories):
    base = str(tiny_llama(tmp_path / "llama"))
    plan = made = asked(tmp_path / "x", stories, task="texts", base=base, recipe="paper-texts")
    assert made.weights == "all"
    assert (plan.learning_rate, plan.batch_size, plan.accumulate) == (5e-6, 8, 8)
    assert (plan.adam_epsilon, plan.clip, plan.warmup) == (1e-8, 1.0, 0.0)
    limits = (made.max_length, made.max_output)
    assert (limits, plan.epochs, plan.patience) == ((100, 60), 50, 3)


def test_paper_trains_on_the_paper_s_pairs_alone(tmp_path, base, stories):
    paper = train(options(base, recipe="paper", rank=None), tmp_path / "a", stories)
    ours = train(options(base, weights="all"), tmp_path / "b", stories)
    assert paper.statistics["lessons"] == {"action+norm": 16}
    assert ours.statistics["lessons"]["action+norm"] > 16
    assert set(paper.statistics["figures"]["dev"]) == {"epoch", "loss", "score", "action+norm"}
    assert paper.config["contrast"] is False
    assert (tmp_path / "a" / "model" / "model.safetensors").is_file()


def test_what_is_given_wins_over_the_paper(asked, tmp_path, base, stories):
    settings = ("max_length=64", "learning_rate=3e-5")
    given = {"task": "action", "base": str(base), "recipe": "paper", "settings": settings}
    made = asked(tmp_path / "x", stories, **given)
    assert (made.max_length, made.learning_rate, made.batch_size) == (64, 3e-5, 16)


def test_the_grid_is_footnote_4():
    points = load_recipe(StoriesRecipe, "paper-grid").points
    found = {(point.learning_rate, point.epochs, point.batch_size) for point in points}
    assert len(points) == len(found) == 12
    assert {rate for rate, _, _ in found} == {1e-5, 3e-5, 5e-5}
    assert {epochs for _, epochs, _ in found} == {3, 4}
    assert {batch for _, _, batch in found} == {8, 16}
    fixed = load_recipe(StoriesRecipe, "paper-grid", ["batch_size=4"]).points
    assert len(fixed) == 6
    assert {point.batch_size for point in fixed} == {4}


def test_the_grid_keeps_the_best_on_dev_and_no_other_in_memory(
    tmp_path, base, stories, monkeypatch
):
    alive, scores, most = [], iter([0.3, 0.9, 0.5, 0.9]), []

    def make(*given):
        gc.collect()
        most.append(sum(ref() is not None for ref in alive))
        learner, history = train_classifier(*given)
        alive.append(weakref.ref(learner.module))
        history.evaluations[history.best]["score"] = next(scores)
        return learner, history

    monkeypatch.setattr(trainer, "train_classifier", make)
    grid = {"grid.learning_rate": "1e-3,2e-3,3e-3,4e-3"}
    record = train(options(base, "action", **grid), tmp_path / "x", stories)
    assert record.config["schedule"]["learning_rate"] == 2e-3  # the first of the best
    assert [row["score"] for row in record.statistics["grid"]] == [0.3, 0.9, 0.5, 0.9]
    assert max(most) == 1
    assert not list((tmp_path / "x").glob(f"*{CHECKPOINT}*"))


def test_a_grid_that_was_stopped_does_not_train_its_finished_points_again(
    tmp_path, base, stories, monkeypatch
):
    grid = {"grid.learning_rate": "1e-3,2e-3"}
    plain, calls = classifier.train, []

    def stop_at_second(learner, *rest):
        calls.append(rest)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(learner, *rest)

    monkeypatch.setattr(classifier, "train", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        train(options(base, "action", **grid), tmp_path / "x", stories)
    told = []
    train(options(base, "action", **grid), tmp_path / "x", stories, told.append)
    whole = []
    train(options(base, "action", **grid), tmp_path / "y", stories, whole.append)
    assert len(told) < len(whole)
    first, second = ((tmp_path / name / "head.safetensors").read_bytes() for name in "xy")
    assert first == second


def test_experts_load_back_with_the_figures_they_had(tmp_path, base, stories):
    given = options(base, "all", test=True, epochs=20, learning_rate=1e-2, patience=20)
    record = train(given, tmp_path / "mine", stories)
    experts = prepare_experts(str(tmp_path / "mine"))
    assert experts.ref.name == record.models[1].name == "mine"
    assert set(experts.tasks) == set(classification_tasks())
    assert experts.ref.sha256 == record.models[1].sha256
    task = classification_task("action")
    rows = [json.loads(line) for line in stories.read_text().splitlines()]
    rows = [row for row in rows if row["splits"]["action"]["norm_distance"] == "test"]
    pairs = [("", row[f"{side}_action"]) for row in rows for side in ("immoral", "moral")]
    found = experts.expert(task.name).probabilities(pairs)
    right = np.mean(found.argmax(1) == np.arange(len(pairs)) % 2)
    assert right > 0.6  # learnt, so that mixed-up columns would show
    assert record.statistics["figures"]["test"]["action"] == pytest.approx(right)
    assert set(record.statistics["temperatures"]) == set(experts.tasks)


def test_test_is_not_looked_at_unasked(tmp_path, base, stories):
    record = train(options(base, "action"), tmp_path / "x", stories)
    assert set(record.statistics["figures"]) == {"dev"}
    assert "| task | dev |" in (tmp_path / "x" / "README.md").read_text()


def test_held_out_stories_of_one_kind_train_no_other(base, tmp_path):
    path = tmp_path / "own.jsonl"
    rows = [story(number, part) for number, part in enumerate(["train"] * 4 + ["dev", "test"])]
    for number, part in ((0, "test"), (1, "dev")):  # held out for consequences only
        rows[number]["splits"]["action"] = {"lexical_bias": "train"}
        rows[number]["splits"]["consequence"] = {"lexical_bias": part}
    for row, part in zip(rows[2:], ["train", "train", "dev", "test"], strict=True):
        row["splits"] = {kind: {"lexical_bias": part} for kind in ("action", "consequence")}
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = options(base, "all", split="lexical_bias", contrast=False, behaviours=False)
    own = {**given, "settings": (*given["settings"], "members=action")}
    record = train(given, tmp_path / "all", path)
    assert record.statistics["lessons"]["action"] == 4  # two stories, not four
    record = train({**given, "task": "action"}, tmp_path / "one", path)
    assert record.statistics["lessons"]["action"] == 8
    record = train(own, tmp_path / "kind", path)
    assert record.statistics["lessons"]["action"] == 8
    assert record.statistics["lessons"]["consequence+action"] == 16
    assert "consequence+action" not in record.statistics["figures"]["dev"]
    assert "--set members=action" in (tmp_path / "kind" / "README.md").read_text()
    other = (*given["settings"], "members=consequence")
    with pytest.raises(InputError, match="is not a task of members = consequence"):
        train({**given, "task": "action", "settings": other}, tmp_path / "no", path)


def test_dev_stories_whose_reversed_norms_teach_are_not_looked_at(tmp_path, monkeypatch, stories):
    rows = [
        {"ID": f"s{number}{end}", "norm": "It's fine to shout.", "label": label, **actions}
        for number in (8, 9, 10)
        for end, label, actions in (
            (0, 1, {"moral_action": "Mia shouts.", "immoral_action": None}),
            (1, 0, {"moral_action": None, "immoral_action": "Mia waits."}),
        )
    ]
    folder = tmp_path / "contrastive_moral_stories"
    folder.mkdir()
    for name in CONTRAST_FILES:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}-dev.jsonl").write_text(text)
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    looked_at = {}
    for half in ("even", "odd"):
        sources = ("moral-stories", f"contrastive-{half}")
        recipe = StoriesRecipe(task="action+norm", sources=sources, contrast=True)
        data = ExpertSource("action+norm", stories).data(recipe)
        looked_at[half] = {row.pair for row in data.parts["dev"] if row.group == "action+norm"}
        assert not {row.pair for row in data.parts["train"]} & looked_at[half]
    assert looked_at["even"]
    assert looked_at["odd"]
    assert not looked_at["even"] & looked_at["odd"]
    assert len(looked_at["even"] | looked_at["odd"]) == 6


def test_experts_start_from_the_mean_of_others(base, tmp_path, stories):
    folders = [tmp_path / name for name in ("first", "left", "right", "mean")]
    first, left, right, mean = folders
    train(options(base, "all"), first, stories)
    train(options(base, "all", start=(first,), seed=1), left, stories)
    train(options(base, "all", start=(first,), seed=2), right, stories)
    record = train(options(base, "all", start=(left, right), epochs=0), mean, stories)
    heads = [load_file(folder / "head.safetensors")["weight"] for folder in folders]
    assert not np.allclose(heads[1], heads[2])
    assert np.allclose(heads[3], (heads[1] + heads[2]) / 2, atol=1e-6)
    adapters = [load_file(folder / "adapter_model.safetensors") for folder in folders]
    name = next(name for name in adapters[0] if "lora_B" in name)
    each = [np.float32(rows[name]) for rows in adapters]
    assert np.allclose(each[3], (each[1] + each[2]) / 2, atol=1e-4)
    assert len(record.results) == 1
    started = json.loads((mean / "expert.json").read_text())["card"]["started"]
    assert len(started) == 3  # both, and what they set out from
    assert f"from what `{started[0]}` made" in (mean / "README.md").read_text()
    with pytest.raises(InputError, match="cannot be started from"):
        train(options(base, "all", rank=2, start=(first,)), tmp_path / "rank", stories)


def test_the_card_says_how_to_do_it_again(tmp_path, base, stories):
    given = options(base, "action", limit=6, behaviours=False, test=True, seed=3, consistency=0.5)
    train(given, tmp_path / "x", stories)
    text = (tmp_path / "x" / "README.md").read_text()
    command = (
        f"moralscope stories train action --base {base.name} --stories own.jsonl "
        "--recipe experts --set epochs=1 --set batch_size=8 --set rank=4 --set consistency=0.5 "
        "--set behaviours=false --seed 3 --limit 6 --test"
    )
    assert f"`{command}`" in text
    assert "stories of own.jsonl" in text
    assert "its first 6 stories" in text
    assert "| action | " in text
    assert "—" not in text
    assert str(base) not in text  # no place of this machine
    facts = json.loads((tmp_path / "x" / "expert.json").read_text())
    assert facts["card"]["command"] == command
    assert facts["base_sha256"] == folder_checksum(base)


@pytest.mark.parametrize("kind", ["llama", "t5"])
def test_a_generator_loads_back_and_writes(tmp_path, stories, kind):
    tiny = tiny_llama if kind == "llama" else tiny_seq2seq
    folder = tiny(tmp_path / "base")
    record = train(options(folder, "texts"), tmp_path / "mine", stories)
    assert record.statistics["lessons"]["norm|actions"] == 8
    assert record.statistics["lessons"]["action|context"] == 16
    generator = load_generator(str(tmp_path / "mine"))
    prompt = "<|ACT|> Mia shouts. <|CSQ|>"
    (found,) = generator.generate([prompt], Decoding(count=2, max_tokens=5), [1])
    assert len(found) == 2
    card = (tmp_path / "mine" / "README.md").read_text()
    assert "loss a token" in card
    assert "accuracy" not in card
    assert "every generation task" in card


def test_a_whole_generator_loads_back(tmp_path, stories):
    folder = tiny_llama(tmp_path / "base")
    train(options(folder, "norm|actions", weights="all"), tmp_path / "mine", stories)
    generator = load_generator(str(tmp_path / "mine"))
    (found,) = generator.generate(["<|ACT|> x <|NRM|>"], Decoding(count=1, max_tokens=4), [1])
    assert len(found) == 1


def test_training_changes_what_a_generator_writes_and_goes_on_from_an_adapter(tmp_path, stories):
    folder = tiny_llama(tmp_path / "base")
    given = options(folder, "consequence|action", epochs=30, learning_rate=1e-2, patience=30)
    first = train(given, tmp_path / "one", stories)
    assert first.results[-1]["consequence|action"] < first.results[0]["consequence|action"] - 0.5
    quick = options(folder, "consequence|action", start=(tmp_path / "one",))
    second = train(quick, tmp_path / "two", stories)
    assert second.results[0]["score"] > first.results[0]["score"] + 0.3


def chain_run(kind="consequence", score=0.7, text="It rains."):
    rows = [{"id": "s1", "target": "moral", "candidates": [{"text": text, "score": score}]}]
    head = {"schema": "moralscope.run/1", "job": "chain"}
    return {**head, "config": {"kind": kind}, "results": rows}


def test_drafts_are_read_with_their_labels(tmp_path):
    run = chain_run()
    run["results"][0]["candidates"] += [{"text": "No.", "score": 0.2}, {"text": "", "score": None}]
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert read_drafts(tmp_path / "run.json") == {
        ("s1", "moral"): [("It rains.", "plausible"), ("No.", "implausible")]
    }


@pytest.mark.parametrize(
    "run",
    [
        chain_run("action"),
        chain_run(score=None),
        {"config": {"kind": "consequence"}, "results": []},
        {"results": [{"id": "s1"}], "config": {"kind": "consequence"}},
        {"schema": "other"},
        [],
        "text",
    ],
)
def test_what_holds_no_drafts_is_refused(tmp_path, run):
    (tmp_path / "run.json").write_text(json.dumps(run))
    for name in ("run.json", "none.json"):
        with pytest.raises(InputError, match=name):
            read_drafts(tmp_path / name)


def test_refinement_is_learnt_from_drafts(tmp_path, stories):
    (tmp_path / "run.json").write_text(json.dumps(chain_run()))
    folder = tiny_llama(tmp_path / "base")
    given = options(folder, "texts", drafts=tmp_path / "run.json")
    record = train(given, tmp_path / "mine", stories)
    assert record.statistics["lessons"][REFINEMENT] == 1
    facts = json.loads((tmp_path / "mine" / "expert.json").read_text())
    assert REFINEMENT in facts["tasks"]
    assert "--drafts run.json" in facts["card"]["command"]


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="holds files already"), training_folder(tmp_path):
        pass
    assert (tmp_path / "thesis.txt").read_text() == "mine"
    taken = training_folder(tmp_path / "thesis.txt")
    with pytest.raises(InputError, match="is not a folder to write to"), taken:
        pass


def test_an_unfinished_run_is_gone_on_with_and_cleared_when_it_is_done(tmp_path):
    for name in (CHECKPOINT, f"03-{CHECKPOINT}", f".{CHECKPOINT}.17.part"):
        (tmp_path / name).write_text("x")
    with pytest.raises(RuntimeError), training_folder(tmp_path):
        raise RuntimeError
    assert len(list(tmp_path.iterdir())) == 3
    with training_folder(tmp_path) as folder:
        (folder / "expert.json").write_text("{}")
    assert [path.name for path in tmp_path.iterdir()] == ["expert.json"]


def test_a_claim_about_a_base_is_checked(tmp_path, base, monkeypatch):
    with pytest.raises(ChecksumMismatch, match="isn't a copy of 'minilm'"):
        named_base(str(base), base, "0" * 64, "minilm")
    with pytest.raises(UnknownName):
        named_base(str(base), base, "0" * 64, "minilmm")
    data = sha256((base / "model.safetensors").read_bytes()).hexdigest()

    class Entry:
        sha256, weights = data, "model.safetensors"

    monkeypatch.setattr("moralscope.models.training.trainer.Store.entry", lambda *_: Entry)
    assert named_base(str(base), base, "0" * 64, "minilm") == ("minilm", data)


def test_a_copy_of_a_converted_generator_is_known_by_its_source(tmp_path):
    from moralscope.models.store import Store

    source = Store().entry("smollm2").sha256
    (tmp_path / "conversion.json").write_text(json.dumps({"source": source}))
    assert named_base(str(tmp_path), tmp_path, "0" * 64, "smollm2") == ("smollm2", source)
