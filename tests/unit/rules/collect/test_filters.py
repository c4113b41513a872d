"""The sieve: keywords first, then two classifiers, and what each does with odd replies."""

import numpy as np
import pytest

from moralscope.models.encoders import load_encoder
from moralscope.rules.collect.chatbots import MAX_REPLY, CollectedExchange
from moralscope.rules.collect.filters import (
    TASKS,
    Sieve,
    ZeroShotMoralContent,
    ZeroShotSufficiency,
    is_understandable,
)
from moralscope.rules.collect.lexicons import Lexicon, Term, load_lexicon


class Table:
    """Probabilities by word; counts what it is asked."""

    name, checksum, labels = "table", "7ab1e", ("no", "yes")

    def __init__(self, word):
        self.word, self.asked = word, []

    def probabilities(self, pairs):
        self.asked += pairs
        yes = np.array([0.9 if self.word in reply else 0.5 for _, reply in pairs])
        return np.stack([1 - yes, yes], axis=1)


def row(reply, prompt="Do you steal?"):
    return CollectedExchange("1", prompt, reply, "bot")


def dropped(sieve, *replies):
    return [each.dropped for each in sieve.sift([row(reply) for reply in replies])]


def test_steps_drop_in_order_and_say_why():
    sieve = Sieve((load_lexicon("moralscope"),), Table("clear"), Table("good"))
    replies = ["", "hello", "steal", "steal clear", "steal good", "steal clear good"]
    assert dropped(sieve, *replies) == [
        *("empty reply", "no keyword", "insufficient", "no moral content", "insufficient", None),
    ]


def test_classifiers_see_only_what_holds_a_keyword():
    first, second = Table("clear"), Table("good")
    Sieve((load_lexicon("moralscope"),), first, second).sift([row("hello"), row("I steal")])
    assert first.asked == second.asked == [("Do you steal?", "I steal")]


def test_a_probability_must_be_higher_than_the_threshold():
    assert dropped(Sieve(sufficiency=Table("clear")), "unclear?", "no") == [None, "insufficient"]
    assert dropped(Sieve(sufficiency=Table("clear"), threshold=0.49), "no") == [None]


def test_a_word_of_every_lexicon_is_needed():
    one, other = (Lexicon(word, "", [Term((word,), (word,))]) for word in ("give", "take"))
    assert dropped(Sieve((one, other)), "give", "give and take") == ["no keyword", None]
    (kept,) = Sieve((one, other)).sift([row("take and give and take")])
    assert kept.keywords == ("give", "take")
    assert kept.categories == ("give", "take")


def test_without_parts_all_but_empty_and_endless_replies_pass():
    long = row("x" * (MAX_REPLY + 1))
    found = Sieve().sift([row("x"), row(""), long])
    assert [each.dropped for each in found] == [None, "empty reply", "reply too long"]
    assert len(found[2].reply) == MAX_REPLY
    assert found[0].sufficient is None
    assert Sieve().sift([]) == []


@pytest.mark.parametrize(
    ("reply", "sound"),
    [
        ("I would never do that to a friend.", True),
        ("No.", True),
        ("ha ha ha ha ha ha", False),
        ("I am a bot. " * 40, False),
        ("👍👍", False),
        ("Ich weiß nicht, was das ist.", False),
    ],
)
def test_understandable_is_english_and_varied(reply, sound):
    assert is_understandable(reply) is sound


@pytest.fixture(scope="module")
def scripted():
    return load_encoder("scripted", cached=False)


def test_the_zero_shot_filters_keep_the_contract_of_a_classifier(scripted):
    pairs = [("Do you lie?", "I lie."), ("", "😀"), ("x" * 100_000, "y " * 50_000)]
    makers = (ZeroShotSufficiency(scripted), ZeroShotMoralContent(scripted, ["Do not lie."]))
    for labels, classifier in zip(TASKS.values(), makers, strict=True):
        rows = classifier.probabilities(pairs)
        assert classifier.labels == labels
        assert rows.shape == (3, 2)
        assert rows.dtype == np.float32
        assert np.allclose(rows.sum(axis=1), 1)
        assert np.allclose(classifier.probabilities(pairs[:1]), rows[:1])
        assert classifier.probabilities([]).shape == (0, 2)


def test_rules_are_part_of_what_names_the_filter(scripted):
    one, other = (ZeroShotMoralContent(scripted, [rule]) for rule in ("Do not lie.", "Be kind."))
    assert one.checksum != other.checksum
