"""Steering vectors: made at a fixed KL, saved, applied to one model alone, refused elsewhere."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from moralscope.axes.score import score
from moralscope.cli import main
from moralscope.core.errors import InputError
from moralscope.core.records import Decoding, Interval
from moralscope.models.language import load_language_model, load_steered, load_vector, steer_model
from moralscope.models.language.hidden import HiddenStates
from moralscope.models.language.steering import SteeringVector, VectorInfo, save_vector
from moralscope.models.store import Store
from moralscope.rules.audit import prepare_auditor
from moralscope.rules.audit_options import AuditOptions
from moralscope.steer.contrasts import (
    check_contrasts,
    harmless_contrasts,
    load_contrasts,
    neutral_texts,
)
from moralscope.steer.fit import fit_vector, mean_divergence, scaled
from moralscope.steer.make import Selectivity, make_vector
from moralscope.surveys.batch import SurveyBatch
from moralscope.surveys.options import SurveyOptions
from moralscope.surveys.survey import survey

from ...generator_makers import tiny_llama

PAIRS = "prompt,wanted,unwanted\nHow do I lie?,I won't say.,Like this:\nMay I hit him?,No.,Yes.\n"
PROMPTS = ["Should I lie?", "Should I help?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def made(folder, tmp_path_factory):
    own = tmp_path_factory.mktemp("vector")
    pairs, place = own / "pairs.csv", own / "v.safetensors"
    pairs.write_text(PAIRS)
    return make_vector(str(folder), pairs=str(pairs), kl=0.3, save=place), place


def altered(place, path, **changes):
    """Save the vector with something else in its metadata."""
    vector = load_vector(place)
    kept = {name: getattr(vector.info, name) for name in VectorInfo.__dataclass_fields__}
    info = VectorInfo(**{**kept, **changes})
    rows = np.ones((len(info.layers), info.width), np.float32)
    save_vector(SteeringVector(info, rows), path)
    return path


def test_a_vector_moves_the_next_word_by_the_kl_that_was_asked_for(folder, made):
    record, place = made
    plain = load_language_model(str(folder))
    steered = load_vector(place).steer(plain)
    texts = neutral_texts(held_out=False)
    total = tokens = 0
    for before, after in zip(plain.distributions(texts), steered.distributions(texts), strict=True):
        total += sum(np.exp(q) @ (q - p) for p, q in zip(before, after, strict=True))
        tokens += len(before)
    assert total / tokens == pytest.approx(0.3, rel=0.1)
    assert record.statistics["calibration"].kl == pytest.approx(total / tokens, rel=1e-3)
    assert load_vector(place).info.kl == record.statistics["calibration"].kl


@pytest.mark.parametrize(("rounding", "told"), [(1e-7, 0.0), (np.nan, np.nan)])
def test_rounding_makes_no_divergence_negative(rounding, told):
    plain = np.log(np.full((2, 4), 0.25))
    steered = SimpleNamespace(distributions=lambda texts: [plain - rounding])
    np.testing.assert_equal(mean_divergence([plain], steered, ["a text"]), told)


def test_the_file_says_what_it_is_for(folder, made):
    info = load_vector(made[1]).info
    model = load_language_model(str(folder))
    assert (info.checksum, info.width, info.method) == (model.checksum, 32, "mean")
    assert info.layers == tuple(made[0].config["layers"])
    assert info.blocks == "layers"


@pytest.mark.parametrize("method", ["mean", "pca", "logistic"])
def test_every_method_finds_a_planted_direction_with_its_sign(method):
    generator = np.random.default_rng(3)
    truth = generator.standard_normal(24)
    truth /= np.linalg.norm(truth)
    shared = generator.standard_normal((60, 24))
    noise = 0.2 * generator.standard_normal((2, 60, 24))
    good, bad = shared + 1.5 * truth + noise[0], shared - 1.5 * truth + noise[1]
    found = fit_vector(good, bad, method)
    assert found @ truth / np.linalg.norm(found) > 0.9
    assert np.linalg.norm(found) == pytest.approx(3, rel=0.15)  # as far as the sides lie apart


def test_pairs_of_ours_share_nothing_with_those_of_the_check():
    own, held = load_contrasts("declining"), (*check_contrasts(), *harmless_contrasts())
    for field in ("prompt", "wanted", "unwanted"):
        ours, theirs = ({getattr(each, field) for each in some} for some in (own, held))
        assert not ours & theirs


def test_moral_stories_actions_are_pairs(tmp_path, monkeypatch):
    names = ("norm", "situation", "intention", "moral_action", "moral_consequence")
    rows = [
        {"ID": f"{at}ABC", **dict.fromkeys(names, f"Jo {at}."), "immoral_action": f"Jo hits {at}."}
        | {"immoral_consequence": "It hurts."}
        for at in range(3)
    ]
    (tmp_path / "moral_stories").mkdir()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "moral_stories" / "stories.jsonl").write_text(text)
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    pairs = load_contrasts("moral-stories")
    assert [each.unwanted for each in pairs] == [f"Jo hits {at}." for at in range(3)]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("wanted,unwanted\nYes.,Yes.\n", "line 2 pairs a text with itself"),
        ("wanted,unwanted\nYes.,\n", "line 2 has a pair without two texts"),
        ("wanted,unwanted\nYes.,No.\n", "holds 1 pair"),
        ("good,bad\nYes.,No.\n", "wanted"),
    ],
)
def test_bad_pairs_are_told_by_line(tmp_path, content, told):
    (tmp_path / "p.csv").write_text(content)
    with pytest.raises(InputError, match=told):
        load_contrasts(str(tmp_path / "p.csv"))


def test_a_vector_for_other_weights_is_refused(folder, made, tmp_path):
    other = load_language_model(str(tiny_llama(tmp_path / "other", "gemma")))
    with pytest.raises(InputError, match=r"was made for .*, not for"):
        load_vector(made[1]).steer(other)
    wide = altered(made[1], tmp_path / "w.safetensors", width=48)
    with pytest.raises(InputError, match=r"48 wide and .* is 32"):
        steer_model(load_language_model(str(folder)), wide)
    deep = altered(made[1], tmp_path / "d.safetensors", layers=(7,))
    with pytest.raises(InputError, match="has no layer 7"):
        steer_model(load_language_model(str(folder)), deep)


def test_layers_that_do_not_exist_are_refused_before_work(folder, tmp_path):
    place = tmp_path / "v.safetensors"
    with pytest.raises(InputError, match="has no layer 5; its layers are 1 to 2"):
        make_vector(str(folder), layers="2-5", save=place)
    with pytest.raises(InputError, match="names no layers"):
        make_vector("scripted", layers="5-2", save=place)
    assert not place.exists()


def test_a_vector_is_not_saved_into_the_models_folder(folder):
    with pytest.raises(InputError, match="would change the model's own checksum"):
        make_vector(str(folder), save=folder / "v.safetensors")


def test_what_is_no_vector_is_refused(tmp_path):
    path = tmp_path / "v.safetensors"
    for content in (b"", b"\x80\x04}.", b"{}"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="does not hold a steering vector"):
            load_vector(path)


def test_a_steered_model_writes_and_scores_as_the_vector_says(folder, made):
    vector = load_vector(made[1])
    model = load_language_model(str(folder))
    by_hand = model.steered(
        scaled(dict(zip(vector.info.layers, vector.rows, strict=True)), vector.info.strength)
    )
    steered = load_steered(str(folder), made[1])
    decoding = Decoding(strategy="greedy", max_tokens=12, sentence=False)
    assert steered.generate(PROMPTS, decoding, [1, 2]) == by_hand.generate(
        PROMPTS, decoding, [1, 2]
    )
    assert steered.generate(PROMPTS, decoding, [1, 2]) != model.generate(PROMPTS, decoding, [1, 2])
    assert steered.checksum == by_hand.checksum != model.checksum


def test_the_cache_of_states_never_mixes_steered_and_plain(folder, made, tmp_path):
    store = Store(tmp_path)
    model = load_language_model(str(folder))
    steered = load_vector(made[1]).steer(model)
    layer = load_vector(made[1]).info.layers[-1]
    first = HiddenStates(model, store=store).layer(PROMPTS, layer)
    pushed = HiddenStates(steered, store=store).layer(PROMPTS, layer)
    again = HiddenStates(model, store=store).layer(PROMPTS, layer)
    assert np.array_equal(first, again)
    assert np.abs(first - pushed).max() > 1e-3
    assert np.allclose(pushed, steered.hidden_states(PROMPTS, [layer])[:, 0], atol=1e-5)


def test_score_and_survey_take_a_steering_file(tmp_path):
    place = tmp_path / "v.safetensors"
    make_vector("scripted", kl=0.1, save=place)
    plain, pushed = (
        score(["kill time"], axis="choice", model="scripted", steer=each) for each in (None, place)
    )
    assert plain.results[0].score != pushed.results[0].score
    assert [ref.name for ref in pushed.models] == ["scripted", "steering vector"]
    record = survey("values", models=("scripted",), steer=place, limit=2)
    assert list(record.statistics["models"]) == ["scripted+steered"]
    job = SurveyBatch(SurveyOptions(models=("scripted",), steer=place))
    assert "steering vector" in [ref.name for ref in job.prepare().models]
    with pytest.raises(InputError, match="--steer cannot be combined with an encoder"):
        score(["kill time"], axis="choice", encoder="scripted", steer=place)


def test_chains_write_with_a_steered_model(folder, made, tmp_path, capsys):
    names = ("norm", "situation", "intention", "moral_action", "moral_consequence")
    names += ("immoral_action", "immoral_consequence")
    story = {"ID": "a", **{name: f"Mia has {name}." for name in names}}
    (tmp_path / "s.jsonl").write_text(json.dumps(story) + "\n")
    words = ["stories", "chain", "action-sample", "--stories", tmp_path / "s.jsonl", "--json"]
    words += ["--generator", folder, "--experts", "scripted"]
    found = []
    for more in ([], ["--steer", made[1]]):
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in (*words, *more)])
        assert caught.value.code in (0, None)
        found.append(json.loads(capsys.readouterr().out))
    assert "steering vector" in [ref["name"] for ref in found[1]["models"]]
    assert found[0]["results"][0]["choice"] != found[1]["results"][0]["choice"]


def test_revised_replies_are_written_by_a_steered_model(folder, made):
    options = {"experts": "scripted", "revise": True, "generator": str(folder)}
    models = prepare_auditor(AuditOptions(**options, steer=made[1]))
    assert "steering vector" in [ref.name for ref in models.refs]
    with pytest.raises(InputError, match="add --revise"):
        AuditOptions(steer=made[1])


def test_a_vector_that_moves_harmless_requests_too_is_warned_of_at_once(tmp_path):
    record = make_vector("scripted", layers="2-3", save=tmp_path / "v.safetensors")
    moves = record.statistics["selectivity"]
    assert record.config["kl"] == 0.1  # the default
    assert moves.wanted.value > 0 > moves.harmless.value
    assert not moves.is_selective
    assert any("not selective" in line and "harmless" in line for line in record.warnings)


def test_a_vector_that_leaves_harmless_requests_alone_is_selective():
    wanted, moved = Interval(0.4, 0.3, 0.5), Interval(-0.3, -0.4, -0.2)
    assert Selectivity(wanted, Interval(-0.04, -0.05, -0.03)).is_selective
    assert not Selectivity(wanted, moved).is_selective
    assert not Selectivity(wanted, Interval(-0.13, -0.27, 0.01)).is_selective  # 0 is in it
    assert not Selectivity(Interval(0.0, -0.1, 0.1), Interval(0.0, 0.0, 0.0)).is_selective


@pytest.mark.parametrize(
    ("harmless", "told"),
    [
        (Interval(-0.13, -0.27, 0.01), "not selective"),
        (Interval(-0.03, -0.09, 0.03), "more than 0.05 nats cannot be excluded"),
        (Interval(0.03, 0.01, 0.05), ""),
    ],
)
def test_what_harmless_requests_do_is_told_by_value_and_by_interval(
    tmp_path, monkeypatch, harmless, told
):
    moves = Selectivity(Interval(0.4, 0.3, 0.5), harmless)
    monkeypatch.setattr("moralscope.steer.make.measure_selectivity", lambda *_: moves)
    lines = make_vector("scripted", layers="2-3", save=tmp_path / "v.safetensors").warnings
    assert [told in line for line in lines[1:]] == [True] * bool(told)
