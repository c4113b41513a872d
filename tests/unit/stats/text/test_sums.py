"""Sums against the libraries they stand for; intervals and tests against what they promise."""

import random

import numpy as np
import pytest
import sacrebleu
from scipy.stats import permutation_test

from moralscope.stats.text.diversity import compare_distinct, distinct, measure_distinct
from moralscope.stats.text.overlap import bleu, bleu_signature, bleu_sums, rouge_table
from moralscope.stats.text.sums import Sums, compare, mean_sums, measure

TEXT = "jo sam pays waits for the bill line friend takes what she owes and runs away"
WORDS = TEXT.split()
rng = np.random.default_rng(3)


def sentences(count, seed):
    pick = random.Random(seed)
    return [" ".join(pick.choices(WORDS, k=pick.randint(1, 14))) + "." for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_bleu_from_sums_is_sacrebleus(seed):
    texts, references = sentences(12, seed), sentences(12, seed + 100)
    expected = sacrebleu.corpus_bleu(texts, [references]).score
    assert bleu(texts, [[text] for text in references]) == pytest.approx(expected, abs=1e-9)


def test_bleu_of_a_resample_is_sacrebleus_of_the_same_texts():
    texts, references = sentences(30, 1), sentences(30, 2)
    drawn = rng.integers(0, 30, 30)
    sums = bleu_sums(texts, [[text] for text in references])
    again = sacrebleu.corpus_bleu([texts[i] for i in drawn], [[references[i] for i in drawn]])
    assert float(sums.combine(sums.table[drawn].sum(axis=0))) == pytest.approx(again.score)


def test_bleu_with_several_references_is_sacrebleus():
    texts, first, second = sentences(9, 1), sentences(9, 2), sentences(9, 3)
    expected = sacrebleu.corpus_bleu(texts, [first, second])
    pairs = list(zip(first, second, strict=True))
    assert bleu(texts, pairs) == pytest.approx(expected.score, abs=1e-9)


def test_the_signature_is_sacrebleus():
    metric = sacrebleu.metrics.BLEU()
    metric.corpus_score(["a b"], [["a b"]])
    assert bleu_signature([["a b"]]) == str(metric.get_signature())


def test_remembered_stems_are_rouge_scores_own():
    from rouge_score import rouge_scorer

    texts, references = sentences(20, 4), sentences(20, 5)
    found = rouge_table(texts, [[text] for text in references])
    plain = rouge_scorer.RougeScorer(list(found), use_stemmer=True)
    for place, (text, reference) in enumerate(zip(texts, references, strict=True)):
        expected = plain.score(reference, text)
        for kind, values in found.items():
            assert values[place] == pytest.approx(100 * expected[kind].fmeasure)


def test_a_text_without_a_reference_is_refused():
    with pytest.raises(ValueError, match="one reference at least"):
        bleu(["a", "b"], [["a"], []])


def test_the_interval_of_a_mean_covers_as_often_as_it_says():
    covered = 0
    for run in range(300):
        found = measure(mean_sums(np.random.default_rng(run).normal(size=60)))
        covered += found.low <= 0 <= found.high
    assert 0.90 <= covered / 300 <= 0.98


def test_texts_of_one_story_are_drawn_together():
    values = np.repeat(rng.normal(size=100), 2)
    stories = [str(place) for place in np.repeat(np.arange(100), 2)]
    alone, together = measure(mean_sums(values)), measure(mean_sums(values), stories)
    ratio = (together.high - together.low) / (alone.high - alone.low)
    assert ratio == pytest.approx(np.sqrt(2), rel=0.1)
    assert together.value == alone.value


def test_p_is_the_sign_flip_permutation_test():
    first, second = rng.normal(0.4, 1, 12), rng.normal(0, 1, 12)
    found = compare(mean_sums(first), mean_sums(second))
    exact = permutation_test(
        (first, second), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=1e5
    )
    assert found.p == pytest.approx(exact.pvalue, abs=0.02)


def test_p_is_uniform_where_nothing_differs():
    found = []
    for run in range(200):
        a, b = np.random.default_rng(run).normal(size=(2, 40))
        found.append(compare(mean_sums(a), mean_sums(b), seed=run).p)
    assert 0.02 <= np.mean(np.asarray(found) < 0.05) <= 0.09


def test_two_systems_are_compared_by_corpus_bleu():
    references = sentences(60, 6)
    good = [text.replace("pays", "takes") for text in references]
    bad = sentences(60, 7)
    listed = [[text] for text in references]
    found = compare(bleu_sums(good, listed), bleu_sums(bad, listed))
    assert found.difference == pytest.approx(bleu(good, listed) - bleu(bad, listed))
    assert found.low > 0
    assert found.p < 0.001
    same = compare(bleu_sums(good, listed), bleu_sums(good, listed))
    assert (same.difference, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)


def test_other_items_cannot_be_compared():
    with pytest.raises(ValueError, match="same items"):
        compare(mean_sums([1.0]), mean_sums([1.0, 2.0]))


def test_one_story_has_no_interval():
    found = measure(mean_sums([0.2, 0.4]), ["a", "a"])
    assert found.value == pytest.approx(0.3)
    assert np.isnan([found.low, found.high]).all()


def test_nothing_measured_is_not_a_number():
    assert np.isnan(measure(Sums(np.zeros((0, 2)), mean_sums([]).combine)).value)


def test_the_jackknife_leaves_one_story_out_as_counting_afresh_does():
    texts = sentences(20, 8)
    stories = [str(place // 2) for place in range(20)]
    without = [distinct(texts[: 2 * k] + texts[2 * k + 2 :]) for k in range(10)]
    error = np.sqrt(9 / 10 * np.sum((np.asarray(without) - np.mean(without)) ** 2))
    found = measure_distinct(texts, stories)
    assert found.value == pytest.approx(distinct(texts))
    assert found.high - found.value == pytest.approx(2.262157 * error, rel=1e-6)  # t, 9


def test_diversity_is_compared_on_the_same_items():
    varied = [f"{a} {b} {c}" for a in WORDS[:6] for b in WORDS[6:9] for c in WORDS[9:11]]
    dull = ["it is good to be kind"] * len(varied)
    found = compare_distinct(varied, dull)
    assert found.difference == pytest.approx(distinct(varied) - distinct(dull))
    assert found.p < 0.001
    assert compare_distinct(dull, dull).p == 1.0


def test_no_texts_have_no_diversity():
    assert np.isnan(distinct([]))
    assert np.isnan(distinct(["..."]))
