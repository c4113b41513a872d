"""What is taught: official pairs, contrast, behaviours, drafts, and ETHICS."""

import random

import pytest

from moralscope.core.errors import InputError
from moralscope.stories import examples
from moralscope.stories.examples import (
    ETHICS_TASKS,
    REFINEMENT,
    SWAPPED_DECIDES,
    UNRELATED,
    behaviour_examples,
    contrast_examples,
    dev_examples,
    ethics_examples,
    official_examples,
    refinement_examples,
    text_examples,
    unlabelled_examples,
)
from moralscope.stories.norms.reversal import parse_norm, restate_norm, reverse_norm
from moralscope.stories.story import MoralStory
from moralscope.stories.tasks import classification_task, generation_task

TASK = classification_task("action+norm")
STORIES = [
    MoralStory(
        "a",
        "You should keep promises.",
        moral_action="Mia writes to Kim as agreed.",
        immoral_action="Mia forgets about Kim.",
    ),
    MoralStory(
        "b",
        "It's rude to spit at strangers.",
        moral_action="Leo swallows his gum.",
        immoral_action="Leo spits at a man.",
    ),
]
MORAL = {"Mia writes to Kim as agreed.", "Leo swallows his gum."}
NORM_OF = {story.moral_action: story.norm for story in STORIES} | {
    story.immoral_action: story.norm for story in STORIES
}


@pytest.fixture
def lessons(monkeypatch):
    """Return two turns of one kind of contrast, told by a weight of its own."""
    for name, number in (("TURNS", 2), ("RESTATED", 2), ("SWAPPED", 3)):
        monkeypatch.setattr(examples, name, number)
    found = contrast_examples(TASK, STORIES, seed=3)
    return lambda weight: [row for row in found if row.weight == weight]


def test_official_lessons_are_the_samples():
    rows = official_examples(TASK, STORIES)
    assert [(row.pair, row.label) for row in rows] == [
        ((STORIES[0].norm, "Mia writes to Kim as agreed."), 1),
        ((STORIES[0].norm, "Mia forgets about Kim."), 0),
        ((STORIES[1].norm, "Leo swallows his gum."), 1),
        ((STORIES[1].norm, "Leo spits at a man."), 0),
    ]
    assert {row.weight for row in rows} == {1.0}


def test_a_reversed_norm_turns_the_label(lessons):
    rows = lessons(1)
    assert len(rows) == 8
    for row in rows:
        norm, action = row.pair
        assert row.label == (action not in MORAL)
        assert parse_norm(norm).polarity == -parse_norm(NORM_OF[action]).polarity
    assert {row.turn for row in rows} == {(0, 2), (1, 2)}


def test_a_restated_norm_keeps_the_label(lessons):
    rows = lessons(2)
    assert len(rows) == 8
    for row in rows:
        norm, action = row.pair
        assert row.label == (action in MORAL)
        assert norm in {restate_norm(NORM_OF[action], variant) for variant in range(8)}


def test_a_swapped_norm_does_not_concern(lessons):
    rows = lessons(3)
    assert TASK.labels[UNRELATED] == "does not concern"
    assert len(rows) == 8
    for row in rows:
        norm, action = row.pair
        assert row.label == UNRELATED
        assert norm != NORM_OF[action]


def test_contrast_is_a_function_of_the_seed():
    first, again, other = (contrast_examples(TASK, STORIES, seed) for seed in (1, 1, 9))
    assert first == again != other
    assert {row.weight for row in first} == {1.0, 0.4}


def test_a_norm_that_cannot_be_read_gives_no_contrast_but_a_swap():
    odd = [MoralStory("c", "Xyzzy plugh.", moral_action="M.", immoral_action="I."), *STORIES]
    assert reverse_norm("Xyzzy plugh.") is None
    rows = contrast_examples(TASK, odd, seed=0)
    assert {row.label for row in rows if row.pair[1] in ("M.", "I.")} == {UNRELATED}


def test_behaviours_are_judged_as_their_norms_say():
    rows = behaviour_examples(classification_task("action"), [*STORIES, MoralStory("d", "Hm.")])
    assert [(row.pair, row.label) for row in rows] == [
        (("", "keep promises"), 1),
        (("", "I keep promises."), 1),
        (("", "They keep promises."), 1),
        (("", "Someone decides to keep promises."), 1),
        (("", "spit at strangers"), 0),
        (("", "I spit at strangers."), 0),
        (("", "They spit at strangers."), 0),
        (("", "Someone decides to spit at strangers."), 0),
    ]


