"""One suite for every `LanguageModel`: a new one is tested by adding its name."""

import json
import math

import numpy as np
import pytest

from moralscope.core.errors import InputError, LicenceNotAccepted
from moralscope.core.protocols import LanguageModel
from moralscope.core.records import Decoding
from moralscope.models.language import EndpointOptions, load_language_model
from moralscope.models.store import Store

from ..generator_makers import answer_to, served, tiny_llama

PROMPTS = [
    "Should I kill people?",
    "You find a purse.\nWhich would you do?\nA. I keep it.\nB. I give it back.",
    "Should I help?",
    "Should I kill people?",
    "Was nun?",
]
ANSWERS = [["Yes", "No"], ["A", "B"], ["Yes, you should.", "No"], ["No", "Yes"], ["Ja"]]


def logprobs_of(handler, body, _times):
    """Answer as a server does that tells the likeliest tokens; their shares sum to one."""
    answer = answer_to(body)
    if body.get("top_logprobs"):
        seed = len(body["messages"][-1]["content"]) % 5 + 1
        shares = [("Yes", 0.08 * seed), ("No", 0.3), ("A", 0.1), ("B", 0.05), ("Ja", 0.01)]
        top = [{"token": token, "logprob": math.log(share)} for token, share in shares]
        top.sort(key=lambda row: -row["logprob"])
        answer["choices"][0]["message"]["content"] = top[0]["token"]
        answer["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    handler.send(200, json.dumps(answer).encode())
    return True


@pytest.fixture(
    scope="module",
    params=[
        "scripted",
        "llama",
        "gemma",
        "endpoint",
        "silent endpoint",
        pytest.param("smollm2", marks=pytest.mark.slow),
        pytest.param("gemma3-270m", marks=pytest.mark.slow),
        pytest.param("tinyllama", marks=pytest.mark.slow),
    ],
)
def model(request, tmp_path_factory):
    if "endpoint" in request.param:
        tells = request.param == "endpoint"
        with served(logprobs_of if tells else None) as (url, _):
            store = Store(tmp_path_factory.mktemp("answers"))
            yield load_language_model("openai:tiny", endpoint=EndpointOptions(url), store=store)
    elif request.param in ("llama", "gemma"):
        folder = tiny_llama(tmp_path_factory.mktemp(request.param), request.param)
        yield load_language_model(str(folder))
    else:
        try:
            yield load_language_model(request.param)
        except LicenceNotAccepted as error:  # whose licence is accepted is the user's affair
            pytest.skip(str(error))


def test_is_a_language_model_with_a_name_and_a_checksum(model):
    assert isinstance(model, LanguageModel)
    assert model.name
    assert len(model.checksum) == 64


def test_log_probabilities_are_finite_never_positive_and_in_order(model):
    found = model.log_probabilities(PROMPTS, ANSWERS)
    assert [[each.text for each in some] for some in found] == ANSWERS
    for each in (each for some in found for each in some):
        assert each.log_probabilities
        assert all(math.isfinite(score) and score <= 1e-6 for score in each.log_probabilities)


def test_answers_of_a_prompt_never_hold_more_than_all_probability(model):
    for some in model.log_probabilities(PROMPTS, ANSWERS):
        assert sum(math.exp(each.total) for each in some) <= 1.05


def test_neither_the_order_nor_the_neighbours_matter(model):
    found = model.log_probabilities(PROMPTS, ANSWERS)
    backwards = model.log_probabilities(PROMPTS[::-1], ANSWERS[::-1])[::-1]
    alone = [model.log_probabilities([p], [a])[0] for p, a in zip(PROMPTS, ANSWERS, strict=True)]
    for one, two, three in zip(found, backwards, alone, strict=True):
        totals = [each.total for each in one]
        assert totals == pytest.approx([each.total for each in two], abs=1e-4)
        assert totals == pytest.approx([each.total for each in three], abs=1e-4)
    assert found[0][0].total == pytest.approx(found[3][1].total, abs=1e-4)


def test_no_prompts_give_nothing(model):
    assert list(model.log_probabilities([], [])) == []


def test_it_generates_too(model):
    [[written]] = model.generate(["Jo finds a purse and"], Decoding("greedy", max_tokens=4), [0])
    assert isinstance(written.text, str)


def test_a_prompt_is_made_through_the_chat_template_or_plainly(model):
    if model.has_chat:
        assert "Should I?" in model.prompt("Should I?", chat=True)
    else:
        with pytest.raises(InputError, match="no chat template"):
            model.prompt("Should I?", chat=True)
    if model.layers:
        assert model.prompt("Should I?", chat=False) == "Should I?"


def test_a_talk_is_read_as_turns_that_stand_apart(model):
    if not model.has_chat:
        return
    turns = ("Should I help?", "I would not.", "Are you sure? Should I help?")
    talk = model.prompt(*turns, chat=True)
    ends = [talk.index(turn) for turn in turns]
    assert ends == sorted(ends)
    assert talk != model.prompt("\n".join(turns), chat=True)
    [answers] = model.log_probabilities([talk], [["Yes", "No"]])
    assert sum(math.exp(each.total) for each in answers) <= 1.05


def test_hidden_states_are_rows_by_layer_or_refused(model):
    if not model.layers:
        for call in (model.hidden_states, model.distributions):
            with pytest.raises(InputError):
                list(call(*([["a"], [1]] if call == model.hidden_states else [["a"]])))
        with pytest.raises(InputError, match="cannot be steered"):
            model.steered({})
        return
    rows = model.hidden_states(PROMPTS, [1, model.layers])
    assert rows.shape == (len(PROMPTS), 2, model.dimension)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows[0], rows[3], atol=1e-5)
    np.testing.assert_allclose(model.hidden_states(PROMPTS[2:3], [model.layers])[0, 0], rows[2, 1],
                               rtol=1e-3, atol=1e-3)  # fmt: skip


