"""Third person to first: who "I" is, what is joined to the verb, and what is left alone."""

import os
from pathlib import Path

import pytest

from moralscope.stories.norms.first_person import gender_of, own_act, own_phrase, present_verbs

VERBS = frozenset({"lies", "takes", "goes", "is", "has", "gives", "decides", "tells"})


@pytest.mark.parametrize(
    ("sentence", "base", "past"),
    [
        ("Mike lies to his boss.", "lie to my boss", "lied to my boss"),
        (
            "Ann goes home and takes her car.",
            "go home and take my car",
            "went home and took my car",
        ),
        ("Ann gives her money.", "give me money", "gave me money"),
        ("Jo decides to steal the bike.", "steal the bike", "stole the bike"),
        (
            "Tim lies because he is tired.",
            "lie because I am tired",
            "lied because I was tired",
        ),
        (
            "James takes his mother to her doctor.",
            "take my mother to her doctor",
            "took my mother to her doctor",
        ),
        ("Sam secretly takes it.", "secretly take it", "secretly took it"),
        ("Ann Smith takes Ann's bag.", "take my bag", "took my bag"),
    ],
)
def test_a_sentence_is_told_by_the_one_who_acts(sentence, base, past):
    act = own_act(sentence, VERBS)
    assert (act.base, act.past) == (base, past)


def test_the_gerund_goes_through_all_joined_verbs():
    assert own_act("Ann lies and takes it.", VERBS).gerund == "lying and taking it"


@pytest.mark.parametrize(
    "sentence",
    [
        "The boss lies.",
        "When Jo lies, people cry.",
        "Mike tells Tom that he lies.",  # he: Mike or Tom?
        "Jo never quarks.",
        "",
        "Jo",
        'Jo lies "often".',
        "Jo lies " + "very " * 200,
    ],
)
def test_what_is_not_clear_is_left_out(sentence):
    assert own_act(sentence, VERBS) is None


def test_the_story_may_tell_the_gender():
    assert own_act("Jo takes his bag from her.", VERBS, "f").base == "take his bag from me"
    assert gender_of(["he", "and", "she"]) is None


@pytest.mark.parametrize(
    ("phrase", "base"),
    [
        ("Helping your friends when you can.", "help my friends when I can"),
        ("return the money you found", "return the money I found"),
        ("let people help you", "let people help me"),
    ],
)
def test_a_rule_s_behaviour_becomes_one_s_own(phrase, base):
    assert own_phrase(phrase).base == base


@pytest.mark.parametrize("phrase", ["not lie", "", "x" * 500])
def test_a_behaviour_that_is_none_is_refused(phrase):
    assert own_phrase(phrase) is None


def test_verbs_are_found_by_where_they_stand():
    found = present_verbs(["Jo sings.", "Al sings.", "Jo this.", "Al this.", "The boss hums."])
    assert "sings" in found
    assert not {"this", "boss", "hums"} & found


@pytest.mark.realdata
def test_most_actions_of_moral_stories_can_be_rewritten():
    from moralscope.stories.reading import load_stories

    if not Path(os.environ.get("MORALSCOPE_DATA", "none"), "moral_stories").is_dir():
        pytest.skip("MORALSCOPE_DATA has no moral_stories")
    stories = load_stories().stories[:2000]
    actions = [text for one in stories for text in (one.moral_action, one.immoral_action) if text]
    verbs = present_verbs(actions)
    share = sum(own_act(text, verbs) is not None for text in actions) / len(actions)
    assert share > 0.7
