"""Verb forms by rule."""

import pytest

from moralscope.stories.norms.inflection import (
    base_of_finite,
    base_of_gerund,
    gerund_of_base,
    third_person,
)

FORMS = {
    "argue": ("arguing", "argues"),
    "ask": ("asking", "asks"),
    "babysit": ("babysitting", "babysits"),
    "become": ("becoming", "becomes"),
    "bring": ("bringing", "brings"),
    "bully": ("bullying", "bullies"),
    "call": ("calling", "calls"),
    "change": ("changing", "changes"),
    "commit": ("committing", "commits"),
    "control": ("controlling", "controls"),
    "cry": ("crying", "cries"),
    "date": ("dating", "dates"),
    "develop": ("developing", "develops"),
    "die": ("dying", "dies"),
    "eat": ("eating", "eats"),
    "feed": ("feeding", "feeds"),
    "focus": ("focusing", "focuses"),
    "force": ("forcing", "forces"),
    "gossip": ("gossiping", "gossips"),
    "harass": ("harassing", "harasses"),
    "have": ("having", "has"),
    "help": ("helping", "helps"),
    "ignore": ("ignoring", "ignores"),
    "invite": ("inviting", "invites"),
    "judge": ("judging", "judges"),
    "leave": ("leaving", "leaves"),
    "listen": ("listening", "listens"),
    "offer": ("offering", "offers"),
    "pass": ("passing", "passes"),
    "play": ("playing", "plays"),
    "provide": ("providing", "provides"),
    "put": ("putting", "puts"),
    "quit": ("quitting", "quits"),
    "refuse": ("refusing", "refuses"),
    "see": ("seeing", "sees"),
    "settle": ("settling", "settles"),
    "stop": ("stopping", "stops"),
    "tie": ("tying", "ties"),
    "visit": ("visiting", "visits"),
    "waste": ("wasting", "wastes"),
    "watch": ("watching", "watches"),
    "write": ("writing", "writes"),
    "yell": ("yelling", "yells"),
}


@pytest.mark.parametrize("base", FORMS)
def test_a_verb_goes_to_its_forms_and_back(base):
    gerund, third = FORMS[base]
    assert (gerund_of_base(base), third_person(base)) == (gerund, third)
    assert base_of_gerund(gerund) == base


@pytest.mark.parametrize("base", FORMS)
def test_the_present_tense_goes_back(base):
    assert base_of_finite(FORMS[base][1]) == base


def test_nouns_in_ing_are_no_verbs():
    assert [base_of_gerund(word) for word in ("something", "sibling", "wedding")] == [
        "something",
        "sibling",
        "wedding",
    ]
