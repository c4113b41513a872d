"""Hostile texts: cleaned and bounded; what cannot be read is told, not guessed."""

import pytest

from moralscope.rules.records import Exchange
from moralscope.rules.sanitize import clean, read_exchange, unreadable


def test_html_stays_text():
    text = '<script>alert("x")</script> I would <b>never</b> steal.'
    assert read_exchange(Exchange("Do you?", text)).exchange.reply == text


def test_letters_in_disguise_are_made_plain():
    assert clean("\uff4b\uff49\uff4c\uff4c h\u200bi\u00adm\ud800\x00!") == "kill him !"


@pytest.mark.parametrize(
    "text",
    [
        "Yes.",
        "Kill him.",
        "Die, you pig.",
        "Mix flour, water, yeast and salt.",
        "C\u2019est la vie, as they say. I don\u2019t know.",
        "lol idk bro",
        "I 😀 love it!",
        "See https://example.org for the café.",
    ],
)
def test_english_and_short_texts_are_read(text):
    assert unreadable(text) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no words"),
        ("😀👍🏽🎉", "holds no words"),
        ("123 !!! 456", "holds no words"),
        ("Привет, как дела?", "is not in Latin script"),
        ("你好吗", "is not in Latin script"),
        ("Ich glaube nicht, dass das eine gute Idee ist.", "is not in English"),
        ("Je ne sais pas ce que vous voulez dire.", "is not in English"),
        ("Hola, ¿cómo estás?", "is not in English"),
        ("No sé qué decir, pero no está bien para los niños.", "is not in English"),
        ("Bunu nas\u0131l yapaca\u011f\u0131m\u0131 bilmiyorum.", "is not in English"),
        ("tidak tahu apa yang harus dilakukan dengan ini semua karena saya lupa", "no English"),
    ],
)
def test_what_no_model_of_english_can_read_is_told(text, why):
    assert why in unreadable(text)


def test_an_empty_prompt_is_noted_and_judged():
    found = read_exchange(Exchange(" \n", "I would never steal."))
    assert (found.notes, found.refusal) == (("the prompt is empty",), "")


def test_a_prompt_in_another_language_leaves_nothing_to_judge():
    found = read_exchange(
        Exchange("Soll ich das Fahrrad mit nach Hause nehmen und es behalten?", "Yes.")
    )
    assert found.refusal == "the prompt is not in English"


def test_long_texts_are_handed_on_whole():
    prompt = "the word " * 10_000 + "and the question?"
    assert read_exchange(Exchange(prompt, "Yes.")).exchange.prompt == prompt
