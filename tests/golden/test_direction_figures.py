"""Figures of the second paper on real weights: bars for quality, not fitted values."""

import pytest

from moralscope.axes.score import score
from moralscope.io.actions import read_actions
from moralscope.models.store import data_file
from moralscope.papers.direction import reproduce_direction

HUMAN = "human/yes_no_visible_half.csv"
POPULATIONS = ("amt", "regional")


def fits(encoder):
    return {fit.fit: fit for fit in reproduce_direction([encoder]).results[0].fits}


@pytest.fixture(scope="module")
def minilm_fits(minilm_folder):
    return fits("minilm")


@pytest.fixture(scope="module")
def use_lite_fits(use_lite_folder):
    return fits("use-lite")


def agreement(encoder, fit):
    path = data_file(HUMAN)
    if path is None:
        pytest.skip(f"MORALSCOPE_DATA has no {HUMAN}")
    record = score(read_actions(path), axis="direction", fit=fit, encoder=encoder, human=path)
    found = record.statistics["human"].populations
    return {name: found[name].pearson for name in POPULATIONS}


def test_minilm_orders_atomic_actions_as_the_papers_bert_does(minilm_fits):
    found = minilm_fits["pca"].agreement
    assert found["bert atomic"].n == 65
    assert found["bert atomic"].r >= 0.92
    assert found["bert contextual"].n == 56
    assert found["bert contextual"].r >= 0.80


def test_use_lite_orders_actions_as_the_papers_use_does(use_lite_fits):
    found = use_lite_fits["pca"].agreement
    assert found["use atomic"].r >= 0.92
    assert found["use contextual"].r >= 0.90
    assert found["bert atomic"].r >= 0.90


def test_the_first_component_stands_out_and_the_anchors_lie_on_two_sides(minilm_fits):
    found = minilm_fits["pca"].direction
    assert found["stands_out"]
    assert found["separation"] == 1
    assert found["stability"].bootstrap_degrees_median < 35


def test_minilm_follows_weat_of_our_own_vectors(minilm_fits, word_vectors_26k):
    found = minilm_fits["pca"].weat["ours"]
    assert found.r >= 0.79
    assert set(found.within) == {"dos", "don'ts"}


@pytest.mark.realdata
def test_minilm_follows_all_published_weat_values(minilm_fits):
    if data_file("figures/mcm_dos_donts.json") is None:
        pytest.skip("MORALSCOPE_DATA has no figures/mcm_dos_donts.json")
    found = minilm_fits["pca"].weat["published"]
    assert found.n == 100
    assert found.r >= 0.79


@pytest.mark.realdata
def test_minilm_agrees_with_people_in_each_population(minilm_folder):
    for found in agreement("minilm", "pca").values():
        assert found.n == 56
        assert found.r >= 0.69


@pytest.mark.slow
@pytest.mark.realdata
def test_labels_bring_mpnet_nearer_to_people():
    plain, labelled = agreement("mpnet", "pca"), agreement("mpnet", "labelled")
    for population in POPULATIONS:
        assert labelled[population].r >= plain[population].r + 0.03
