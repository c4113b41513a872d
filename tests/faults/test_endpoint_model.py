"""Endpoints as language models: servers that lie, fail, stall and limit; budgets of requests."""

import json
import logging
import math
import time

import pytest

from moralscope.core.errors import InputError
from moralscope.models.language import EndpointOptions, load_language_model
from moralscope.models.language.endpoint import EndpointError
from moralscope.models.language.endpoint_model import first_token_scores
from moralscope.models.store import Store
from moralscope.surveys.items import Dilemma
from moralscope.surveys.survey import survey

from ..generator_makers import answer_to, served

QUESTION, ANSWERS = "Should I lie? Answer with yes or no.", ["Yes", "No"]


def model_at(url, home, **options):
    given = {"retries": 2, "backoff": 0.01, "timeout": 5.0, "samples": 10, **options}
    return load_language_model(
        "openai:m", endpoint=EndpointOptions(url, **given), store=Store(home)
    )


def telling(top, own=None, text="Yes"):
    """Return a server that gives these log-probabilities for the first token."""

    def reply(handler, body, _times):
        answer = answer_to(body)
        if body.get("top_logprobs"):
            rows = [{"token": token, "logprob": score} for token, score in top]
            first = {"token": text, "logprob": rows[0]["logprob"] if own is None else own}
            answer["choices"][0]["logprobs"] = {"content": [{**first, "top_logprobs": rows}]}
        else:
            words = ["yes", "Yes.", "no"]
            for number, choice in enumerate(answer["choices"]):
                choice["message"]["content"] = words[number % 3]
        handler.send(200, json.dumps(answer).encode())
        return True

    return reply


def test_log_probabilities_of_the_first_token_are_used_where_they_are_given(tmp_path):
    top = [("Yes", math.log(0.5)), (" yes", math.log(0.2)), ("No", math.log(0.1))]
    with served(telling(top)) as (url, seen):
        [[yes, no]] = model_at(url, tmp_path).log_probabilities([QUESTION], [ANSWERS])
    assert math.exp(yes.total) == pytest.approx(0.7)
    assert math.exp(no.total) == pytest.approx(0.1)
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("top", "own", "told"),
    [
        ([("Yes", 0.0), ("No", 0.0)], None, "sum to 2"),
        ([("Yes", 3.0), ("No", -1.0)], None, "no probability has"),
        ([("Yes", -9999.0), ("No", -0.1)], -9999.0, "contradicts"),
        ([("Yes", math.log(0.2)), ("No", math.log(0.7))], math.log(0.2), "contradicts"),
    ],
)
def test_a_server_that_lies_about_log_probabilities_is_not_believed(tmp_path, top, own, told):
    with served(telling(top, own)) as (url, _):
        model = model_at(url, tmp_path)
        [[yes, no]] = model.log_probabilities([QUESTION], [ANSWERS])
    assert yes.samples == no.samples == 10
    assert (yes.hits, no.hits) == (7, 3)
    assert told in model.warnings[0]


def test_an_endpoint_without_log_probabilities_is_asked_many_times(tmp_path):
    with served() as (url, _):
        model = model_at(url, tmp_path)
        [[yes, no]] = model.log_probabilities([QUESTION], [ANSWERS])
    assert yes.samples == 10
    assert yes.hits == no.hits == 0  # it says neither
    assert math.exp(yes.total) == pytest.approx(0.5 / 11)
    assert "gives no log-probabilities" in model.warnings[0]


def test_a_server_that_fails_and_limits_is_asked_again(tmp_path):
    def reply(handler, body, times):
        if times == 1:
            handler.send(500, b"oops")
        elif times == 2:
            handler.send(429, b"slow down", Retry_After="0.01")
        else:
            return telling([("Yes", math.log(0.6)), ("No", math.log(0.3))])(handler, body, times)
        return True

    with served(reply) as (url, seen):
        model = model_at(url, tmp_path)
        [[yes, _]] = model.log_probabilities([QUESTION], [ANSWERS])
    assert math.exp(yes.total) == pytest.approx(0.6)
    assert model.usage.retries == 2
    assert len(seen) == 3


def test_a_server_that_stalls_is_given_up_in_one_line(tmp_path):
    def reply(handler, body, times):
        time.sleep(1.0)
        return False

    with served(reply) as (url, _):
        model = model_at(url, tmp_path, timeout=0.1, retries=1)
        with pytest.raises(EndpointError, match="failed 2 times") as error:
            model.log_probabilities([QUESTION], [ANSWERS])
    assert "\n" not in str(error.value)


def test_a_run_that_was_stopped_by_its_budget_goes_on_and_pays_nothing_twice(tmp_path):
    prompts = [f"Should I lie {n} times?" for n in range(6)]
    top = [("Yes", math.log(0.5)), ("No", math.log(0.4))]
    with served(telling(top)) as (url, seen):
        with pytest.raises(EndpointError, match="budget of 4 requests is used up"):
            model_at(url, tmp_path, max_requests=4).log_probabilities(prompts, [ANSWERS] * 6)
        assert len(seen) == 4  # those that were out together are all kept
        found = model_at(url, tmp_path, max_requests=4).log_probabilities(prompts, [ANSWERS] * 6)
        assert len(seen) == 6
        model_at(url, tmp_path).log_probabilities(prompts, [ANSWERS] * 6)
        assert len(seen) == 6
    assert all(math.exp(yes.total) == pytest.approx(0.5) for yes, _ in found)


