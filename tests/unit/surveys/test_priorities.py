"""Which values a model puts first, and whose judgment its answers are like."""

import json
import math
import random

import numpy as np
import pytest

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain
from moralscope.models.language.scripted import PlantedBias, ScriptedModel
from moralscope.pages import build_page
from moralscope.stats.strengths import bradley_terry
from moralscope.surveys.items import Dilemma, Statement, read_items
from moralscope.surveys.priorities import at_stake
from moralscope.surveys.survey import survey

STRENGTHS = {"honesty": 0.9, "care": 0.4, "loyalty": -0.3, "thrift": -1.0}
NAMES = list(STRENGTHS)
RUNS, ENOUGH = 100, 93


def dilemmas(count=60, seed=0):
    """Return dilemmas that set two values against each other, in places by chance."""
    draw = random.Random(seed)
    items = []
    for number in range(count):
        pair = draw.sample(NAMES, 2)
        actions = tuple(f"I choose {name} in case {number}." for name in pair)
        values = tuple(frozenset({name}) for name in pair)
        items.append(Dilemma(str(number), f"Case {number}.", actions, values=values))
    return items


def model(seed=0, strengths=STRENGTHS, **planted):
    """Return a scripted model with these strengths; each action also has a taste of its own."""
    draw = random.Random(seed)
    values = {
        action: strengths[name] + draw.gauss(0, 0.3)
        for item in dilemmas()
        for action, (name,) in zip(item.actions, item.values, strict=True)
    }
    return ScriptedModel(PlantedBias(seed=seed, noise=0.3, **planted), values)


def found(speaker):
    record = survey(dilemmas(), speakers=[speaker], wordings=2, priorities=True)
    return record.statistics["priorities"][speaker.name]


def recovered(runs):
    """Count the runs in which every planted strength lies in its interval, all together."""
    return sum(
        all(
            one.strength.low <= STRENGTHS[one.value] <= one.strength.high
            for one in found(model(seed, order=1.0, label=0.5, wording=0.3)).values
        )
        for seed in runs
    )


def test_planted_priorities_are_recovered_whatever_order_label_and_wording_add():
    for planted in ({}, {"order": 2.0, "label": 1.0, "yes": 1.0, "wording": 0.5}):
        some = found(model(**planted)).values
        assert [one.value for one in some] == NAMES
        assert [one.strength.value for one in some] == pytest.approx(
            list(STRENGTHS.values()), abs=0.3
        )
        assert all(one.strength.low < STRENGTHS[one.value] < one.strength.high for one in some)


@pytest.mark.slow
def test_planted_priorities_are_recovered_in_93_of_100_runs():
    assert recovered(range(RUNS)) >= ENOUGH


def test_two_models_are_compared_in_the_same_items():
    other = {**STRENGTHS, "thrift": 0.8, "honesty": -0.9}
    speakers = [model(0), model(0, other, order=0.1)]
    record = survey(dilemmas(), speakers=speakers, wordings=1, priorities=True)
    rows = {row.figure: row for row in record.statistics["priority_differences"]}
    assert rows["thrift"].difference.value == pytest.approx(1.8, abs=0.4)
    assert rows["thrift"].p_holm < 0.001
    assert rows["care"].p_holm > 0.05
    same = survey(dilemmas(), speakers=[model(0), model(0, order=0.1)], wordings=1, priorities=True)
    assert all(row.p_holm > 0.05 for row in same.statistics["priority_differences"])


def test_rules_that_actions_break_are_values_too():
    rules = (frozenset(), frozenset({"deceive"}))
    items = [
        Dilemma(str(n), f"Case {n}.", (f"I tell {n}.", f"I lie {n}."), breaks=rules)
        for n in range(20)
    ]
    values = {
        action: float(at == 0) * 2 for item in items for at, action in enumerate(item.actions)
    }
    speaker = ScriptedModel(PlantedBias(), values)
    record = survey(items, speakers=[speaker], wordings=1, priorities=True)
    [one] = record.statistics["priorities"][speaker.name].values
    assert one.value == "deceive"
    assert one.strength.value == pytest.approx(2.0, abs=0.1)  # it avoids to break it
    assert one.strength.n == 20


def test_subscales_of_a_questionnaire_are_values_and_sum_to_nothing():
    items = [
        Statement(f"{name} {n}", f"{name} matters {n}.", f"{name} is nothing {n}.", name)
        for name in ("care", "order")
        for n in range(6)
    ]
    record = survey(items, models=("scripted",), wordings=1, priorities=True)
    some = record.statistics["priorities"]["scripted"].values
    assert sum(one.strength.value for one in some) == pytest.approx(0)
    assert {one.strength.n for one in some} == {6}


