"""A watched chain: events in order, names refused, no weights fetched."""

import pytest

from moralscope.core.errors import UnknownName
from moralscope.server.models import Models, NotHere
from moralscope.server.site.chains import RECIPES, StoryChainOptions, StoryChains, recipe_lines
from moralscope.stories.story import MoralStory

STORY = MoralStory("1", "Be kind.", "Jo meets a child.", "Jo wants to pass.")
SCRIPTED = {"generator": "scripted", "experts": "scripted"}


@pytest.fixture
def chains():
    models = Models()
    yield StoryChains(models)
    models.close()


def test_every_recipe_of_the_page_needs_no_more_than_a_story(chains):
    assert [line.name for line in recipe_lines()] == list(RECIPES)
    for name in RECIPES:
        assert len(chains.run(STORY, StoryChainOptions(**SCRIPTED, recipe=name)).results) >= 1


def test_each_target_is_told_under_its_own_number(chains):
    told = []
    chains.run(STORY, StoryChainOptions(**SCRIPTED), tell=told.append)
    assert [event.get("item") for event in told] == [0, 0, 1, 1, None, None]


def test_weighed_texts_come_with_the_labels_of_the_expert(chains):
    told = []
    chains.run(STORY, StoryChainOptions(**SCRIPTED, count=3), tell=told.append)
    weighed = next(event for event in told if event["event"] == "weighed")
    assert len(weighed["texts"]) == 3
    assert sum(weighed["texts"][0]["probabilities"].values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("change", [{"recipe": "norm-synthesis"}, {"generator": "/etc"}])
def test_other_names_are_refused(chains, change):
    with pytest.raises(UnknownName):
        chains.run(STORY, StoryChainOptions(**{**SCRIPTED, **change}))


def test_weights_that_are_not_here_are_not_fetched(chains, tmp_path, monkeypatch):
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path))
    with pytest.raises(NotHere, match="moralscope models pull smollm2"):
        chains.run(STORY, StoryChainOptions(**{**SCRIPTED, "generator": "stories"}))
