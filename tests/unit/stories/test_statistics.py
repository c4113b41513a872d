"""Counts, lengths, duplicates, norms and topics of stories."""

import pytest

from moralscope.core.errors import InputError
from moralscope.stories.stats import (
    categories,
    content_lemmas,
    duplicates,
    find_topics,
    frequent_norms,
    paper_topics,
    split_lemmas,
    story_lemmas,
    tokens,
)
from moralscope.stories.story import MoralStory


def test_tokens_stand_between_spaces():
    assert tokens(" It's  rude - to shout! ") == ["It's", "rude", "to", "shout"]


def test_lemmas_drop_function_words_and_contracted_endings():
    assert content_lemmas("She\u2019ll never pay Tom's bills; he doesn't mind.") == [
        "pay",
        "tom",
        "bill",
        "mind",
    ]
    assert split_lemmas("He doesn't mind.") == ["doesnt", "mind"]


def test_categories_count_over_the_stories_that_have_the_sentence():
    stories = [MoralStory("1", "Be kind."), MoralStory("2", "be kind"), MoralStory("3", "Pay now.")]
    norm, situation = categories(stories)[:2]
    assert (norm.present, norm.tokens, norm.different, norm.repeated) == (3, 2.0, 2, 2)
    assert (situation.missing, situation.tokens) == (3, None)


def test_norms_that_only_differ_in_negation_are_two():
    texts = ["You should lie.", "You shouldn't lie.", "Never lie.", "You should not lie!"]
    found = frequent_norms([MoralStory(str(n), text) for n, text in enumerate(texts)])
    assert [(norm.text, norm.stories) for norm in found] == [
        ("You shouldn't lie.", 3),
        ("You should lie.", 1),
    ]


def test_duplicates_are_counted_beyond_the_first():
    one = {"norm": "Be kind.", "moral_action": "Jo waits.", "immoral_action": "Jo runs."}
    stories = [
        MoralStory("1", **one),
        MoralStory("2", **one),
        MoralStory("3", **{**one, "norm": "Wait."}),
        MoralStory("4", "Rest.", moral_action="Jo rests.", immoral_action="jo rests"),
    ]
    found = duplicates(stories)
    assert (found.whole_stories, found.both_actions, found.same_action_twice) == (1, 2, 1)


@pytest.fixture
def two_worlds():
    kitchen = "eat food and cook dinner with pasta for dinner"
    school = "study in class at school with a student and a teacher"
    return [
        MoralStory(str(n), f"You should {world}.", situation=f"Zoe may {world} today.")
        for n, world in enumerate([kitchen, school] * 20)
    ]


def test_topics_part_two_worlds_and_leave_out_names(two_worlds):
    topics = find_topics(two_worlds, count=2, seed=0)
    found = [set(topic.words) for topic in topics]
    assert {topic.nearest for topic in topics} == {"meals", "education"}
    assert not any("zoe" in words for words in found)
    assert sum(topic.share for topic in topics) == pytest.approx(1)
    assert find_topics(two_worlds, count=2, seed=0) == topics


def test_stories_without_words_have_no_topics():
    with pytest.raises(InputError, match="share no words"):
        find_topics([MoralStory("1", "To be."), MoralStory("2")], count=2)


def test_table_13_has_ten_topics_of_five_words():
    assert [len(words) for words in paper_topics().values()] == [5] * 10


def test_a_story_without_sentences_has_no_lemmas():
    assert story_lemmas(MoralStory("1")) == []
