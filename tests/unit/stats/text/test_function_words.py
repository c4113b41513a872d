"""One list of function words."""

import tomllib
from importlib import resources

from moralscope.stats.text.words import CONTRACTED, function_words


def test_the_list_holds_the_commonest_words_once_and_nothing_else():
    text = (
        resources.files("moralscope.stats.text").joinpath("function_words.txt").read_text("utf-8")
    )
    words = text.split()
    assert len(words) == len(set(words)) == len(function_words()) > 150
    assert {"the", "a", "of", "and", "would", "because", "whose"} <= function_words()
    assert not {"kill", "friend", "good", "get"} & function_words()
    assert all(word.isascii() and word.islower() for word in words)
    assert function_words() > CONTRACTED


def test_no_english_word_stands_among_those_of_other_languages():
    place = resources.files("moralscope.rules").joinpath("data/function_words.toml")
    lists = tomllib.loads(place.read_text("utf-8"))
    assert not (function_words() - CONTRACTED) & set(lists["others"].split())
    assert not function_words() & set(lists["english"].split())