def test_replies_that_were_drawn_before_the_budget_ended_are_kept(tmp_path):
    def one_choice(handler, body, _times):
        handler.send(200, json.dumps(answer_to({**body, "n": 1})).encode())
        return True

    prompts = [f"Should I lie {n} times?" for n in range(3)]
    options = {"samples": 4, "max_requests": 5, "log_probabilities": False}
    with served(one_choice) as (url, seen):
        for _ in range(2):
            with pytest.raises(EndpointError, match="budget of 5 requests is used up"):
                model_at(url, tmp_path, **options).log_probabilities(prompts, [ANSWERS] * 3)
        found = model_at(url, tmp_path, **options).log_probabilities(prompts, [ANSWERS] * 3)
        assert len(seen) == 3 * 4
    assert {each.samples for some in found for each in some} == {4}


def test_what_it_takes_is_told_before_the_first_request(tmp_path, caplog):
    with served(telling([("Yes", -0.5), ("No", -1.5)])) as (url, _):
        model = model_at(url, tmp_path, input_price=1.0, output_price=2.0)
        with caplog.at_level(logging.WARNING):
            model.log_probabilities([QUESTION], [ANSWERS])
    assert "1 requests to come" in caplog.text
    assert "in all" in caplog.text


def test_kept_answers_hold_no_text_of_anybody(tmp_path):
    with served(telling([("Yes", -0.5), ("No", -1.5)])) as (url, _):
        model_at(url, tmp_path).log_probabilities([QUESTION], [ANSWERS])
    [kept] = (tmp_path / "cache" / "answers").iterdir()
    assert "lie" not in kept.read_text()
    kept.write_bytes(kept.read_bytes() + b'{"asked": "cut o')  # a crash in the middle of a line
    with served(telling([("Yes", -0.5), ("No", -1.5)])) as (url2, _):
        assert model_at(url2, tmp_path).log_probabilities([QUESTION], [ANSWERS])


def test_an_endpoint_has_no_plain_form_and_no_layers(tmp_path):
    with served() as (url, _):
        model = model_at(url, tmp_path)
        with pytest.raises(InputError, match="use --form chat"):
            survey([Dilemma("1", "You go.", ("I a.", "I b."))], speakers=[model], form="plain")
        with pytest.raises(InputError, match="hidden states"):
            model.hidden_states(["a"], [1])


def test_a_survey_of_an_endpoint_counts_its_requests(tmp_path):
    top = [("Yes", -1.0), ("No", -1.5), ("A", -1.6), ("B", -3.0)]
    with served(telling(top)) as (url, _):
        model = model_at(url, tmp_path)
        items = [Dilemma(str(n), f"You go {n}.", ("I run.", "I walk.")) for n in range(3)]
        record = survey(items, speakers=[model], wordings=1, forms=("ab", "compare"))
    found = record.statistics["models"][model.name]
    assert found.biases["label_bias"].value == pytest.approx(1.4, abs=1e-6)
    assert model.usage.requests == 3 * 6


def test_yes_or_no_is_read_from_log_probabilities_with_all_spellings_summed(tmp_path):
    top = [("Yes", math.log(0.4)), (" yes", math.log(0.2)), ("No", math.log(0.1)), ("no", -3.0)]
    with served(telling(top)) as (url, seen):
        model = model_at(url, tmp_path)
        items = [Dilemma(str(n), f"You go {n}.", ("I run.", "I walk.")) for n in range(2)]
        record = survey(items, speakers=[model], wordings=1, forms=("compare",))
    found = record.statistics["models"][model.name]
    no = 0.1 + math.exp(-3.0)
    assert found.mass.value == pytest.approx(0.6 + no)
    assert all(one["body"].get("top_logprobs") for one in seen)
    assert record.results[0].likelihoods == pytest.approx([0.5, 0.5])  # yes, whatever is asked


def test_drawn_replies_are_counted_once_for_all_spellings_and_said(tmp_path):
    with served(telling([("Yes", -0.1)])) as (url, _):
        model = model_at(url, tmp_path, log_probabilities=False)
        [rows] = model.log_probabilities([QUESTION], [["Yes", "yes", "No", "no"]])
        assert sum(row.hits for row in rows) == 10  # "yes", "Yes." and "no", in turn
        assert sum(math.exp(row.total) for row in rows[:2]) == pytest.approx(7.5 / 11)
        model = model_at(url, tmp_path)
        model.log_probabilities([QUESTION], [["I help.", "I leave."]])
    assert "cannot tell answers apart that begin alike" in model.warnings[0]


def test_log_probabilities_of_another_shape_are_told():
    for choice in ({}, {"logprobs": {"content": []}}, {"logprobs": {"content": [{"a": 1}]}}):
        assert first_token_scores(choice)[1] == "gives no log-probabilities"
    wrong = {"logprobs": {"content": [{"logprob": 0, "top_logprobs": [{"token": 1}]}]}}
    assert first_token_scores(wrong)[1] == "gives log-probabilities of another shape"