@pytest.mark.parametrize("layer", [0, -1, 1000])
def test_a_layer_that_does_not_exist_is_refused(model, layer):
    if model.layers:
        with pytest.raises(InputError, match=f"no layer {layer}"):
            model.hidden_states(["a"], [layer])
        with pytest.raises(InputError, match=f"no layer {layer}"):
            model.steered({layer: np.zeros(model.dimension, np.float32)})


def test_distributions_sum_to_one(model):
    if model.layers:
        first, second = model.distributions(["It is kind to help.", "So"])
        assert len(first) > len(second)
        np.testing.assert_allclose(np.exp(first.astype(np.float64)).sum(1), 1, atol=1e-4)


def test_steering_moves_scores_and_states_and_only_those_of_the_steered_model(model):
    if not model.layers:
        return
    before = [each.total for each in model.log_probabilities(PROMPTS[:1], ANSWERS[:1])[0]]
    vector = np.full(model.dimension, 0.5, np.float32)
    other = model.steered({1: vector})
    assert isinstance(other, LanguageModel)
    assert other.checksum != model.checksum
    assert other.name != model.name
    moved = [each.total for each in other.log_probabilities(PROMPTS[:1], ANSWERS[:1])[0]]
    assert moved != pytest.approx(before, abs=1e-3)
    shift = other.hidden_states(["So"], [1]) - model.hidden_states(["So"], [1])
    assert np.abs(shift).max() > 1e-3
    again = [each.total for each in model.log_probabilities(PROMPTS[:1], ANSWERS[:1])[0]]
    assert again == pytest.approx(before, abs=1e-6)
    zero = model.steered({1: np.zeros(model.dimension, np.float32)})
    same = [each.total for each in zero.log_probabilities(PROMPTS[:1], ANSWERS[:1])[0]]
    assert same == pytest.approx(before, abs=1e-5)


def test_a_vector_of_another_width_is_refused(model):
    if model.layers:
        with pytest.raises(InputError, match="does not fit"):
            model.steered({1: np.zeros(model.dimension + 1, np.float32)})
