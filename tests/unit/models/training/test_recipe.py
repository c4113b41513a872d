"""Recipes: what TOML may say, what --set changes, what is refused, and how a run is named again."""

from pathlib import Path

import pytest

from moralscope.core.errors import InputError, UnknownName
from moralscope.io.documents import recipe_names
from moralscope.models.training.heads import Head
from moralscope.models.training.recipe import (
    TrainingRecipe,
    load_recipe,
    repeat_words,
)
from moralscope.rules.collect.train import FilterRecipe
from moralscope.rules.training.train import RulesRecipe
from moralscope.stories.train import StoriesRecipe

STEPS = ("mpnet", "mpnet-head", "minilm-head")  # they go on from a folder


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in (StoriesRecipe, RulesRecipe)
        for name in recipe_names(kind.PACKAGE, "training")
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_every_shipped_recipe_is_whole(kind, name):
    kind = FilterRecipe if "filters" in name else kind
    start = (Path("somewhere"),) if name in STEPS else ()
    teacher = (Path("other"),) if name in ("organisations", "exceptions") else ()
    found = load_recipe(kind, name, start=start, teacher=teacher)
    assert found.about
    assert found.name == name
    assert len(found.points) >= 1


@pytest.fixture
def write(tmp_path):
    def put(text, name="mine.toml"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return put


def test_a_file_of_one_s_own_extends_a_shipped_one(write):
    path = write('extends = "paper"\nepochs = 2\n[heads.action]\nweight = 0.5\n')
    found = load_recipe(StoriesRecipe, path)
    assert (found.epochs, found.learning_rate, found.weights) == (2, 1e-5, "all")
    heads = found.with_heads({"action": Head(("no", "yes")), "norm": Head(("a", "b"))})
    assert (heads["action"].weight, heads["norm"].weight) == (0.5, 1.0)
    assert heads["action"].loss == "cross_entropy"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("epoch = 2", "did you mean 'epochs'"),
        ('epochs = "two"', "not a whole number"),
        ("epochs = true", "not a whole number"),
        ("epochs = -2", "epochs is -2; give 0 to 10,000"),
        ("sources = 3", "not a list"),
        ('sources = "moral-stories"', "not a list"),
        ('sources = ["moral-storys"]', "did you mean 'moral-stories'"),
        ('weights = "some"', "weights is 'some'"),
        ("grid = 3", "'grid' has another shape"),
        ("[grid]\nepochs = []", "grid.epochs is empty"),
        ("[grid]\nepoch = [1]", "did you mean 'epochs'"),
        ('[heads.action]\nloss = "hinge"', "there is no loss 'hinge'"),
        ("[heads.action]\nwheight = 2", "did you mean 'weight'"),
        ("[heads]\naction = 2", "'heads', 'action' has another shape"),
        ('model = "generator"\nconsistency = 1.0', "consistency is for classification"),
        ('extends = "paper-gird"', "did you mean 'paper-grid'"),
        ("epochs = ", "mine.toml"),
        ("x" * 3, "mine.toml"),
    ],
)
def test_what_a_recipe_must_not_say_is_one_line(write, text, complaint):
    with pytest.raises(InputError) as caught:
        load_recipe(StoriesRecipe, write(text))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_recipes_that_extend_each_other_are_refused(tmp_path, write):
    first, second = write("", "a.toml"), write("", "b.toml")
    Path(first).write_text(f'extends = "{second}"')
    Path(second).write_text(f'extends = "{first}"')
    with pytest.raises(InputError, match="in a circle"):
        load_recipe(StoriesRecipe, first)


def test_a_setting_is_spelled_as_its_field_is():
    settings = ["epochs=2", "learning-rate=1e-3", "contrast=false", "sources=moral-stories,ethics"]
    found = load_recipe(StoriesRecipe, "experts", [*settings, "start=a,b", "members=action"])
    assert (found.epochs, found.learning_rate, found.contrast) == (2, 1e-3, False)
    assert found.sources == ("moral-stories", "ethics")
    assert found.start == (Path("a"), Path("b"))
    assert found.members == "action"


def test_parts_of_tables_are_set_and_a_given_value_is_not_searched():
    found = load_recipe(StoriesRecipe, "experts", ["grid.epochs=1,2", "heads.action.weight=2.5"])
    assert [point.epochs for point in found.points] == [1, 2]
    assert found.heads == {"action": {"weight": 2.5}}
    found = load_recipe(StoriesRecipe, "paper-grid", ["epochs=7", "batch_size=4"])
    assert {(one.epochs, one.batch_size) for one in found.points} == {(7, 4)}
    assert len(found.points) == 3


def test_a_flag_wins_over_the_recipe_and_none_changes_nothing():
    found = load_recipe(StoriesRecipe, "minilm", ["seed=5"], seed=None, base="mpnet")
    assert (found.seed, found.base) == (5, "mpnet")


def test_heads_that_the_data_lacks_are_named():
    with pytest.raises(UnknownName, match="did you mean 'action'"):
        TrainingRecipe(heads={"acton": {"weight": 2.0}}).with_heads({"action": Head(("a", "b"))})


def test_the_same_run_is_named_again_with_what_was_changed():
    recipe = load_recipe(
        StoriesRecipe, "paper-grid", ["epochs=3", "contrast=true", "heads.action.weight=2"], limit=9
    )
    words = " ".join(repeat_words(recipe, recipe.points[1]))
    assert words == (
        "--recipe paper-grid --set epochs=3 --set learning_rate=1e-05 --set batch_size=16 "
        "--set contrast=true --set heads.action.weight=2 --seed 0 --limit 9"
    )
    settings = [word for word in words.split() if "=" in word]
    again = load_recipe(StoriesRecipe, "paper-grid", settings, limit=9)
    assert again.points == [recipe.points[1]]
