"""Recipes: the shipped ones hold, and every mistake is one line with file and step."""

import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import Decoding, to_plain
from moralscope.io.documents import recipe_names
from moralscope.stories.chains.explain import explain
from moralscope.stories.chains.flow import by_target, story_fields
from moralscope.stories.chains.recipes import load_recipe, parse_recipe

PUBLISHED = {
    "action-ranking": ["action|context", "action+context"],
    "action-abduction-published": [
        "action|context",
        "action+context",
        "consequence|context+action",
        "consequence+context+action",
        "action|context+consequence",
        "action+context+consequence",
    ],
    "consequence-ranking": ["consequence|context+action", "consequence+context+action"],
    "consequence-refinement": [
        "consequence|context+action",
        "consequence|context+action+draft+label",
        "consequence+context+action",
    ],
    "norm-synthesis": [
        "consequence|context+action",
        "consequence+context+action",
        "norm|context+actions+consequences",
    ],
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_component_models_are_those_of_table_19(name):
    steps = load_recipe(name).steps
    used = dict.fromkeys(model for step in steps for model in (step.task, step.expert) if model)
    assert sorted(used) == sorted(PUBLISHED[name])


def test_abduction_ranks_by_the_norm_and_else_as_published():
    ours, published = (load_recipe(f"action-abduction{end}").steps for end in ("", "-published"))
    assert ours[:-1] == published[:-1]
    assert (ours[-1].expert, published[-1].expert) == (
        "action+context",
        "action+context+consequence",
    )


@pytest.mark.parametrize("name", recipe_names("moralscope.stories", "recipes"))
def test_every_shipped_recipe_is_sound_and_explained(name):
    recipe = load_recipe(name)
    lines = explain(recipe)
    assert lines[0].startswith(f"{name}: ")
    for number, step in enumerate(recipe.steps, 1):
        assert any(line.startswith(f"    ├─ {number} {step.do}") for line in lines)
        assert any(line.startswith(f"  {number}. '{step.name}'") for line in lines)


def test_a_chain_never_reads_the_reference_it_is_to_find():
    assert story_fields(load_recipe("action-abduction")) == ("norm", "situation", "intention")
    assert "consequence" not in story_fields(load_recipe("consequence-refinement"))
    blind = story_fields(load_recipe("norm-synthesis-blind"))
    assert blind == ("situation", "intention", "moral_action", "immoral_action")


def test_norms_have_no_target():
    assert not by_target(load_recipe("norm-synthesis"))
    assert by_target(load_recipe("consequence-ranking"))


def test_explain_says_where_a_sentence_comes_from_and_how_many_are_written():
    text = "\n".join(explain(load_recipe("action-abduction"), Decoding(count=7)))
    assert "writes 7 actions" in text
    assert "the story's norm, situation, intention and consequence from 'foreseen'" in text
    assert "consequence := best consequence" in text


def test_explain_draws_an_arrow_where_texts_come_from_further_up():
    text = """steps = [
      {name = "a", do = "propose", task = "action|context"},
      {name = "b", do = "propose", task = "action|context"},
      {name = "c", do = "rank", from = "a", expert = "action+norm"},
    ]"""
    lines = explain(parse_recipe(text, "mine", "mine.toml"))
    assert any(line.endswith("◄─ a") for line in lines)


def test_steps_survive_as_plain_data():
    plain = to_plain(load_recipe("norm-synthesis").steps)
    assert plain[0]["read"] == {"action": "moral_action"}
    assert plain[1]["from"] == "moral consequences"
    assert plain[-1] == {
        "name": "norms",
        "do": "propose",
        "task": "norm|context+actions+consequences",
        "count": 1,
    }


PROPOSE = '{name = "a", do = "propose", task = "action|context"}'
WRONG = {
    'steps = [{name = "a", do = "propse", task = "x"}]': "step 'a': there is no step 'propse'",
    'steps = [{name = "a", do = "propose", task = "action|contxt"}]': "no task 'action|contxt'",
    'steps = [{name = "a", do = "propose"}]': "step 'a': propose needs 'task'",
    'steps = [{do = "propose", task = "action|context"}]': "row 1 has no 'name'",
    'steps = [{name = "a", do = 3}]': "row 1, do is '3', not a text",
    'steps = [{name = "a", do = "rank", expert = "action"}]': "step 'a': nothing to rank",
    "steps = []": "has 0 steps",
    "steps = 3": "steps",
    "steps = [3]": "row 1",
    "stps = []": "unknown key 'stps'; did you mean 'steps'?",
    "about = 3\nsteps = []": "about is '3', not a text",
    "steps = [": "is not TOML",
    f"steps = [{PROPOSE}, {PROPOSE}]": "step 'a' is there twice",
    f'steps = [{PROPOSE}, {{name = "b", do = "rank", expert = "action", cout = 1}}]': "'cout'",
    f'steps = [{PROPOSE}, {{name = "b", do = "rank", expert = "acton"}}]': "no task 'acton'",
    f'steps = [{PROPOSE}, {{name = "b", do = "rank", expert = "action", from = "z"}}]': (
        "'from' names no step 'z'"
    ),
    f'steps = [{PROPOSE}, {{name = "b", do = "rank", expert = "action", from = "b"}}]': (
        "step 'b' takes texts from 'b', which does not come before it"
    ),
    f"""steps = [{PROPOSE},
      {{name = "b", do = "rank", expert = "action", from = "c"}},
      {{name = "c", do = "rank", expert = "action", from = "b"}}]""": (
        "step 'b' takes texts from 'c', which does not come before it"
    ),
    """steps = [{name = "b", do = "rank", expert = "action", from = "a"},
      {name = "a", do = "propose", task = "action|context"}]""": (
        "step 'b' takes texts from 'a', which does not come before it"
    ),
    f"""steps = [{PROPOSE}, {{name = "b", do = "condition", field = "action"}},
      {{name = "c", do = "rank", expert = "action", from = "b"}}]""": "'b' makes no texts",
    f'steps = [{PROPOSE}, {{name = "b", do = "condition", field = "action"}}]': (
        "step 'b' is the last and makes no text"
    ),
    f'steps = [{PROPOSE}, {{name = "b", do = "rank", expert = "consequence+action"}}]': (
        "judges consequences, 'a' gives actions"
    ),
    f"""steps = [{PROPOSE}, {{name = "b", do = "condition", field = "consequence"}},
      {{name = "c", do = "propose", task = "action|context"}}]""": (
        "'a' gives actions, 'consequence' is no action"
    ),
    f"""steps = [{PROPOSE}, {{name = "b", do = "condition", field = "actoin"}},
      {{name = "c", do = "propose", task = "action|context"}}]""": "a story has no 'actoin'",
    """steps = [{name = "a", do = "propose", task = "consequence|context+action+draft+label"}]""": (
        "needs a draft"
    ),
    f"""steps = [{PROPOSE},
      {{name = "b", do = "refine", task = "action|context", expert = "action"}}]""": "no draft",
    """steps = [{name = "a", do = "propose", task = "consequence|action"},
      {name = "b", do = "propose", task = "norm|actions"}]""": (
        "step 'a' reads 'action', which no step before it writes"
    ),
    f'steps = [{PROPOSE}, {{name = "b", do = "propose", task = "norm|actions"}}]': (
        "step 'a' asks for moral or immoral, but norms have no target"
    ),
    'steps = [{name = "a", do = "propose", task = "action|context", read = {action = "x"}}]': (
        "'read' replaces 'action', which the step does not read"
    ),
    'steps = [{name = "a", do = "propose", task = "action|context", read = {norm = "x"}}]': (
        "step 'a' reads 'x', which no story has"
    ),
    'steps = [{name = "a", do = "propose", task = "action|context", read = {norm = 3}}]': "text",
    'steps = [{name = "a", do = "propose", task = "action|context", read = "norm"}]': "shape",
    'steps = [{name = "a", do = "propose", task = "action|context", count = "3"}]': "whole number",
    'steps = [{name = "a", do = "propose", task = "action|context", count = true}]': "whole number",
    'steps = [{name = "a", do = "propose", task = "action|context", count = 0}]': "'count' is 0",
    'steps = [{name = "a", do = "propose", task = "action|context", p = 1.5}]': "'p' is 1.5",
    'steps = [{name = "a", do = "propose", task = "action|context", temperature = 0}]': "is 0",
    'steps = [{name = "a", do = "propose", task = "action|context", strategy = "x"}]': "strategy",
    f'steps = [{PROPOSE}, {{name = "b", do = "rank", expert = "action+norm", label = "keep"}}]': (
        "has no label 'keep'; did you mean 'keeps'?"
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_one_line_with_file_and_step(text):
    with pytest.raises(InputError) as caught:
        parse_recipe(text, "mine", "mine.toml")
    line = str(caught.value)
    assert WRONG[text] in line
    assert line.startswith("mine.toml")
    assert "\n" not in line


def test_an_unknown_recipe_names_the_nearest():
    with pytest.raises(InputError, match="did you mean 'action-ranking'"):
        load_recipe("action-rankin")


def test_a_file_of_ones_own_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(f"steps = [{PROPOSE}]")
    assert load_recipe(str(path)).name == "mine"
    with pytest.raises(InputError, match="cannot be read"):
        load_recipe(str(tmp_path / "other.toml"))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not valid UTF-8"):
        load_recipe(str(path))
