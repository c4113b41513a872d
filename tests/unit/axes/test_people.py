"""Agreement with people, checked against SciPy, simulation and the files people write."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from moralscope.axes.people import human_agreement, sampling_ceiling
from moralscope.axes.ratings import Ratings, read_ratings
from moralscope.core.errors import InputError
from moralscope.core.records import ActionScore, to_plain

ACTIONS = ["help", "smile", "lie", "steal", "kill"]


def scored(values, actions=ACTIONS):
    return [ActionScore(*row) for row in zip(actions, values, values, values, strict=True)]


@pytest.fixture
def write(tmp_path):
    def to(text):
        path = tmp_path / "people.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to


ONE = "action,yes,no\nhelp,9,1\nsmile,8,2\nlie,3,7\nsteal,2,8\nkill,0,10\n"
TWO = """action,amt_yes,amt_no,regional_yes,regional_no
help,90,10,7,3
smile,80,20,9,1
lie,30,70,2,8
steal,25,75,3,7
kill,1,99,0,10
"""


def test_one_population_is_correlated_as_scipy_would(write):
    values = [0.4, 0.1, 0.2, -0.2, -0.3]
    found = human_agreement(scored(values), write(ONE), 0)
    rates = [0.9, 0.8, 0.3, 0.2, 0]
    assert list(found.populations) == ["people"]
    people = found.populations["people"]
    assert people.pearson.r == pytest.approx(scipy_stats.pearsonr(values, rates).statistic)
    assert people.spearman.r == pytest.approx(scipy_stats.spearmanr(values, rates).statistic)
    assert (people.n, people.raters) == (5, 10)
    assert [row.rate for row in found.rows] == pytest.approx(rates)
    assert found.noise_ceiling.between == []


def test_several_populations_are_pooled_rater_by_rater(write):
    found = human_agreement(scored([0.4, 0.1, 0.2, -0.2, -0.3]), write(TWO), 0)
    assert list(found.populations) == ["amt", "regional", "pooled"]
    assert found.rows[0].rates == {"amt": 0.9, "regional": 0.7}
    assert found.rows[0].rate == pytest.approx(97 / 110)
    (pair,) = found.noise_ceiling.between
    expected = scipy_stats.pearsonr([0.9, 0.8, 0.3, 0.25, 0.01], [0.7, 0.9, 0.2, 0.3, 0])
    assert pair.pair == ("amt", "regional")
    assert pair.pearson.r == pytest.approx(expected.statistic)
    assert list(found.noise_ceiling.sampling) == ["amt", "regional", "pooled"]


def test_residuals_are_studentised_and_positive_where_the_model_is_kinder(write):
    values = np.array([0.4, 0.1, 0.2, -0.2, -0.3])
    found = human_agreement(scored(values), write(ONE), 0)
    rates = np.array([0.9, 0.8, 0.3, 0.2, 0])
    design = np.column_stack([np.ones(5), rates])
    hat = design @ np.linalg.inv(design.T @ design) @ design.T
    errors = values - hat @ values
    expected = errors / np.sqrt(errors @ errors / 3 * (1 - np.diag(hat)))
    assert [row.residual for row in found.rows] == pytest.approx(expected)
    assert [row.residuals["people"] for row in found.rows] == pytest.approx(expected)
    kind = human_agreement(scored([0.4, 0.3, 0.9, -0.2, -0.3]), write(ONE), 0)
    assert max(kind.rows, key=lambda row: row.residual).action == "lie"


def test_actions_on_one_side_only_are_listed(write):
    results = scored([0.4, 0.2, 0.1, -0.3], ["help", "smile", "kill", "dance"])
    found = human_agreement(results, write(ONE), 0)
    assert found.unscored == ["lie", "steal"]
    assert found.unrated == ["dance"]
    assert [row.action for row in found.rows] == ["help", "smile", "kill"]


def test_nothing_in_common_is_an_error(write):
    with pytest.raises(InputError, match=r"none of the 5 actions of .* was scored"):
        human_agreement(scored([0.1], ["dance"]), write(ONE), 0)


def test_two_actions_in_common_have_no_r_and_say_so(write):
    found = human_agreement(scored([0.1, 0.2], ["help", "kill"]), write(ONE), 0)
    assert np.isnan(found.populations["people"].pearson.r)
    assert found.noise_ceiling is None
    assert "too few" in found.warnings[0]
    assert to_plain(found)["rows"][0]["residual"] is None


def test_an_action_scored_twice_counts_once(write):
    results = [*scored([0.4, 0.1, 0.2, -0.2, -0.3]), *scored([0.4, 0.9], ["help", "kill"])]
    found = human_agreement(results, write(ONE), 0)
    assert len(found.rows) == 5
    assert found.rows[-1].score == -0.3
    assert found.warnings == [
        "'kill' was scored twice with different paraphrases: the first score was used"
    ]


def test_identical_lines_are_merged_with_a_warning(write):
    rated = read_ratings(write(ONE + "help,9,1\n"))
    assert len(rated.counts) == 5
    assert "repeats 1 actions with the same counts (first: line 7)" in rated.warnings[0]
    found = human_agreement(scored([0.4, 0.1, 0.2, -0.2, -0.3]), rated)
    assert found.warnings == list(rated.warnings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("action,yes,no\n", "holds no rated actions"),
        ("name,yes,no\nhelp,1,2\n", r"line 1 has no column 'action' \(columns: name, yes, no\)"),
        ("action,rate\nhelp,0.9\n", "line 1 has no columns 'yes' and 'no'"),
        ("action,amt_yes\nhelp,9\n", "line 1 has a column 'amt_yes' but no 'amt_no'"),
        ("action,no\nhelp,9\n", "line 1 has a column 'no' but no 'yes'"),
        ("action,yes,no,yes\nhelp,9,1,9\n", "line 1 names a column twice \\('yes'\\)"),
        ("action,pooled_yes,pooled_no\nhelp,9,1\n", "line 1 has a population 'pooled'"),
        ("action,yes,no\nhelp,9,1\nlie,0,0\n", r"line 3 has no raters \(yes \+ no is 0\)"),
        ("action,yes,no\nhelp,-9,1\n", "line 2 has yes = '-9'"),
        ("action,yes,no\nhelp,9.5,1\n", "line 2 has yes = '9.5'"),
        ("action,yes,no\nhelp,nan,1\n", "line 2 has yes = 'nan'"),
        ("action,yes,no\nhelp,9,\n", "line 2 has no no; give a whole number"),
        ("action,yes,no\nhelp,٣,1\n", "line 2 has yes = '٣'"),
        ("action,yes,no\nhelp,99999999999999999999,1\n", "line 2 has yes = '9999"),
        ("action,yes,no\nhelp,9\n", "line 2 has 2 cells, the header 3"),
        ("action,yes,no\n,9,1\n", "line 2 has no action"),
        ("action,yes,no\nhelp,9,1\nlie,1,9\nhelp,1,9\n", "lines 2 and 4 give 'help' different"),
        (b"action,yes,no\nhelp,9,1\nl\xffe,1,9\n", r"line 3 is not valid UTF-8 \(byte 0xff at 2\)"),
        ('action,yes,no\n"help,9,1\n', "isn't valid CSV: a quote is never closed"),
    ],
)
def test_bad_files_are_refused_with_their_line(write, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read_ratings(write(text))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_ratings(tmp_path / "none.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read_ratings(tmp_path)


def test_columns_may_stand_in_any_order_with_others_between(write):
    text = '\ufeffNo , source,ACTION,Yes\r\n1,web,help,9\r\n\r\n7,web," lie, badly",3\r\n'
    rated = read_ratings(write(text))
    assert rated.counts == {"help": {"people": (9, 1)}, "lie, badly": {"people": (3, 7)}}


def test_the_ceiling_is_what_a_perfect_score_reaches():
    """Truth is known here: the ceiling from one survey must foretell r in many others."""
    rng = np.random.default_rng(3)
    truth, raters = rng.beta(0.8, 0.8, 60), np.full(60, 8)
    reached = [
        scipy_stats.pearsonr(truth, rng.binomial(raters, truth) / raters).statistic
        for _ in range(200)
    ]
    foretold = [
        sampling_ceiling(np.column_stack([rng.binomial(raters, truth), raters]), seed).expected
        for seed in range(40)
    ]
    assert np.mean(foretold) == pytest.approx(np.mean(reached), abs=0.01)


def test_more_raters_raise_the_ceiling():
    rates = np.linspace(0.2, 0.8, 20)
    few, many = (
        sampling_ceiling(np.column_stack([np.round(rates * n), np.full(20, n)])) for n in (20, 500)
    )
    assert few.low < few.expected < few.high < many.low


def test_one_rater_each_leaves_the_ceiling_unknown():
    assert sampling_ceiling(np.array([[1, 1], [0, 1], [1, 1], [0, 1]], dtype=float)) is None


def test_rates_that_are_all_noise_have_no_ceiling_to_speak_of():
    noise = np.random.default_rng(0).binomial(4, 0.5, 400)
    assert sampling_ceiling(np.column_stack([noise, np.full(400, 4)])).expected < 0.5


def test_the_seed_decides_everything_random(write):
    path, results = write(TWO), scored([0.4, 0.1, 0.2, -0.2, -0.3])
    assert human_agreement(results, path, 1) == human_agreement(results, path, 1)
    first, second = (human_agreement(results, path, seed) for seed in (1, 2))
    assert first.noise_ceiling.sampling["amt"] != second.noise_ceiling.sampling["amt"]


def test_ratings_from_a_program_are_taken_as_they_are():
    rated = Ratings("mine", ("people",), {name: {"people": (3, 2)} for name in ACTIONS})
    found = human_agreement(scored([1.0, 2, 3, 4, 5]), rated)
    assert np.isnan(found.populations["people"].pearson.r)
    assert np.isnan(found.rows[0].residual)


@pytest.mark.realdata
def test_the_published_ratings_with_minilm(minilm):
    if "MORALSCOPE_DATA" not in os.environ:
        pytest.skip("MORALSCOPE_DATA is not set: the human ratings are not here")
    from moralscope.axes.build import LocalModels, build_axis
    from moralscope.axes.options import AxisOptions

    rated = read_ratings(Path(os.environ["MORALSCOPE_DATA"]) / "human/yes_no_visible_half.csv")
    results = build_axis(AxisOptions(axis="choice"), LocalModels(minilm)).score(list(rated.counts))
    found = human_agreement(results, rated)
    assert [agreement.n for agreement in found.populations.values()] == [56, 56, 56]
    assert found.populations["amt"].pearson.r == pytest.approx(0.352, abs=0.01)
    (pair,) = found.noise_ceiling.between
    assert pair.pearson.r == pytest.approx(0.966, abs=0.001)
    assert 0.97 < found.noise_ceiling.sampling["regional"].expected < 0.995
    assert found.unscored == found.unrated == []
