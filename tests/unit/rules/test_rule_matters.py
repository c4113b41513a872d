"""Stories and rules as matters: which act keeps a rule, which breaks it, what only is allowed."""

from moralscope.rules.records import Annotation, Exchange
from moralscope.rules.training.stories_to_rules import social_cases, story_cases, story_verbs
from moralscope.stories.story import MoralStory

STORY = MoralStory(
    "1",
    "It's rude to shout.",
    "Mia is tired.",
    "Mia wants to sleep.",
    "Mia asks for quiet.",
    "Mia sleeps.",
    "Mia shouts at her friend.",
    "Nobody sleeps.",
)
VERBS = frozenset({"asks", "shouts", "is", "sleeps"})


def social(rule, action, judgment):
    return Annotation(Exchange("not sleeping", ""), rule, action=action, judgment=judgment)


def test_a_story_becomes_a_matter():
    found = story_cases([STORY, MoralStory("2")], VERBS)
    (matter,) = found.matters
    assert [act.base for act in matter.keeps] == ["ask for quiet"]
    assert [act.base for act in matter.breaks] == ["shout at my friend", "shout"]
    assert matter.contexts == (
        "Mia is tired. Mia wants to sleep.",
        "I am tired.",
        "I want to sleep.",
    )
    assert (matter.gains, matter.costs) == ("sleep", "")
    assert "It's polite to shout." in matter.reversed
    assert (found.acts, found.rewritten) == (2, 2)


def test_what_cannot_be_rewritten_is_counted():
    story = MoralStory("1", "Hm.", moral_action="The boss asks.", immoral_action="Mia shouts.")
    found = story_cases([story], VERBS)
    assert (found.acts, found.rewritten) == (2, 1)
    assert found.matters[0].keeps == ()


def test_a_rule_s_act_is_on_the_side_of_its_judgment():
    rows = [
        social("It's good to help.", "helping friends.", 1.0),
        social("It's okay to nap.", "napping at work", 0.0),
        social("It's bad to spit.", "spitting", -1.0),
        social("Kids sleep.", "kids sleeping", 1.0),
    ]
    found = social_cases(rows)
    good, okay, bad = found.matters
    assert (good.keeps[0].base, good.breaks, good.permits) == ("help friends", (), False)
    assert (okay.keeps[0].base, okay.permits) == ("nap at work", True)
    assert (bad.keeps, bad.breaks[0].base) == ((), "spit")
    assert (found.acts, found.rewritten) == (4, 3)
    assert good.contexts == ("I am thinking about not sleeping.",)


def test_verbs_come_from_the_actions():
    assert "asks" in story_verbs([STORY, STORY])
