"""Norms are read for what they say: behaviour, side, negation, who."""

import pytest

from moralscope.stories.norms.judgments import judging, judgment_in
from moralscope.stories.norms.reading import parse_norm

READ = {
    # frame: (behaviour, polarity)
    "It's rude to whistle in court.": ("whistle in court", -1),
    "It is rude to not greet the mayor.": ("greet the mayor", 1),
    "It's wrong not to feed the goat": ("feed the goat", 1),
    "It\u2019s not okay to paint on walls.": ("paint on walls", -1),
    "It isn't nice to hide shoes.": ("hide shoes", -1),
    "It's never acceptable to bite a waiter.": ("bite a waiter", -1),
    "It's okay to nap at noon.": ("nap at noon", 1),
    "Its bad to to spill soup": ("spill soup", -1),
    "Is it wrong to bake at night?": ("bake at night", -1),
    "It's unkind to your aunt to forget her hat.": ("forget her hat", -1),
    "It's a bad idea to juggle knives.": ("juggle knives", -1),
    "It's frowned upon to sing at dawn.": ("sing at dawn", -1),
    "It's wrong paint someone's goat.": ("paint someone's goat", -1),
    "It's expected that guests won't smoke.": ("smoke", -1),
    "It's annoying when people hum.": ("hum", -1),
    "It is important that you water the plants.": ("water the plants", 1),
    "You shouldn't move someone's kite.": ("move someone's kite", -1),
    "You should never lend a borrowed saw.": ("lend a borrowed saw", -1),
    "You should avoid waking the baby.": ("wake the baby", -1),
    "You shouldn't not vote.": ("vote", 1),
    "One must knock first.": ("knock first", 1),
    "Bakers ought not to sneeze.": ("sneeze", -1),
    "Biting waiters is something that you should never do.": ("bite waiters", -1),
    "No one should drink ink.": ("drink ink", -1),
    "You're expected to return the key.": ("return the key", 1),
    "You are not supposed to feed the ducks.": ("feed the ducks", -1),
    "Sailors are discouraged from gambling.": ("gamble", -1),
    "You don't have to dance.": ("dance", -1),
    "You can't keep a lost dog.": ("keep a lost dog", -1),
    "Stealing cars is bad.": ("steal cars", -1),
    "Not tipping the barber is considered rude.": ("tip the barber", 1),
    "Hugging and kissing strangers isn't okay.": ("hug and kiss strangers", -1),
    "To lie is wrong.": ("lie", -1),
    "Gossip is frowned upon.": ("gossip", -1),
    "There's nothing wrong with sleeping late.": ("sleep late", 1),
    "There is no need to shout at a clerk.": ("shout at a clerk", -1),
    "Don't feed the bears.": ("feed the bears", -1),
    "Never lie to a pilot.": ("lie to a pilot", -1),
    "Always rinse the cup.": ("rinse the cup", 1),
    "Be gentle with kittens.": ("be gentle with kittens", 1),
    "A good neighbour waves at children.": ("wave at children", 1),
    "Nobody likes a cheat.": ("like a cheat", -1),
    "People will think you're rude if you interrupt a nun.": ("interrupt a nun", -1),
    "Skipping breakfast can make you feel ill and upset.": ("skip breakfast", -1),
    "You are right to call the vet.": ("call the vet", 1),
    "You shouldn't yodel at night because it's rude.": ("yodel at night", -1),
    "You should tip the cook unless the soup is cold.": (
        "tip the cook unless the soup is cold",
        1,
    ),
}


@pytest.mark.parametrize("text", READ)
def test_the_behaviour_and_its_side_are_read(text):
    norm = parse_norm(text)
    assert norm is not None
    assert (norm.behaviour, norm.polarity) == READ[text]
    assert norm.text == text


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Parents should read aloud.", "Parents"),
        ("It's wrong for a judge to bet.", "a judge"),
        ("It's expected that drivers will stop.", "drivers"),
        ("It's good to know one's limits.", "one"),
        ("It's good to know your limits.", "you"),
        ("It's bad to forget your loved ones' names.", "you"),
    ],
)
def test_the_subject_is_kept(text, who):
    norm = parse_norm(text)
    assert norm is not None
    assert norm.subject == who


def test_a_condition_is_kept_in_front():
    norm = parse_norm("If you said what you shouldn't have, you should apologize.")
    assert norm is not None
    assert norm.lead == "If you said what you shouldn't have"
    assert (norm.behaviour, norm.polarity) == ("apologize", 1)


@pytest.mark.parametrize(
    ("text", "permits"),
    [
        ("It's okay to nap.", True),
        ("It's not okay to nap.", False),
        ("You are allowed to nap.", True),
        ("You should nap.", False),
        ("There's nothing wrong with napping.", True),
        ("There's something wrong with napping.", False),
    ],
)
def test_permission_is_told_from_duty(text, permits):
    norm = parse_norm(text)
    assert norm is not None
    assert norm.permits is permits


def test_every_judging_phrase_and_its_opposite_are_read_on_opposite_sides():
    for phrase, (side, other) in judging().items():
        first, second = judgment_in(phrase), judgment_in(other)
        assert first is not None, phrase
        assert second is not None, other
        assert (first.side, second.side) == (side, -side), (phrase, other)


@pytest.mark.parametrize(
    ("phrase", "opposite"),
    [
        ("a bad idea", "a good idea"),
        ("very rude", "very polite"),
        ("rude and mean", "polite and nice"),
        ("immature and juvenile", "mature"),
        ("not right", "right"),
        ("never okay", "always good"),
        ("an unkind act", "a kind act"),
        ("a moral act", "an immoral act"),
        ("just rude", "just polite"),
    ],
)
def test_a_judging_phrase_turns_as_a_whole(phrase, opposite):
    found = judgment_in(phrase)
    assert found is not None
    assert found.opposite == opposite
