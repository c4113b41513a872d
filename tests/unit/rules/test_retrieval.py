"""Retrieval: order, ties, batches, baselines, and its time for many rules."""

import time

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.models.encoders import load_encoder
from moralscope.rules.records import Annotation, Exchange, RuleOfThumb
from moralscope.rules.retrieval import NearestExchange, RandomRules, Retriever

RULES = [
    RuleOfThumb("It's wrong to steal bikes."),
    RuleOfThumb("You should tip waiters."),
    RuleOfThumb("It's rude to stare.", examples=("I watched her purple umbrella",)),
]
ASKED = [
    Exchange("Any tip?", "you should tip waiters"),
    Exchange("What then?", "I watched her purple umbrella"),
    Exchange("", "wrong to steal bikes"),
]


@pytest.fixture(scope="module")
def scripted():
    return load_encoder("scripted", cached=False)


def texts(found):
    return [[rule.text for rule, _ in each] for each in found]


def test_the_nearest_rule_comes_first_by_text_behaviour_or_example(scripted):
    found = Retriever(RULES, scripted).find(ASKED, 1)
    assert texts(found) == [[RULES[1].text], [RULES[2].text], [RULES[0].text]]


def test_prompt_and_reply_count_the_same_and_one_may_be_empty(scripted):
    one, other = "you should tip waiters", "it's rude to stare"
    finder = Retriever(RULES, scripted)
    there, back = finder.find([Exchange(one, other), Exchange(other, one)], 3)
    assert [rule.text for rule, _ in there] == [rule.text for rule, _ in back]
    assert [score for _, score in there] == pytest.approx([score for _, score in back])
    alone, empty = finder.find([Exchange("", one), Exchange(one, "")], 1)
    assert alone == empty
    assert alone[0][0] == RULES[1]


def test_all_examples_as_one_text_are_a_key_too(scripted):
    said = "I hid the ring I wore the hat"
    parts = ("I hid the ring", "I wore the hat")
    apart, joined = (RuleOfThumb("It's rude to stare.", examples=each) for each in (parts, parts))
    bare = RuleOfThumb("It's rude to stare.")
    ((with_examples, score), (_, less)) = Retriever([bare, joined], scripted).find(
        [Exchange("", said)], 2
    )[0]
    assert apart == joined == with_examples
    assert score > less


def test_scores_fall_and_k_bounds_the_list(scripted):
    finder = Retriever(RULES, scripted)
    scores = [score for _, score in finder.find(ASKED[:1], 9)[0]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert finder.find(ASKED[:1], 0) == [[]]
    assert finder.find([], 5) == []


def test_a_row_does_not_depend_on_its_neighbours(scripted):
    finder = Retriever(RULES, scripted)
    many = [ASKED[place % 3] for place in range(600)]
    assert texts(finder.find(many, 3))[599] == texts(finder.find([many[599]], 3))[0]


def test_equal_rules_keep_their_order(scripted):
    twins = [RuleOfThumb("It's rude to stare.", id=str(n)) for n in range(5)]
    found = Retriever(twins, scripted).find(ASKED[:1], 3)
    assert [rule.id for rule, _ in found[0]] == ["0", "1", "2"]


def test_no_rules_are_refused(scripted):
    with pytest.raises(InputError, match="no rules"):
        Retriever([], scripted)


def test_the_sbert_baseline_gives_the_rules_of_the_nearest_exchange(scripted):
    known = [
        Annotation(Exchange("Do you steal bikes?", "Yes"), "It's wrong to steal."),
        Annotation(Exchange("Do you steal bikes?", "Yes"), "You should buy a bike."),
        Annotation(Exchange("Do you tip?", "No"), "You should tip waiters."),
    ]
    asked = [Exchange("Do you steal bikes?", "Yes sure")]
    found = NearestExchange(known, scripted, seed=1).find(asked, 2)
    assert set(texts(found)[0]) == {"It's wrong to steal.", "You should buy a bike."}
    assert found == NearestExchange(known, scripted, seed=1).find(asked, 2)
    firsts = {
        texts(NearestExchange(known, scripted, seed=n).find(asked, 1))[0][0] for n in range(9)
    }
    assert len(firsts) == 2


def test_the_random_baseline_draws_by_seed_without_repeating():
    found = RandomRules(RULES, 3).find(ASKED, 3)
    assert all(len({rule.text for rule, _ in each}) == 3 for each in found)
    assert any(
        RandomRules(RULES, n).find(ASKED, 1) != RandomRules(RULES, 3).find(ASKED, 1)
        for n in range(9)
    )


def test_ten_thousand_rules_are_searched_in_milliseconds():
    class Noise:
        arithmetic = "float32"
        name, checksum, dimension = "noise", "", 384

        def encode(self, texts):
            return np.random.default_rng(len(texts)).normal(size=(len(texts), 384)).astype("f4")

    finder = Retriever(
        [RuleOfThumb(f"It's wrong to steal {n} bikes.") for n in range(10_000)], Noise()
    )
    finder.find(ASKED, 5)
    before = time.perf_counter()
    finder.find(ASKED[:1], 5)
    assert time.perf_counter() - before < 0.2
