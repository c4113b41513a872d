"""The page of a chain: stories side by side, every candidate, and no text as markup."""

import json

import pytest

from moralscope.pages import build_page, report_html
from moralscope.pages.page import Code, Facts, Table

from .plain_records import HOSTILE, record
from .test_hostile_records import pages_with_wrong_values

STEP = {
    "step": "actions",
    "do": "propose",
    "model": "action|context",
    "stories": 2,
    "candidates": 4,
    "seconds": 3.0,
}


def row(name="1", target="moral", choice="Jo waters the beds.", norm="Water the plants."):
    ranked = [{"text": choice, "score": 0.9}, {"text": "Jo sleeps.", "score": 0.2}]
    return {
        "id": name,
        "target": target,
        "choice": choice,
        "candidates": ranked,
        "reference": "Jo fills the can.",
        "story": {
            "norm": norm,
            "situation": "It is dry.",
            "intention": "Jo wants to go.",
            "action": "Jo fills the can.",
            "consequence": "The beds are wet.",
        },
        "path": [
            {
                "step": "actions",
                "do": "propose",
                "task": "action|context",
                "candidates": [{"text": "Jo sleeps.", "score": None}, {"text": choice}],
                "choice": "Jo sleeps.",
            },
            {
                "step": "best action",
                "do": "rank",
                "from": "actions",
                "candidates": ranked,
                "choice": choice,
            },
        ],
    }


def chain_record(rows=None, *, beside=True):
    rows = rows or [row(), row(target="immoral", choice="Jo leaves them dry.")]
    other = {
        "name": "action-sample",
        "results": [{"id": r["id"], "target": r["target"], "choice": "Jo sings."} for r in rows],
    }
    return record(
        "chain",
        rows,
        config={"recipe": "action-ranking", "kind": "action", "count": 2},
        statistics={
            "steps": [STEP],
            "seconds": 3.0,
            "results": len(rows),
            "without_choice": [],
            "skipped": [],
            "diagram": ["action-ranking", "    │", "    ├─ 1 propose"],
            **({"beside": [other]} if beside else {}),
        },
    )


def facts(page, section=0):
    return [pair for block in page.sections[section].blocks for pair in block.pairs]


def table(page, title):
    return next(
        block
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Table) and block.title == title
    )


def test_a_story_is_laid_out_as_in_figure_2():
    page = build_page(chain_record())
    assert facts(page) == [
        ("Norm", "Water the plants."),
        ("Situation", "It is dry."),
        ("Intention", "Jo wants to go."),
        ("Moral action (action-ranking)", "Jo waters the beds."),
        ("Moral action (action-sample)", "Jo sings."),
        ("Moral action (reference)", "Jo fills the can."),
        ("Moral consequence", "The beds are wet."),
        ("Immoral action (action-ranking)", "Jo leaves them dry."),
        ("Immoral action (action-sample)", "Jo sings."),
        ("Immoral action (reference)", "Jo fills the can."),
        ("Immoral consequence", "The beds are wet."),
    ]


def test_a_norm_is_laid_out_as_in_figure_6():
    told = {"norm": "Reference.", "situation": "It is dry.", "intention": "Jo wants to go."}
    norm = {**row(target=None, choice="Share."), "reference": "Reference."}
    norm["story"] = {**told, "moral_action": "Jo shares.", "immoral_action": "Jo hides."}
    plain = chain_record([norm], beside=False)
    plain["config"]["kind"] = "norm"
    assert facts(build_page(plain)) == [
        ("Situation", "It is dry."),
        ("Intention", "Jo wants to go."),
        ("Norm (action-ranking)", "Share."),
        ("Norm (reference)", "Reference."),
        ("Moral action", "Jo shares."),
        ("Immoral action", "Jo hides."),
    ]


def test_every_candidate_is_there_once_with_its_score():
    found = table(build_page(chain_record()), "Every candidate").rows
    assert found[:2] == [
        ["1", "moral", "best action", "Jo waters the beds.", 0.9, "●"],
        ["1", "moral", "best action", "Jo sleeps.", 0.2, ""],
    ]
    assert len(found) == 4


def test_candidates_that_nobody_ranks_are_shown_as_proposed():
    plain = chain_record()
    for result in plain["results"]:
        del result["path"][1]
    found = table(build_page(plain), "Every candidate").rows
    assert found[0] == ["1", "moral", "actions", "Jo sleeps.", None, "●"]


def test_choices_stand_beside_those_of_other_runs():
    found = table(build_page(chain_record()), "All choices")
    assert [column.title for column in found.columns] == [
        "story",
        "target",
        "choice",
        "score",
        "action-sample",
        "reference",
    ]
    assert found.rows[1][2:5] == ["Jo leaves them dry.", 0.9, "Jo sings."]


def test_the_recipe_is_drawn_with_its_lines():
    page = build_page(chain_record())
    (code,) = [b for s in page.sections if s.title == "The recipe" for b in s.blocks][:1]
    assert isinstance(code, Code)
    assert code.text.splitlines() == ["action-ranking", "    │", "    ├─ 1 propose"]


def test_many_stories_are_all_in_the_table_and_a_few_in_full():
    page = build_page(chain_record([row(str(n)) for n in range(100)]))
    assert sum(section.title.startswith("Story ") for section in page.sections) == 12
    assert len(table(page, "All choices").rows) == 100
    assert "The first 12 of 100 stories" in page.summary[0]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_a_story_or_a_model_are_never_markup(text):
    hostile = row(name=text, target=text, choice=text, norm=text)
    plain = chain_record([hostile])
    plain["statistics"]["diagram"] = [text]
    plain["statistics"]["beside"][0]["name"] = text
    document = report_html(plain, "x")
    assert text not in document
    assert "<img" not in document.lower().partition("<body>")[2].partition("<script")[0]
    assert any(isinstance(b, Facts) for s in build_page(plain).sections for b in s.blocks)


def test_a_wrong_value_anywhere_is_shown_or_refused():
    for page in pages_with_wrong_values(chain_record):
        tables = [b for s in page.sections for b in s.blocks if isinstance(b, Table)]
        json.dumps([one.rows for one in tables], allow_nan=False)
