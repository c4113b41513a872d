"""Every story gets the norm of a story that it has nothing to do with."""

from moralscope.stories.norms.reversal import content_words, swap_norms
from moralscope.stories.story import MoralStory

STORIES = [
    MoralStory("goat", "You should feed your goat.", moral_action="Ada feeds the goat."),
    MoralStory("barn", "It's wrong to burn a goat barn.", moral_action="Bo feeds a goat."),
    MoralStory("debt", "It's rude to forget debts.", immoral_action="Cy forgets his debt."),
    MoralStory("none", None, moral_action="Di waits."),
    MoralStory("kind", "It's good to be kind.", moral_action="Ed smiles."),
]


def test_a_swapped_norm_shares_no_content_word_where_one_exists():
    for seed in range(20):
        swapped = swap_norms(STORIES, seed)
        assert swapped["goat"] == swapped["barn"] == "It's rude to forget debts."
        assert swapped["debt"] in ("You should feed your goat.", "It's wrong to burn a goat barn.")


def test_norms_that_concern_everything_are_passed_over():
    assert all("kind" not in norm for norm in swap_norms(STORIES, 0).values())


def test_the_seed_decides():
    many = [MoralStory(str(n), f"It's bad to wake bear{n} near hut{n}.") for n in range(30)]
    assert swap_norms(many, 1) == swap_norms(many, 1)
    assert swap_norms(many, 1) != swap_norms(many, 2)
    assert all(norm != story.norm for story in many for norm in [swap_norms(many, 1)[story.id]])


def test_nothing_to_swap_is_left_out():
    assert swap_norms([], 0) == {}
    assert swap_norms([MoralStory("1", "Be kind.")], 0) == {}


def test_forms_of_a_word_are_one_content_word():
    assert (
        content_words("forgetting debts") == content_words("forgets a debt") == {"forget", "debt"}
    )
