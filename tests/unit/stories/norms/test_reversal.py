"""Reversals say the opposite, restatements the same, in a fixed order of wordings."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moralscope.stories.norms.judgments import judging
from moralscope.stories.norms.reading import parse_norm
from moralscope.stories.norms.reversal import (
    behaviour_of,
    restate_norm,
    restatements,
    reversals,
    reverse_norm,
)

ACTS = (
    "feed the goat",
    "be loud in a library",
    "lie to your aunt",
    "openly brag about money",
    "read and write at dinner",
    "tell people that they smell bad",
    "take things that don't belong to you",
    "leave the table when others are eating",
    "only call a friend who is rich",
    "drink too much",
)
FRAMES = (
    "It's {judgment} to {no}{act}.",
    "It is {judgment} for drivers to {no}{act}",
    "When it rains, it's {judgment} to {no}{act}.",
    "You should {no}{act}.",
    "Parents must {no}{act}.",
    "Your boss is expected to {no}{act}.",
    "Everyone ought to {no}{act}.",
)
norms = st.builds(
    lambda frame, judgment, no, act: frame.format(judgment=judgment, no=no, act=act),
    st.sampled_from(FRAMES),
    st.sampled_from(sorted(judging())),
    st.sampled_from(("", "not ")),
    st.sampled_from(ACTS),
)


@given(norms)
def test_every_wording_reads_back_with_the_side_it_should_have(norm):
    read = parse_norm(norm)
    assert read is not None
    assert len(reversals(norm)) >= 8
    assert len(restatements(norm)) >= 8
    for wordings, side in ((reversals(norm), -read.polarity), (restatements(norm), read.polarity)):
        assert len({text.lower() for text in wordings}) == len(wordings)
        for text in wordings:
            assert text != norm
            assert text[0].isupper()
            assert text.endswith(".")
            assert "  " not in text
            assert (behaviour_of(text) or ("", 0))[1] == side, text


@given(norms, st.integers(0, 40), st.integers(0, 40))
def test_reversing_twice_returns_the_polarity(norm, first, second):
    once = reverse_norm(norm, variant=first)
    assert once is not None
    twice = reverse_norm(once, variant=second)
    assert twice is not None
    assert behaviour_of(twice)[1] == behaviour_of(norm)[1]


@pytest.mark.parametrize(
    ("norm", "reversal"),
    [
        ("It's rude to not pay back a friend.", "It's polite to not pay back a friend."),
        ("It's not okay to paint on walls.", "It's good to paint on walls."),
        ("It's okay to nap at noon.", "It's wrong to nap at noon."),
        ("You shouldn't move a kite.", "You should move a kite."),
        ("You should always knock.", "You should never knock."),
        ("You're encouraged to sing.", "You are discouraged from singing."),
        ("Sailors are discouraged from gambling.", "Sailors are encouraged to gamble."),
        ("A guard is expected to wait.", "A guard is expected not to wait."),
        ("Stealing cars is never okay.", "Stealing cars is always good."),
        ("Plagiarism isn't right.", "Plagiarism is right."),
        ("Don't feed the bears.", "Always feed the bears."),
        ("If it burns, you should run.", "If it burns, you shouldn't run."),
        ("It's annoying when people hum.", "It's pleasant for people to hum."),
        ("No one should drink ink.", "People should drink ink."),
        ("You don't have to dance.", "You must dance."),
    ],
)
def test_the_first_wording_keeps_the_frame(norm, reversal):
    assert reverse_norm(norm) == reversal


def test_the_order_of_wordings_is_fixed():
    assert reversals("It's rude to whistle.")[:9] == (
        "It's polite to whistle.",
        "It's rude to not whistle.",
        "You should whistle.",
        "It's good to whistle.",
        "It's wrong to not whistle.",
        "You ought to whistle.",
        "Whistling is the right thing to do.",
        "You are expected to whistle.",
        "It's rude not to whistle.",
    )
    assert reverse_norm(
        "It's rude to whistle.", variant=len(reversals("It's rude to whistle."))
    ) == ("It's polite to whistle.")


def test_a_subject_stays_where_the_behaviour_needs_it():
    for text in reversals("People should love their parents."):
        assert "eople" in text
    assert "It's wrong for a guard not to wait." in restatements("A guard should wait.")
    assert "It's bad when a guard waits." in reversals("A guard should wait.")


def test_permission_is_restated_as_permission_and_reversed_into_a_ban():
    same = restatements("It's okay to nap.")
    assert "You are allowed to nap." in same
    assert "You must nap." not in same
    assert "It's okay to not nap." not in reversals("It's okay to nap.")
    assert restate_norm("You don't have to dance.") == "It's okay to not dance."


def test_a_reason_for_the_old_judgment_is_dropped():
    assert reverse_norm("You shouldn't yodel because it's rude.") == "You should yodel."
    kept = reverse_norm("You shouldn't fire a man because he is ill.")
    assert kept == "You should fire a man because he is ill."


@pytest.mark.realdata
def test_nearly_all_norms_of_moral_stories_are_reversed():
    folder = os.environ.get("MORALSCOPE_DATA")
    if not folder:
        pytest.skip("MORALSCOPE_DATA is not set")
    path = Path(folder) / "moral_stories" / "stories.jsonl"
    with path.open(encoding="utf-8") as lines:
        found = [json.loads(line)["norm"] for line in lines]
    done = [norm for norm in found if len(reversals(norm)) >= 8]
    assert len(done) / len(found) >= 0.995
