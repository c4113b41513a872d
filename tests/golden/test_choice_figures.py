"""Figures of the first paper on real weights: bars for quality, not fitted values."""

import pytest

from moralscope.models.store import data_file
from moralscope.papers.choice import reproduce_choice


@pytest.fixture(scope="module")
def use_lite_result(use_lite_folder):
    return reproduce_choice(["use-lite"]).results[0]


@pytest.fixture(scope="module")
def minilm_result(minilm_folder):
    return reproduce_choice(["minilm"]).results[0]


def test_use_lite_tells_dos_from_donts_as_the_paper_does(use_lite_result):
    assert use_lite_result.student.t >= 10
    assert use_lite_result.student.stars == "***"
    assert use_lite_result.dos.mean > use_lite_result.donts.mean


def test_use_lite_follows_the_printed_weat_values(use_lite_result):
    assert use_lite_result.weat_printed.n == 34
    assert use_lite_result.weat_printed.r >= 0.74
    assert set(use_lite_result.weat_printed.within) == {"dos", "don'ts"}


@pytest.mark.realdata
def test_use_lite_follows_all_published_weat_values(use_lite_result):
    if data_file("figures/mcm_dos_donts.json") is None:
        pytest.skip("MORALSCOPE_DATA has no figures/mcm_dos_donts.json")
    found = use_lite_result.weat_published
    assert found.n == 100
    assert found.r >= 0.74
    assert abs(found.within["don'ts"].r) < 0.3  # the pooled r is mostly group separation


@pytest.mark.realdata
def test_the_published_biases_give_the_published_figures():
    """Our statistics on the authors' own numbers: r = 0.73, t = 10.20, means and sds."""
    import json

    from moralscope.stats.correlation import correlate
    from moralscope.stats.significance import t_test
    from moralscope.stats.summary import summarise
    from moralscope.words.paper import load_paper

    path = data_file("figures/mcm_dos_donts.json")
    if path is None:
        pytest.skip("MORALSCOPE_DATA has no figures/mcm_dos_donts.json")
    data = json.loads(path.read_text("utf-8"))
    dos = [row["use_bias"] for row in data["dos_50"]]
    donts = [row["use_bias"] for row in data["donts_50"]]
    weat = [row["weat"] for row in [*data["dos_50"], *data["donts_50"]]]
    paper = load_paper()
    found = correlate(weat, [*dos, *donts], ["dos"] * 50 + ["don'ts"] * 50)
    assert found.r == pytest.approx(paper.r, abs=0.005)
    assert t_test(dos, donts, equal_variance=True).t == pytest.approx(paper.t, abs=0.15)
    for values, printed in ((dos, paper.dos_summary), (donts, paper.donts_summary)):
        assert summarise(values).mean == pytest.approx(printed.mean, abs=0.001)
        assert summarise(values).sd == pytest.approx(printed.sd, abs=0.006)


def test_use_lite_puts_occupations_on_their_side(use_lite_result):
    assert use_lite_result.female_right == 10
    assert use_lite_result.male_right >= 9


def test_minilm_has_the_same_signs_and_less_of_them(minilm_result):
    assert minilm_result.student.t > 5
    assert minilm_result.weat_printed.r > 0.5
    assert minilm_result.female_right == 10
    toaster = minilm_result.rankings[2]
    assert toaster.same


@pytest.mark.slow
def test_mpnet_has_the_same_signs(mpnet):
    result = reproduce_choice(["mpnet"]).results[0]
    assert result.student.t > 5
    assert result.female_right == result.male_right == 10


@pytest.mark.slow
def test_dos_and_donts_of_400_000_words_are_on_their_sides():
    """glove-50 beside googlenews-26k: other words, the same valence on each side."""
    from moralscope.papers.words import reproduce_words

    found, problems = reproduce_words(("googlenews-26k", "glove-50"))
    if len(found.extractions) < 2:
        pytest.skip(problems[0])
    small, large = (each.statistics for each in found.extractions)
    assert large["words"] == 400_000 > small["words"]
    assert large["verbs"] > 8_000 > small["verbs"]
    assert small["overlap"]["dos"].found > large["overlap"]["dos"].found >= 10
    if large["validation"] is not None:
        assert large["validation"]["all_words"].test.t > 6