def test_what_a_teacher_shall_label_are_actions_by_norms_of_like_stories():
    lie = MoralStory(
        "c",
        "You should not spit on the floor.",
        moral_action="Ann swallows.",
        immoral_action="Ann spits at the tiles.",
    )
    stories = [*STORIES, lie]
    rows = unlabelled_examples(TASK, stories, seed=0)
    assert {row.label for row in rows} == {-1}
    own = {story.norm: (story.moral_action, story.immoral_action) for story in stories}
    assert all(row.pair[1] not in own.get(row.pair[0], ()) for row in rows)
    norms = {row.pair[0] for row in rows if row.pair[1] == "Ann swallows."}
    assert norms & set(own)
    assert norms - set(own)  # one reversed
    assert rows == unlabelled_examples(TASK, stories, seed=0)


def test_dev_comes_in_groups_and_swapped_ones_decide_a_quarter_as_much():
    rows = dev_examples(TASK, STORIES, True, 0)
    groups = {}
    for row in rows:
        groups.setdefault(row.group or row.task, set()).add((row.among, row.decides))
    assert groups == {
        "action+norm": {(2, 1.0)},
        "action+norm reversed": {(2, 1.0)},
        "action+norm swapped": {(0, 0.25)},
    }
    assert SWAPPED_DECIDES == 0.25
    assert len(rows) == 12
    plain = dev_examples(TASK, STORIES, False, 0)
    assert [row.pair for row in plain] == [row.pair for row in official_examples(TASK, STORIES)]


WHOLE = MoralStory("w", "N.", "S.", "Int.", "M.", "MC. ", "I.", "IC.")
DRAFTS = {
    ("w", "immoral"): [("a draft", "implausible"), ("better", "plausible")],
    ("x", "moral"): [],
}


def test_texts_are_prompts_and_what_people_wrote():
    rows = text_examples(generation_task("consequence|action"), [WHOLE, *STORIES])
    assert [(row.prompt, row.target, row.group) for row in rows] == [
        ("<|ACT|> M. <|CSQ|>", "MC.", "consequence|action"),
        ("<|ACT|> I. <|CSQ|>", "IC.", "consequence|action"),
    ]


def test_drafts_are_refined_into_what_people_wrote():
    rows = refinement_examples([WHOLE, *STORIES], DRAFTS)
    start = "<|NRM|> N. <|SIT|> S. <|INT|> Int. <|ACT|> I. <|CSQ|>"
    assert [(row.prompt, row.target, row.group) for row in rows] == [
        (f"{start} a draft <|CSQ_IMPL|> <|CSQ|>", "IC.", REFINEMENT),
        (f"{start} better <|CSQ_PL|> <|CSQ|>", "IC.", REFINEMENT),
    ]


@pytest.fixture
def ethics(tmp_path):
    rows = {
        "commonsense/cm_test.csv": f"label,input\n1,I kick Al.\n0,{'x' * 500}\n",
        "deontology/deontology_train.csv": "label,scenario,excuse\n1,Could you go?,No I am ill.\n",
        "justice/justice_train.csv": "label,scenario\n0,I stopped because of rain.\n",
        "utilitarianism/util_train.csv": "Tea is warm.,Tea is cold.\n",
    }
    for name, text in rows.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path


def test_ethics_labels_say_good_by_one(ethics):
    rows = {row.task: row for row in ethics_examples(ethics, seed=0)}
    assert set(rows) == set(ETHICS_TASKS)
    found = {task: (row.pair, row.label) for task, row in rows.items()}
    assert found["ethics-commonsense"] == (("", "I kick Al."), 0)  # published: 1 is wrong
    assert found["ethics-deontology"] == (("Could you go?", "No I am ill."), 1)
    assert found["ethics-justice"] == (("", "I stopped because of rain."), 0)
    swapped = random.Random(0).randrange(2)
    pair = ("Tea is cold.", "Tea is warm.") if swapped else ("Tea is warm.", "Tea is cold.")
    assert found["ethics-utilitarianism"] == (pair, swapped)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("justice/justice_train.csv", "a,b\n1,2\n"),
        ("justice/justice_train.csv", "label,scenario\nx,y\n"),
        ("justice/justice_train.csv", "label,scenario\n1\n"),
        ("utilitarianism/util_train.csv", "one,two,three\n"),
        ("commonsense/cm_test.csv", "label,input\n1,\udcff\n"),
        ("deontology/deontology_train.csv", None),
    ],
)
def test_files_that_are_not_ethics_are_refused_in_one_line(ethics, name, text):
    path = ethics / name
    path.unlink() if text is None else path.write_text(text, errors="surrogateescape")
    with pytest.raises(InputError, match="cannot be read as ETHICS") as caught:
        ethics_examples(ethics)
    assert "\n" not in str(caught.value)
