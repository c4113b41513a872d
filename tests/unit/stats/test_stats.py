"""Checked against SciPy on random data and against the numbers the papers print."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from moralscope.stats.correlation import correlate
from moralscope.stats.intervals import crossed_bootstrap, percentile_interval, resample_weights
from moralscope.stats.significance import t_test, t_test_from_summaries
from moralscope.stats.summary import Summary, summarise
from moralscope.words.paper import load_paper

rng = np.random.default_rng(7)


@pytest.mark.parametrize("equal_variance", [True, False])
def test_t_tests_agree_with_scipy(equal_variance):
    first, second = rng.normal(0, 1, 23), rng.normal(0.7, 2, 31)
    ours = t_test(first, second, equal_variance=equal_variance)
    reference = scipy_stats.ttest_ind(first, second, equal_var=equal_variance)
    assert ours.t == pytest.approx(reference.statistic, abs=1e-12)
    assert ours.p == pytest.approx(reference.pvalue, rel=1e-9)
    assert ours.df == pytest.approx(reference.df, rel=1e-9)
    assert ours.kind == ("student" if equal_variance else "welch")


def test_pearson_agrees_with_scipy_pooled_and_within():
    groups = ["do"] * 20 + ["don't"] * 25
    x = rng.normal(0, 1, 45)
    y = x * 0.3 + rng.normal(0, 1, 45) + np.array([group == "do" for group in groups])
    ours = correlate(x, y, groups)
    assert ours.r == pytest.approx(scipy_stats.pearsonr(x, y).statistic)
    assert ours.p == pytest.approx(scipy_stats.pearsonr(x, y).pvalue)
    inner = scipy_stats.pearsonr(x[:20], y[:20])
    assert ours.within["do"].r == pytest.approx(inner.statistic)
    assert ours.within["do"].n == 20
    assert ours.low < ours.r < ours.high


def test_a_bootstrap_interval_of_r_is_near_scipys():
    x = rng.normal(0, 1, 120)
    y = 0.6 * x + rng.normal(0, 0.8, 120)
    ours = correlate(x, y)
    reference = scipy_stats.bootstrap(
        (x, y),
        lambda a, b, axis=-1: scipy_stats.pearsonr(a, b, axis=axis).statistic,
        paired=True,
        method="percentile",
        rng=1,
    ).confidence_interval
    assert ours.low == pytest.approx(reference.low, abs=0.02)
    assert ours.high == pytest.approx(reference.high, abs=0.02)


def test_a_pooled_r_can_be_group_separation_alone():
    x = np.concatenate([rng.normal(0, 1, 200), rng.normal(8, 1, 200)])
    y = np.concatenate([rng.normal(0, 1, 200), rng.normal(8, 1, 200)])
    found = correlate(x, y, ["don't"] * 200 + ["do"] * 200)
    assert found.r > 0.9
    assert all(abs(inner.r) < 0.25 for inner in found.within.values())


def test_what_has_no_spread_has_no_r_and_no_t():
    assert np.isnan(correlate([1, 1, 1], [1, 2, 3]).r)
    assert np.isnan(correlate([1, 2], [1, 2]).r)
    assert np.isnan(t_test([1.0, 1.0], [1.0, 1.0], equal_variance=True).t)
    assert np.isnan(t_test([1.0], [1.0, 2.0], equal_variance=False).t)
    assert np.isnan(summarise([]).mean)


def test_the_bootstrap_of_a_mean_is_near_scipys():
    values = rng.normal(0, 1, 10)
    low, high = percentile_interval((values @ resample_weights(10, 5000, 0).T)[None])
    reference = scipy_stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=5000, rng=3
    ).confidence_interval
    assert low[0] == pytest.approx(reference.low, abs=0.05)
    assert high[0] == pytest.approx(reference.high, abs=0.05)


def test_a_seed_decides_the_resamples():
    assert (resample_weights(10, 50, 3) == resample_weights(10, 50, 3)).all()
    assert (resample_weights(10, 50, 3) != resample_weights(10, 50, 4)).any()


def test_paraphrases_widen_the_interval_when_they_disagree():
    weights = resample_weights(10, 4000, 0)
    agree = np.tile(rng.normal(0, 0.1, 10), (5, 1))
    disagree = agree + np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0]])

    def width(values):
        low, high = percentile_interval(crossed_bootstrap(values, weights, 0))
        return float(high[0] - low[0])

    assert width(disagree) > 3 * width(agree)


class TestPapers:
    """The printed figures are rounded: ours must reproduce them within that rounding."""

    def test_t_of_dos_and_donts(self):
        paper = load_paper()
        found = t_test_from_summaries(paper.dos_summary, paper.donts_summary, equal_variance=True)
        assert found.t == pytest.approx(paper.t, rel=0.03)
        assert found.stars == "***"
        assert found.p < 1e-4

    @pytest.mark.parametrize(
        ("dos", "donts", "t"),
        [
            (Summary(50, 1.12, 1.24), Summary(50, -0.90, 1.22), 8.12),
            (Summary(24, 2.34, 0.62), Summary(19, -2.37, 0.67), 23.28),
        ],
    )
    def test_t_of_the_afinn_ratings(self, dos, donts, t):
        assert t_test_from_summaries(dos, donts, equal_variance=True).t == pytest.approx(
            t, rel=0.03
        )

    @pytest.mark.parametrize(("r", "p"), [(0.73, 9.8830e-18), (0.88, 1.1054e-29)])
    def test_p_of_the_published_r(self, r, p):
        """The p of r = 0.73 and r = 0.88 with 100 words lies where the papers put it."""
        x = rng.normal(0, 1, 100)
        x = (x - x.mean()) / x.std()
        noise = rng.normal(0, 1, 100)
        noise -= noise.mean() + x * (x @ noise) / 100
        noise /= noise.std()

        def p_of(value):
            return correlate(x, value * x + np.sqrt(1 - value**2) * noise).p

        if r == 0.73:
            assert p_of(0.735) < p < p_of(0.725)
        else:  # the second paper prints an n of 90 to 100 words; the order of magnitude holds
            assert p_of(0.90) < p < p_of(0.85)
