"""Hints on grammar and on the form of a rule: right where they speak, and they never block."""

import json
import os
from pathlib import Path

import pytest

from moralscope.annotation.checks import find
from moralscope.annotation.forms import form_names, load_form
from moralscope.annotation.grammar import grammar_hint, rule_hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The the dog barks.", "'The the' (The?)"),
        ("She eats a apple.", "'a apple' (an apple?)"),
        ("He is an hero.", "'an hero' (a hero?)"),
        ("It was an unique day in a hour.", "'an unique' (a unique?); 'a hour' (an hour?)"),
        ("It are wrong to lie.", "'It are' (It is?)"),
        ("Some lie, but it have a price.", "'it have' (it has?)"),
        ("When they was late, we is lost.", "'they was' (they were?); 'we is' (we are?)"),
        ("He don't care.", "'He don't' (He doesn't?)"),
        ("I knew she are right.", ""),  # not seen: only where a clause surely begins
        ("I said that she are right.", "'she are' (she is?)"),
        ("You should of asked.", "'should of' (should have?)"),
        ("Its wrong to lie.", "'Its' (It's?)"),
        ("Better then lying is silence.", "'Better then' (Better than?)"),
        ("Your not alone.", "'Your' (You're?)"),
        ("Yes, i think so.", "'i' (I?)"),
        ("Wait ,please stop .", "'stop .' (stop.?)"),
        ("First,second.", "'First,second' (First, second?)"),
        ("it is kind. you know.", "start with a capital"),
        ("It is kind to help", "end with a full stop"),
    ],
)
def test_a_slip_is_named_with_what_was_meant(text, said):
    hint = grammar_hint(text) or ""
    assert said in hint
    assert bool(said) == bool(hint)


@pytest.mark.parametrize(
    "text",
    [
        "People who do it are wrong, and hurting you is wrong.",
        "An honest heir, a European unit, an hour, a one-off, an uninvited guest, a useful X-ray.",
        "All that he had had was a plan A in case it were cold; his sister and he are well.",
        "He could of course go. Did he have time, and may it have been late?",
        "The U.S. is big, e.g. very wide, etc. and Mr. Ito's iPhone is an iPhone.",
        'She said: "Do it now!"',
        "No, no, it was a very very long day (really).",
        "She was better then, and her dog wagged its tail to greet.",
        "¿Qué? Это не по-английски. 没有英语。",
        "",
    ],
)
def test_good_english_and_other_scripts_are_left_alone(text):
    hint = grammar_hint(text)
    assert hint is None or "full stop" in hint


@pytest.mark.parametrize(
    ("rule", "lacks"),
    [
        ("You shouldn't lie to friends.", ""),
        ("Breaking the law is wrong.", ""),
        ("It's thoughtful to bring a gift.", ""),
        ("Neighbours live nearby.", "what is right or wrong"),
        ("I should be kinder to my dog.", "without 'I' and 'my'"),
        ("The reply shouldn't insult people.", "without 'the reply'"),
    ],
)
def test_a_rule_judges_an_action_for_everybody(rule, lacks):
    assert lacks in (rule_hint(rule) or "")
    assert bool(lacks) == bool(rule_hint(rule))


def test_hints_stand_beside_spelling_in_the_writing_forms_and_never_block():
    answer = {"rule": "neighbors is recieving a egg", "revised_reply": "it are what it are"}
    found = find(load_form("rule-of-thumb"), {"prompt": "p", "reply": "r"}, answer)
    said = {(one.field, one.check): one for one in found}
    for place in [("rule", "spelling"), ("rule", "grammar"), ("revised_reply", "grammar")]:
        assert not said[place].blocks
    assert ("rule", "rule_form") in said
    for name in form_names():
        for field in load_form(name).fields:
            checks = set(field.checks)
            assert ("spelling" in checks) == ("grammar" in checks), (name, field.name)


def test_few_sentences_that_people_wrote_get_a_hint():
    """The share that docs/annotate.md gives: most of it is a missing full stop."""
    path = Path(os.environ.get("MORALSCOPE_DATA", "")) / "moral_stories/stories.jsonl"
    if not path.is_file():
        pytest.skip("Moral Stories is not here; name its folder in MORALSCOPE_DATA")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()[:4000]]
    formless = sum(rule_hint(row["norm"]) is not None for row in rows)
    assert formless / len(rows) < 0.01
    sentences = [row["moral_action"] for row in rows if row["moral_action"]]
    hints = [hint for hint in map(grammar_hint, sentences) if hint]
    assert len(hints) / len(sentences) < 0.01
