"""Agreement coefficients have the published values, and those of packages made for them."""

import json
import tomllib
from pathlib import Path

import pytest

from moralscope.stats.agreement import (
    LEVELS,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
)
from moralscope.stats.intraclass import intraclass_forms

CASES = tomllib.loads(Path(__file__).with_name("agreement_cases.toml").read_text("utf-8"))
# Written by bench/agreement.py --against, with the packages' versions.
OTHERS = json.loads(Path(__file__).with_name("agreement_others.json").read_text("utf-8"))


def cases(kind):
    return [pytest.param(case, id=case["name"]) for case in CASES[kind]]


def raters_by_units(counts):
    """Turn counts of labels, unit by unit, into ratings: who gave which does not matter."""
    units = [
        [str(label) for label, n in enumerate(map(int, row)) for _ in range(n)] for row in counts
    ]
    return [list(rater) for rater in zip(*units, strict=True)]


@pytest.mark.parametrize("case", cases("alpha"))
def test_krippendorff_2011(case):
    ratings = [[None if value == "." else float(value) for value in row] for row in case["ratings"]]
    found = krippendorff_alpha(ratings, case["level"])
    assert found == pytest.approx(case["value"], abs=case["tolerance"])


def test_shrout_and_fleiss_1979():
    found = intraclass_forms(CASES["icc"]["judges"])
    assert [row.form for row in found] == [row["form"] for row in CASES["icc"]["forms"]]
    for row, printed in zip(found, CASES["icc"]["forms"], strict=True):
        for key in ("value", "low", "high", "f", "df1", "df2"):
            assert getattr(row, key) == pytest.approx(printed[key], abs=CASES["icc"]["tolerance"])


def test_fleiss_1971():
    case = CASES["fleiss"]
    ratings = raters_by_units(case["counts"])
    assert (len(ratings), len(ratings[0])) == (6, 30)
    near = pytest.approx(case["value"], abs=case["tolerance"])
    assert fleiss_kappa(ratings, resamples=0).value == near
    share = percent_agreement(ratings, resamples=0).value
    assert share == pytest.approx(case["percent"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases("cohen"))
def test_cohens_kappa(case):
    pairs = [
        (first, second)
        for first, row in enumerate(case["counts"])
        for second, n in enumerate(row)
        for _ in range(n)
    ]
    found = cohen_kappa([list(side) for side in zip(*pairs, strict=True)], case["weights"])
    assert found.value == pytest.approx(case["value"], abs=case["tolerance"])


@pytest.mark.parametrize("case", OTHERS["cases"], ids=lambda case: f"{len(case['ratings'])} raters")
def test_alpha_is_that_of_the_krippendorff_package(case):
    for level in LEVELS:
        found = krippendorff_alpha(case["ratings"], level)
        assert found == pytest.approx(case["alpha"][level], abs=1e-6)


@pytest.mark.parametrize("case", OTHERS["cases"], ids=lambda case: f"{len(case['ratings'])} raters")
def test_the_icc_is_that_of_pingouin(case):
    units = [unit for unit in zip(*case["ratings"], strict=True) if None not in unit]
    found = intraclass_forms([list(row) for row in zip(*units, strict=True)])
    for row, theirs in zip(found, case["icc"], strict=True):
        for key, value in theirs.items():
            assert getattr(row, key) == pytest.approx(value, abs=1e-6)
