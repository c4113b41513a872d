"""Checks of an answer: the form's, appendix E.2's, and those of stories."""

import pytest

from moralscope.annotation.checks import CHECKS, charged_words, find
from moralscope.annotation.forms import form_names, load_form

EXCHANGE = {"prompt": "Should I lie to Jo?", "reply": "Yes, always."}
RULE = {
    "rule": "It is wrong to lie to a friend.",
    "alignment": "disagree",
    "consensus": 4,
    "severity": 3,
    "foundations": [],
    "revised_reply": "I would rather tell her what happened.",
}
NORMS = {"norm_1": "Be on time.", "norm_2": "Share.", "norm_3": "Say thanks."}
STORY = {
    "norm": "Share.",
    "situation": "Anna and Ben share a kitchen.",
    "intention": "Anna wants a clean table.",
    "moral_action": "Anna wipes the table after dinner.",
    "moral_consequence": "Ben finds a place for his books.",
    "immoral_action": "Anna pushes the crumbs onto the floor.",
    "immoral_consequence": "Ben steps on the crumbs at night.",
    **dict.fromkeys(("both_reach", "keeps", "breaks", "realistic"), True),
}


def said(answer, form="rule-of-thumb", texts=EXCHANGE):
    return {(one.field, one.check): one for one in find(load_form(form), texts, answer)}


def test_good_answers_pass_without_a_word():
    assert not said(RULE)
    assert not said(STORY, "story-writing", NORMS)


@pytest.mark.parametrize(
    ("field", "value", "check"),
    [
        ("rule", "do not", "unique_words"),
        ("rule", "lie lie LIE lie", "unique_words"),
        ("revised_reply", "no no", "unique_words"),
        ("revised_reply", "It is wrong, to lie to a FRIEND!", "differs_from"),
        ("rule", "you must not and you must not but you must go", "repeated_pair"),
        ("rule", "", "required"),
        ("rule", "   ", "required"),
        ("rule", "one two three\nfour", "value"),
        ("rule", "word " * 101, "length"),
        ("rule", 7, "value"),
        ("alignment", "agrees", "value"),
        ("alignment", None, "required"),
        ("consensus", 6, "value"),
        ("consensus", 0, "value"),
        ("consensus", True, "value"),
        ("consensus", "4", "value"),
        ("foundations", ["care", "care"], "value"),
        ("foundations", ["kindness"], "value"),
        ("foundations", "care", "value"),
    ],
)
def test_what_must_be_mended_blocks(field, value, check):
    assert said({**RULE, field: value})[field, check].blocks


def test_a_pair_of_words_may_stand_twice_but_not_three_times():
    twice = "you must go and you must stay"
    assert ("rule", "repeated_pair") not in said({**RULE, "rule": twice})
    assert ("rule", "repeated_pair") in said({**RULE, "rule": f"{twice} or you must run"})


def test_three_unique_words_are_enough():
    assert ("rule", "unique_words") not in said({**RULE, "rule": "Never lie twice."})


def test_no_foundation_is_an_answer_but_no_answer_is_not():
    assert not said({**RULE, "foundations": []})
    left_out = {name: value for name, value in RULE.items() if name != "foundations"}
    assert ("foundations", "required") in said(left_out)


def test_no_is_an_answer():
    assert not said({"ok": False}, "action-yes-no", {"action": "wave"})
    assert ("ok", "value") in said({"ok": 1}, "action-yes-no", {"action": "wave"})


def test_spelling_hints_and_does_not_block():
    found = said({**RULE, "revised_reply": "I would tell her the trooth, Jo."})
    hint = found["revised_reply", "spelling"]
    assert "trooth" in hint.message
    assert not hint.blocks


def test_spelling_leaves_names_and_words_of_the_item_alone():
    texts = {**EXCHANGE, "prompt": "What is a frobnicator?"}
    answer = {**RULE, "rule": "Mikkeline should not sell a frobnicator to children."}
    assert ("rule", "spelling") not in said(answer, texts=texts)


def test_actions_of_stories_do_without_words_that_judge():
    found = said(
        {**STORY, "immoral_action": "Anna decides to steal the table."}, "story-writing", NORMS
    )
    assert found["immoral_action", "plain_words"].blocks
    assert "'steal'" in found["immoral_action", "plain_words"].message
    again = said({**STORY, "situation": "Anna saw Ben steal a table."}, "story-writing", NORMS)
    assert not any(check == "plain_words" for _, check in again), "only actions are asked to"


def test_names_stay_the_same():
    found = said({**STORY, "moral_consequence": "Later Clara is glad."}, "story-writing", NORMS)
    hint = found["moral_consequence", "known_names"]
    assert "Clara" in hint.message
    assert not hint.blocks


def test_somebody_known_must_act():
    found = said({**STORY, "moral_action": "They clean it up together."}, "story-writing", NORMS)
    assert ("moral_action", "same_actor") in found


def test_both_actions_must_differ():
    same = {**STORY, "immoral_action": STORY["moral_action"]}
    assert ("immoral_action", "differs_from") in said(same, "story-writing", NORMS)


def test_the_norm_must_be_one_of_the_three():
    form = load_form("story-writing")
    offered = form.filled(NORMS).field("norm").choices
    assert [choice.value for choice in offered] == list(NORMS.values())
    assert ("norm", "value") in said({**STORY, "norm": "Be rude."}, "story-writing", NORMS)


@pytest.mark.parametrize("box", ["both_reach", "keeps", "breaks", "realistic"])
@pytest.mark.parametrize("value", [False, None, 1, "yes"])
def test_what_no_program_sees_must_be_confirmed(box, value):
    found = said({**STORY, box: value}, "story-writing", NORMS)
    assert any(field == box for field, _ in found)


def test_every_check_of_every_form_exists():
    for name in form_names():
        for field in load_form(name).fields:
            assert set(field.checks) <= set(CHECKS), (name, field.name)


def test_charged_words_are_words_and_not_on_both_sides():
    assert all(word == word.lower() and word.isascii() for word in charged_words())
    assert {"praised", "joyous", "assaulted", "steal"} <= charged_words(), "the paper's four"


def test_the_dictionary_is_loaded_once_however_many_ask(monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    import spellchecker

    from moralscope.annotation import checks

    loaded = []
    whole = spellchecker.SpellChecker

    def count(**options):
        loaded.append(options)
        return whole(**options)

    monkeypatch.setattr(spellchecker, "SpellChecker", count)
    checks._dictionary_of_english.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(checks.misspelt, ["a trooth"] * 8))
    assert len(loaded) == 1
    assert all(one[0][0] == "trooth" for one in found)
