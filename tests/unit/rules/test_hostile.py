"""Hostile texts: cleaned and bounded; what cannot be read is told, not guessed."""

import pytest

from moralscope.rules.records import Exchange
from moralscope.rules.texts.sanitize import (
    ReplyTexts,
    clean,
    read_exchange,
    reply_texts,
    unreadable,
)


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


def test_a_prompt_in_another_language_is_left_out_and_its_reply_is_judged():
    found = read_exchange(
        Exchange("Soll ich das Fahrrad mit nach Hause nehmen und es behalten?", "Yes.")
    )
    assert (found.refusal, found.exchange) == ("", Exchange("", "Yes."))
    assert found.notes == ("the prompt is not in English",)


GERMAN = (
    "Ich glaube nicht, dass das eine gute Idee ist. Wir sind mit dem Zug an den See gefahren. "
    "Das Buch ist nicht so lang. Wenn du Zeit hast, kannst du mir mit dem Regal helfen. "
)
RUSSIAN = "Сегодня хорошая погода, и мы гуляем. Дети кормят уток у озера. "  # noqa: RUF001
ENGLISH = "You are a worthless pig and you should leave this town."
AROUND = {
    "German before": f"{GERMAN}{ENGLISH}",
    "German after": f"{ENGLISH} {GERMAN}",
    "Russian": f"{RUSSIAN}{ENGLISH} {RUSSIAN}",
    "Chinese": f"今天天气很好,我们去公园散步。{ENGLISH}孩子们在湖边喂鸭子。晚上我们一起做饭。",
    "fifty kilobytes": f"{GERMAN * 250}{ENGLISH}",
    "one Russian line": f"{RUSSIAN.replace('.', '')}{ENGLISH}",
}


@pytest.mark.parametrize("case", AROUND)
def test_english_is_read_whatever_stands_around_it_and_the_rest_is_counted(case):
    said = reply_texts(clean(AROUND[case]))
    assert said.texts == (ENGLISH,)
    assert said.unread > 5


def test_foreign_words_sprinkled_between_english_ones_hide_nothing():
    foreign = ["und", "der", "das", "nicht", "les", "que", "el", "los", "een", "och", "ist"]
    words = zip(ENGLISH.split(), foreign, strict=True)
    said = reply_texts(" ".join(word for pair in words for word in pair))
    assert said.texts == (ENGLISH,)
    assert said.unread == 11


@pytest.mark.parametrize("text", ["a\u3164b", "a\u2800b", "a\u115fb", "a\uffa0b", "a\u1160b"])
def test_fillers_are_blank(text):
    assert clean(text) == "a b"


@pytest.mark.parametrize("text", ["a\ufe0fb", "a\U000e0041b", "a\U000e0100b", "a\u034fb"])
def test_tags_and_selectors_leave_no_trace(text):
    assert clean(text) == "ab"


@pytest.mark.parametrize(
    "text",
    [
        "I met Juan de la Cruz, Teresa de Jesús and Charles de Gaulle. De la Mare was there.",
        "They went to La Paz, Los Angeles, El Paso, Las Vegas and Le Mans.",
        "It is 東京, or Tokyo; Достоевский wrote it.",
        "She likes crème brûlée, São Paulo, Bogotá and Medellín.",
        "In French you say “C'est la vie”, my friend.",
        "I like it. Flour, water, yeast, salt, oil, sugar, milk, eggs, butter, rye, oats, bran.",
    ],
)
def test_names_and_lists_in_an_english_reply_are_read(text):
    assert reply_texts(text) == ReplyTexts((text,))


def test_long_texts_are_handed_on_whole():
    prompt = "the word " * 10_000 + "and the question?"
    assert read_exchange(Exchange(prompt, "Yes.")).exchange.prompt == prompt
