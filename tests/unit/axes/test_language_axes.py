"""Language models on the axes of encoders: choice, direction by layers, comparisons with people."""

import json

import numpy as np
import pytest

from moralscope.axes.compare import compare
from moralscope.axes.compare_options import CompareOptions
from moralscope.axes.language import first_words
from moralscope.axes.options import AxisOptions
from moralscope.axes.score import score
from moralscope.axes.templates import Phrasing
from moralscope.core.errors import InputError
from moralscope.core.records import Continuation, to_plain
from moralscope.models.language import load_language_model
from moralscope.models.language.hidden import HiddenStates
from moralscope.models.language.scripted import PlantedBias, ScriptedModel
from moralscope.models.store import Store
from moralscope.pages import build_page

from ...generator_makers import tiny_llama

ACTIONS = ["kill people", "help people", "eat meat", "lie", "smile", "steal"]


def rated(folder):
    path = folder / "people.csv"
    rows = [f"{action},{3 * at + 1},{20 - 3 * at}" for at, action in enumerate(ACTIONS)]
    path.write_text("action,yes,no\n" + "\n".join(rows) + "\n")
    return path


class YesSayer(ScriptedModel):
    """Says yes to everything, more so to helping: its taste for yes must not be its score."""

    def log_probabilities(self, prompts, continuations):
        def value(prompt, text):
            yes = 3.0 + 1.0 * ("help" in prompt) if text.lower().startswith("yes") else 0.0
            words = text.split()
            return (yes - 6.0, *[-0.5] * (len(words) - 1))

        return [
            [Continuation(text, value(prompt, text)) for text in some]
            for prompt, some in zip(prompts, continuations, strict=True)
        ]


def test_neutral_actions_take_the_taste_for_yes_out():
    record = score(["help people", "eat meat"], model=YesSayer())
    helping, eating = record.results
    assert helping.first == pytest.approx(1.0)
    assert eating.first == pytest.approx(0.0)
    assert eating.score == pytest.approx(0.0)
    assert helping.score > 0
    assert record.config["neutral"] == list(Phrasing().neutral)


def test_the_answer_mass_is_recorded_and_a_low_one_is_told():
    record = score(ACTIONS, model="scripted:mass=0.3")
    mass = record.statistics["language"]["answer_mass"]
    assert mass.low <= 0.3 <= mass.high or mass.value == pytest.approx(0.3, abs=0.01)
    assert all(0 < row.mass < 0.4 for row in record.results)
    assert any("would mostly reply something else" in line for line in record.warnings)
    json.dumps(to_plain(record))


def test_whole_answers_and_first_words_are_both_in_the_record():
    row = to_plain(score(["lie"], model="scripted"))["results"][0]
    assert {"score", "total", "first", "mass", "low", "high"} <= row.keys()
    assert len(row["prompts"]) == 10


def test_first_words_tell_answers_apart():
    assert first_words("Good.", "Good?") == ("Good.", "Good?")


def test_a_direction_is_fitted_in_every_layer_and_anchors_choose_one(tmp_path):
    record = score(ACTIONS, model="scripted", axis="direction", human=rated(tmp_path))
    layers = record.statistics["layers"]
    assert [row.layer for row in layers["curve"]] == [1, 2, 3, 4]
    best = max(layers["curve"], key=lambda row: row.separation).layer
    assert record.config["layer"] == layers["chosen"] == best
    assert len(layers["people"]) == 4
    chosen = layers["scores"][best - 1]
    assert chosen == pytest.approx([row.score for row in record.results])
    titles = [
        section.title for section in build_page(json.loads(json.dumps(to_plain(record)))).sections
    ]
    assert "Where in the model" in titles


def test_a_planted_direction_is_found_in_the_layer_that_holds_it():
    from moralscope.words.paper import load_paper

    paper = load_paper()
    template = "moral"
    from moralscope.axes.templates import load_template

    values = {
        question: sign * 3.0
        for side, sign in ((paper.dos, 1), (paper.donts, -1))
        for action in side
        for question in load_template(template).questions(action)
    }
    model = ScriptedModel(PlantedBias(spread=0.1), values)
    record = score(["lie"], model=model, axis="direction", fit="labelled")
    curve = record.statistics["layers"]["curve"]
    assert curve[-1].separation > 0.95
    assert record.config["layer"] == max(curve, key=lambda row: row.separation).layer


