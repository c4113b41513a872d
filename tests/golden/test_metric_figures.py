"""Metric cases as data (`metric_cases.toml`), and a figure of the paper that needs no model."""

import tomllib
from pathlib import Path

import pytest

from moralscope.models.store import data_file
from moralscope.stats.agreement import krippendorff_alpha
from moralscope.stats.text import bleu, distinct, rouge
from moralscope.stats.text.sums import perplexity_sums
from moralscope.stories.paper import load_generation_paper

CASES = tomllib.loads(Path(__file__).with_name("metric_cases.toml").read_text("utf-8"))


def cases(metric):
    return [pytest.param(case, id=case["name"]) for case in CASES[metric]]


def near(case):
    return pytest.approx(case["value"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases("bleu"))
def test_bleu(case):
    assert bleu(case["texts"], case["references"]) == near(case)


@pytest.mark.parametrize("case", cases("rouge"))
def test_rouge(case):
    found = rouge([case["text"]], [case["references"]], kind=case["kind"], stem=case["stem"])
    assert found == [near(case)]


@pytest.mark.parametrize("case", cases("distinct"))
def test_distinct(case):
    assert distinct(case["texts"], pooled=case["pooled"]) == near(case)


@pytest.mark.parametrize("case", cases("perplexity"))
def test_perplexity(case):
    totals = [(sum(values), len(values)) for values in case["log_probabilities"]]
    assert perplexity_sums(totals).value == near(case)


@pytest.mark.parametrize("case", cases("alpha"))
def test_krippendorffs_alpha(case):
    numbers = case["level"] != "nominal"
    ratings = [
        [None if value == "." else float(value) if numbers else value for value in row]
        for row in case["ratings"]
    ]
    assert krippendorff_alpha(ratings, case["level"]) == near(case)


@pytest.mark.realdata
def test_the_reference_norms_are_as_diverse_as_the_paper_says():
    from moralscope.stories.reading import load_stories

    if data_file("moral_stories/stories.jsonl") is None:
        pytest.skip("Moral Stories is not below MORALSCOPE_DATA")
    stories = load_stories(None).stories
    norms = [story.norm for story in stories if story.official("action", "norm_distance") == "test"]
    assert len(norms) == 1000
    printed = load_generation_paper().reference_diversity
    assert distinct(norms) == pytest.approx(printed, abs=0.005)
    # The other reading of footnote 13 does not give the printed figure.
    assert distinct(norms, pooled=True) < printed - 0.03
