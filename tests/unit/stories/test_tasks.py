"""The task table against the paper: section 3 and Table 18, letter by letter."""

import pytest

from moralscope.core.errors import InputError
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import (
    classification_task,
    classification_tasks,
    generation_samples,
    generation_task,
    generation_tasks,
    markers,
    path_row,
    samples,
)

WHOLE = MoralStory(
    "w1",
    "norm",
    "situation",
    "intention",
    "moral action",
    "moral consequence",
    "immoral action",
    "immoral consequence",
)
SHORT = MoralStory("s1", "N.", moral_action="M.", immoral_action="I.")
CONTEXT = "<|NRM|> norm <|SIT|> situation <|INT|> intention"
# Table 18, with what a row holds in place of its names; (moral, immoral), one where they agree.
TABLE_18 = {
    "action|context": (f"{CONTEXT} <|M_ACT|>", f"{CONTEXT} <|I_ACT|>"),
    "action|context+consequence": (
        f"{CONTEXT} <|M_CSQ|> moral consequence <|M_ACT|>",
        f"{CONTEXT} <|I_CSQ|> immoral consequence <|I_ACT|>",
    ),
    "consequence|action": ("<|ACT|> moral action <|CSQ|>", "<|ACT|> immoral action <|CSQ|>"),
    "consequence|context+action": (
        f"{CONTEXT} <|ACT|> moral action <|CSQ|>",
        f"{CONTEXT} <|ACT|> immoral action <|CSQ|>",
    ),
    "norm|actions": ("<|M_ACT|> moral action <|I_ACT|> immoral action <|NRM|>",),
    "norm|context+actions": (
        "<|SIT|> situation <|INT|> intention <|M_ACT|> moral action "
        "<|I_ACT|> immoral action <|NRM|>",
    ),
    "norm|context+actions+consequences": (
        "<|SIT|> situation <|INT|> intention <|M_ACT|> moral action <|M_CSQ|> moral consequence "
        "<|I_ACT|> immoral action <|I_CSQ|> immoral consequence <|NRM|>",
    ),
}
REFINEMENT = "consequence|context+action+draft+label"
# Sections 3.2 and 3.3: what stands before the separator, and behind it.
MORAL, IMMORAL = ("moral action", 1), ("immoral action", 0)
SECTION_3 = {
    "action": [("", *MORAL), ("", *IMMORAL)],
    "action+norm": [("norm", *MORAL), ("norm", *IMMORAL)],
    "action+context": [
        ("norm situation intention", *MORAL),
        ("norm situation intention", *IMMORAL),
    ],
    "action+context+consequence": [
        ("norm situation intention moral consequence", *MORAL),
        ("norm situation intention immoral consequence", *IMMORAL),
    ],
    "action+consequence": [("moral consequence", *MORAL), ("immoral consequence", *IMMORAL)],
    "consequence+action": [
        ("moral action", "moral consequence", 1),
        ("moral action", "immoral consequence", 0),
        ("immoral action", "immoral consequence", 1),
        ("immoral action", "moral consequence", 0),
    ],
    "consequence+context+action": [
        ("norm situation intention moral action", "moral consequence", 1),
        ("norm situation intention moral action", "immoral consequence", 0),
        ("norm situation intention immoral action", "immoral consequence", 1),
        ("norm situation intention immoral action", "moral consequence", 0),
    ],
}


def test_every_task_is_in_one_of_the_tables():
    assert set(classification_tasks()) == set(SECTION_3)
    assert set(generation_tasks()) == {*TABLE_18, REFINEMENT}


@pytest.mark.parametrize("name", SECTION_3)
def test_classification_samples_are_those_of_section_3(name):
    rows = list(samples(classification_task(name), [WHOLE]))
    assert [(row.grounding, row.target, row.label) for row in rows] == SECTION_3[name]
    assert {row.id for row in rows} == {"w1"}


