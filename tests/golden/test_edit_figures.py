"""Figures of editing on real weights: how much bias goes, what stays, what does not go."""

import pytest

from moralscope.models.store import data_file
from moralscope.steer.edit import PROFESSIONS, edit
from moralscope.steer.teach import teach


def measured(name, **settings):
    if data_file(PROFESSIONS) is None:
        pytest.skip(f"MORALSCOPE_DATA has no {PROFESSIONS}")
    return edit(name, **settings)


def table(record, template):
    (row,) = [
        row
        for row in record.statistics["gender"]
        if row.template == template and row.words.startswith("professions")
    ]
    assert row.n == 320
    return row


@pytest.fixture(scope="module")
def use_lite_edit(use_lite_folder):
    return measured("use-lite")


@pytest.mark.realdata
def test_gender_falls_by_four_fifths_and_morals_stay(use_lite_edit):
    own = table(use_lite_edit, "gender")
    assert min(own.fall, own.centred_fall) >= 80
    assert all(row.r >= 0.98 for row in use_lite_edit.statistics["moral"].values())


@pytest.mark.realdata
def test_most_of_it_carries_over_to_words_that_were_not_removed(use_lite_edit):
    other = table(use_lite_edit, "held-out")
    assert min(other.fall, other.centred_fall, other.spread_fall) >= 60


@pytest.mark.realdata
def test_gender_is_hidden_not_forgotten(use_lite_edit):
    """The known limit (Gonen & Goldberg 2019): if this ever fails, the docs must be rewritten."""
    leaks = use_lite_edit.statistics["leakage"]
    assert leaks["before"].probe > 0.8
    assert leaks["after"].probe > 0.7


@pytest.mark.realdata
def test_pairs_alone_lower_a_template_they_never_saw(use_lite_folder):
    own = table(measured("use-lite", source="pairs"), "gender")
    assert own.held_out
    assert min(own.fall, own.centred_fall, own.spread_fall) >= 60


@pytest.mark.slow
@pytest.mark.realdata
def test_mpnet_loses_four_fifths_too(mpnet):
    record = measured("mpnet")
    own, other = table(record, "gender"), table(record, "held-out")
    assert min(own.fall, own.centred_fall) >= 80
    assert other.fall >= 60
    assert all(row.r >= 0.98 for row in record.statistics["moral"].values())


def test_a_correction_takes_and_carries_to_its_like(minilm_folder):
    actions = ["eat meat", "cook a steak", "love my parents", "kill people"]
    record = teach(["eat meat: good"], encoder="minilm", actions=actions)
    change = {row.action: row.change for row in record.results}
    assert record.statistics["lessons"][0].took
    assert change["cook a steak"] > 0.4
    assert abs(change["kill people"]) < 0.2
    assert abs(change["love my parents"]) < 0.2