def test_one_layer_can_be_named_and_saved_and_read_back(tmp_path):
    place = tmp_path / "layer.safetensors"
    given = {"model": "scripted", "axis": "direction", "layer": 2}
    record = score(ACTIONS, **given, save_axis=place)
    again = score(ACTIONS, **given, axis_file=place)
    assert [row.score for row in again.results] == [row.score for row in record.results]
    with pytest.raises(InputError, match="name it with --layer"):
        score(ACTIONS, model="scripted", axis="direction", axis_file=place)
    with pytest.raises(InputError, match="was fitted with"):
        score(ACTIONS, model="scripted", axis="direction", layer=3, axis_file=place)


def test_a_layer_that_does_not_exist_is_refused_in_one_line():
    with pytest.raises(InputError, match="scripted has no layer 9; its layers are 1 to 4"):
        score(ACTIONS, model="scripted", axis="direction", layer=9)


def test_a_model_without_chat_template_is_asked_plainly_or_refused(tmp_path):
    folder = tiny_llama(tmp_path / "tiny")
    assert score(["lie"], model=str(folder)).config["form"] == "plain"
    with pytest.raises(InputError, match="brings no chat template; use --form plain"):
        score(["lie"], model=str(folder), form="chat")


def test_options_of_encoders_and_language_models_are_not_mixed():
    with pytest.raises(InputError, match="--encoder cannot be combined with --model scripted"):
        AxisOptions(axis="choice", model="scripted", encoder="minilm")
    with pytest.raises(InputError, match="--form cannot be combined with an encoder"):
        AxisOptions(axis="choice", encoder="minilm", form="chat")
    with pytest.raises(InputError, match="no option 'model'"):
        AxisOptions(axis="judge", model="scripted")
    assert AxisOptions(axis="choice", model="minilm").resolved().encoder == "minilm"


def test_encoders_language_models_and_people_stand_on_one_list(tmp_path):
    names = ("minilm", "scripted", "people")
    record = compare(ACTIONS, models=names, human=rated(tmp_path))
    assert record.config["encoders"] == list(names)
    assert len(record.statistics["pairs"]) == 3
    assert record.results[0].raw["people"].score == pytest.approx(1 / 21)
    json.dumps(to_plain(record))


def test_people_need_ratings_and_only_rated_actions_can_be_compared(tmp_path):
    with pytest.raises(InputError, match="add --human FILE"):
        CompareOptions(models=("scripted", "people"))
    with pytest.raises(InputError, match="nobody rated 'sing'"):
        compare([*ACTIONS, "sing"], models=("scripted", "people"), human=rated(tmp_path))


def test_hidden_states_come_from_the_cache_the_second_time(tmp_path):
    class Counting(ScriptedModel):
        asked = 0

        def hidden_states(self, texts, layers):
            Counting.asked += len(texts)
            return super().hidden_states(texts, layers)

    store = Store(tmp_path)
    texts = [f"text {n % 40}" for n in range(50)]
    first = HiddenStates(Counting(), store=store).layer(texts, 3)
    asked = Counting.asked
    again = HiddenStates(Counting(), store=store).layer(texts, 3)
    assert Counting.asked <= asked + 10  # the repeated ones of one block
    np.testing.assert_array_equal(first, again)


def test_hidden_states_of_any_number_of_texts_stream_to_disk(tmp_path):
    model = load_language_model("scripted")
    texts = [f"text {n}" for n in range(600)]
    table = HiddenStates(model, cached=False).write(texts, tmp_path / "states.npy")
    assert table.shape == (600, 4, 16)
    assert isinstance(table, np.memmap)
    np.testing.assert_allclose(table[599], model.hidden_states(texts[-1:], [1, 2, 3, 4])[0])