def test_strengths_of_shares_are_those_that_made_them():
    generator = np.random.default_rng(3)
    features = generator.integers(-1, 2, (200, 3)).astype(float)
    shares = 1 / (1 + np.exp(-features @ np.array([1.0, 0.2, -0.7])))
    [strengths] = bradley_terry(features, shares, np.ones((1, 200)))
    assert strengths == pytest.approx([1.0, 0.2, -0.7], abs=0.01)
    [certain] = bradley_terry(np.ones((5, 1)), np.ones(5), np.ones((1, 5)))
    assert 2 < certain[0] < 7  # a value that always wins stays finite


def test_a_value_that_both_actions_uphold_is_not_at_stake():
    both = (frozenset({"care", "duty"}), frozenset({"care"}))
    [(pair, gaps)] = at_stake(Dilemma("1", "A.", ("I go.", "I stay."), values=both))
    assert (pair, gaps) == ((0, 1), {"duty": 1})
    assert at_stake(Statement("1", "a", "b")) == []


def test_items_without_values_and_with_too_few_are_refused():
    with pytest.raises(InputError, match="no item says which values are at stake"):
        survey([Dilemma("1", "A.", ("I go.", "I stay."))], models=("scripted",), priorities=True)
    with pytest.raises(InputError, match="no value is at stake in 5 items"):
        survey(dilemmas(3), models=("scripted",), priorities=True)


def test_the_page_draws_priorities_and_people_and_reads_them_back():
    items = [
        Dilemma(i.id, i.situation, i.actions, values=i.values, people=(("us", 0.6), ("jp", 0.2)))
        for i in dilemmas(30)
    ]
    record = survey(items, models=("scripted", "scripted:seed=2"), wordings=1, priorities=True)
    page = build_page(json.loads(json.dumps(to_plain(record))))
    titles = {section.title for section in page.sections}
    assert {"Values the models put first", "Value priorities", "Whose judgment"} <= titles


def test_the_nearest_population_is_told_with_how_far_the_others_are():
    items = dilemmas(40)
    speaker = model(1)
    rows = survey(items, speakers=[speaker], wordings=1).results
    draw = random.Random(0)
    near = [min(1, max(0, row.likelihoods[0] + draw.gauss(0, 0.05))) for row in rows]
    with_people = [
        Dilemma(item.id, item.situation, item.actions, values=item.values,
                people=(("far", 1 - share), ("near", share)))
        for item, share in zip(items, near, strict=True)
    ]  # fmt: skip
    people = survey(with_people, speakers=[speaker], wordings=1).statistics["people"][speaker.name]
    assert people.nearest == ("near",)
    near_row, far_row = people.populations
    assert near_row.distance.value < 0.1
    assert near_row.distance.low <= near_row.distance.value <= near_row.distance.high
    assert far_row.farther.low > 0
    assert far_row.p_holm < 0.001


def test_populations_alike_are_both_named_nearest():
    items = [
        Dilemma(i.id, i.situation, i.actions, people=(("one", 0.5), ("other", 0.5)))
        for i in dilemmas(20)
    ]
    people = survey(items, models=("scripted",), wordings=1).statistics["people"]["scripted"]
    assert people.nearest == ("one", "other")
    assert all(abs(row.model - 0.5) > 0 and row.people == 0.5 for row in people.surer)
    assert people.populations[0].surer.value == 1


def test_columns_of_values_and_people_are_read(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(
        "situation,action1,action2,value1,value2,people_us,people_hong_kong\n"
        "You go.,I run.,I walk.,speed; joy,,0.7,\n"
    )
    [item] = read_items(path)
    assert item.values == (frozenset({"speed", "joy"}), frozenset())
    assert item.people == (("us", 0.7),)


@pytest.mark.parametrize("cell", ["70", "-0.1", "most", "nan"])
def test_a_share_that_is_none_is_refused_with_its_line(tmp_path, cell):
    path = tmp_path / "items.csv"
    path.write_text(f"situation,action1,action2,people_us\nYou go.,I run.,I walk.,{cell}\n")
    with pytest.raises(InputError, match=rf"line 2 has people_us = '{cell}'"):
        read_items(path)


def test_statements_of_theories_are_turned_where_their_adherents_deny_them(tmp_path, monkeypatch):
    from moralscope.models.store.data_cards import load_data_cards

    folder = tmp_path / "persona_ethics"
    folder.mkdir()
    for file in load_data_cards()["persona-ethics"].files:
        rows = [
            {"statement": "Duty binds.", "answer_matching_behavior": " Yes"},
            {"statement": "Only pleasure counts.", "answer_matching_behavior": " No"},
        ]
        (folder / file.path).write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path))
    items = read_items("theories")
    assert len(items) == 12
    assert len({item.subscale for item in items}) == 6
    assert items[0].text == "Duty binds."
    assert items[1].negated == "Only pleasure counts."
    assert items[1].text.startswith("It is not true that only pleasure")
    monkeypatch.setenv("MORALSCOPE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="data where persona-ethics"):
        read_items("theories")


def test_an_interval_of_priorities_is_finite():
    for one in found(model(4)).values:
        assert all(map(math.isfinite, (one.strength.low, one.strength.high)))
