"""The right coefficients for a field's level, and how far an item's answers lie apart."""

import itertools

import numpy as np
import pytest

from moralscope.annotation.disagreement import field_agreement, item_spreads, most_split
from moralscope.annotation.judgments import PersonJudgment, by_field
from moralscope.stats.agreement import krippendorff_alpha

rng = np.random.default_rng(8)


def ratings(values, level, people="pqrs"):
    """Turn a table items x people into the ratings of one field; None is not answered."""
    given = [
        PersonJudgment(f"i{item}", who, "field", value)
        for item, row in enumerate(values)
        for who, value in zip(people, row, strict=False)
        if value is not None
    ]
    return by_field(given, {"field": level})[0][0]


def test_labels_have_kappa_and_numbers_have_the_icc():
    scale = rng.integers(1, 6, (20, 4)).tolist()
    labels = field_agreement(ratings([[str(v) for v in row] for row in scale], "nominal"))
    numbers = field_agreement(ratings(scale, "ordinal"))
    assert (labels.fleiss is None, labels.icc, labels.cohen) == (False, (), None)
    assert (numbers.fleiss, len(numbers.icc)) == (None, 6)
    columns = [list(row) for row in zip(*scale, strict=True)]
    assert numbers.alpha.value == pytest.approx(krippendorff_alpha(columns, "ordinal"))
    assert (numbers.items, numbers.answers, numbers.people) == (20, 80, 4)


def test_two_people_have_cohens_kappa_weighted_on_a_scale():
    scale = [[1, 2], [2, 2], [5, 4], [4, 4], [3, 1]]
    plain = field_agreement(ratings([[str(v) for v in row] for row in scale], "nominal", "pq"))
    weighted = field_agreement(ratings(scale, "ordinal", "pq"))
    assert weighted.cohen.value > plain.cohen.value


@pytest.mark.parametrize(
    ("level", "distance"),
    [("nominal", lambda a, b: float(a != b)), ("interval", lambda a, b: abs(a - b) / 4)],
)
def test_apart_is_the_mean_distance_of_two_answers(level, distance):
    values = [[1, 5, 5, 2], [3, 3, 3, 3], [1, 2, None, None], [4, None, None, None]]
    found = [row.disagreement for row in item_spreads(ratings(values, level))]
    for row, apart in zip(values, found, strict=True):
        pairs = list(itertools.combinations([value for value in row if value is not None], 2))
        expected = np.mean([distance(a, b) for a, b in pairs]) if pairs else np.nan
        assert apart == pytest.approx(expected, nan_ok=True)


def test_the_most_split_items_come_first_and_agreed_ones_not_at_all():
    values = [["a", "a", "a"], ["a", "b", "c"], ["a", "a", "b"], ["a", None, None]]
    found = most_split(item_spreads(ratings(values, "nominal")))
    assert [row.item for row in found] == ["i1", "i2"]
    assert found[0].counts == {"a": 1, "b": 1, "c": 1}
    assert len(most_split(item_spreads(ratings(values, "nominal")), 1)) == 1


def test_one_answer_an_item_says_nothing():
    found = field_agreement(ratings([["a"], ["b"]], "nominal"))
    assert (found.items, np.isnan(found.alpha.value)) == (0, True)
