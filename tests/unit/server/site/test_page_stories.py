"""A watched chain: events in order, names refused, no weights fetched."""

import pytest

from moralscope.core.errors import UnknownName
from moralscope.server.models import Models, NotHere
from moralscope.server.site.stories import RECIPES, ChainAsked, Storyteller, recipe_lines

ASKED = {
    "norm": "Be kind.",
    "situation": "Jo meets a child.",
    "intention": "Jo wants to pass.",
    "generator": "scripted",
    "experts": "scripted",
}


@pytest.fixture
def teller():
    models = Models()
    yield Storyteller(models)
    models.close()


def test_every_recipe_of_the_page_needs_no_more_than_a_story(teller):
    assert [line.name for line in recipe_lines()] == list(RECIPES)
    for name in RECIPES:
        assert len(teller.run(ChainAsked(**ASKED, recipe=name)).results) >= 1


def test_each_target_is_told_under_its_own_number(teller):
    told = []
    teller.run(ChainAsked(**ASKED), tell=told.append)
    assert [event.get("item") for event in told] == [0, 0, 1, 1, None, None]


def test_weighed_texts_come_with_the_labels_of_the_expert(teller):
    told = []
    teller.run(ChainAsked(**ASKED, count=3), tell=told.append)
    weighed = next(event for event in told if event["event"] == "weighed")
    assert len(weighed["texts"]) == 3
    assert sum(weighed["texts"][0]["probabilities"].values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("change", [{"recipe": "norm-synthesis"}, {"generator": "/etc"}])
def test_other_names_are_refused(teller, change):
    with pytest.raises(UnknownName):
        teller.run(ChainAsked(**{**ASKED, **change}))


def test_weights_that_are_not_here_are_not_fetched(teller, tmp_path, monkeypatch):
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path))
    with pytest.raises(NotHere, match="moralscope models pull smollm2"):
        teller.run(ChainAsked(**{**ASKED, "generator": "stories"}))