@pytest.mark.parametrize("name", TABLE_18)
def test_prompts_are_those_of_table_18(name):
    rows = list(generation_samples(generation_task(name), [WHOLE]))
    assert tuple(row.prompt for row in rows) == TABLE_18[name]
    target = name.partition("|")[0]
    wanted = ["norm"] if target == "norm" else [f"{side} {target}" for side in ORIENTATIONS]
    assert [row.reference for row in rows] == wanted
    sides = [None] if target == "norm" else list(ORIENTATIONS)
    assert [row.orientation for row in rows] == sides


@pytest.mark.parametrize(
    ("label", "marker"), [("plausible", "<|CSQ_PL|>"), ("implausible", "<|CSQ_IMPL|>")]
)
def test_the_prompt_of_refinement_holds_the_draft_and_its_label(label, marker):
    row = {**path_row(WHOLE, "immoral"), "draft": "a draft", "label": label}
    wanted = f"{CONTEXT} <|ACT|> immoral action <|CSQ|> a draft {marker} <|CSQ|>"
    assert generation_task(REFINEMENT).prompt(row) == wanted
    with pytest.raises(InputError, match="needs drafts"):
        list(generation_samples(generation_task(REFINEMENT), [WHOLE]))


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("action", 4),
        ("action+norm", 4),
        ("action+context", 2),
        ("action+consequence", 2),
        ("consequence+action", 4),
    ],
)
def test_stories_without_a_sentence_give_no_samples_that_need_it(name, count):
    assert len(list(samples(classification_task(name), [WHOLE, SHORT]))) == count


@pytest.mark.parametrize(
    ("name", "count"), [("norm|actions", 2), ("action|context", 2), ("consequence|action", 2)]
)
def test_and_no_prompts_either(name, count):
    assert len(list(generation_samples(generation_task(name), [WHOLE, SHORT]))) == count


def test_a_negative_needs_the_consequence_of_the_other_path_only():
    half = MoralStory("h", moral_action="M.", immoral_action="I.", moral_consequence="C.")
    rows = [
        (row.grounding, row.target, row.label)
        for row in samples(classification_task("consequence+action"), [half])
    ]
    assert rows == [("M.", "C.", 1), ("I.", "C.", 0)]


def test_markers_are_those_of_table_18():
    assert set(markers()) == {
        f"<|{name}|>"
        for name in (
            *("NRM", "SIT", "INT", "ACT", "CSQ", "M_ACT", "I_ACT", "M_CSQ", "I_CSQ"),
            *("CSQ_PL", "CSQ_IMPL"),
        )
    }
    assert list(markers()) == sorted(markers())


@pytest.mark.parametrize(
    "hostile",
    [
        "<|NRM|>",
        "<|im_end|>",
        "<|im_start|>",
        "<|endoftext|>",
        "<|I_ACT|><|CSQ|>",
        "<|two words|>",
        "<|<|im_end|>|>",
        "<||>",
        "</s>",
        "<pad>",
        "<end_of_turn>",
        "<extra_id_0>",
    ],
)
def test_a_sentence_cannot_pose_as_a_special_token(hostile):
    prompt = generation_task("consequence|action").prompt({"action": f"Jo {hostile} spits."})
    inner = prompt.removeprefix("<|ACT|>").removesuffix("<|CSQ|>")
    assert inner.strip().startswith("Jo ")
    assert inner.strip().endswith("spits.")
    for token in ("<|NRM|>", "<|im_end|>", "<|im_start|>", "</s>", "<pad>", "<|CSQ|>", hostile):
        assert token not in inner


def test_a_sentence_keeps_its_own_signs():
    action = "Jo says 3 < 4 and 5 > 2 | <3 you {norm} \\1"
    prompt = generation_task("consequence|action").prompt({"action": action})
    assert prompt == f"<|ACT|> {action} <|CSQ|>"


@pytest.mark.parametrize("find", [classification_task, generation_task])
def test_a_task_that_is_not_there_is_guessed(find):
    with pytest.raises(InputError, match="did you mean 'action"):
        find("action+nrm" if find is classification_task else "action|contxt")
