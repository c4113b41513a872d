"""Leanings are named only where enough people have them, and differences are tested."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moralscope.annotation.disagreement import group_splits, significant
from moralscope.annotation.groups import (
    OTHERS,
    Annotator,
    foundation_weights,
    group_agreement,
    item_groups,
    large_groups,
    leaning_shares,
)
from moralscope.annotation.judgments import PersonJudgment, by_field
from moralscope.core.errors import InputError

LEANINGS = {f"p{n}": ("left", "right", "middle", None)[n % 4] for n in range(40)}


def judged(answer, leanings=LEANINGS, items=6, level="ordinal"):
    rows = [
        PersonJudgment(f"i{item}", who, "severity", answer(item, leaning, n))
        for item in range(items)
        for n, (who, leaning) in enumerate(leanings.items())
    ]
    return by_field([row for row in rows if row.value is not None], {"severity": level})[0]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=7), st.integers(3, 8))
def test_no_group_and_no_rest_is_too_small(sizes, smallest):
    names = {f"g{n}": size for n, size in enumerate(sizes)}
    told = {f"{name}-{n}": name for name, size in names.items() for n in range(size)}
    found = large_groups(told, smallest)
    assert sorted(who for people in found.values() for who in people) == sorted(told)
    named = [people for name, people in found.items() if name != OTHERS]
    assert all(len(people) >= smallest for people in named)
    if named and OTHERS in found:
        assert len(found[OTHERS]) >= smallest


def test_fewer_than_three_is_never_allowed():
    with pytest.raises(InputError, match="3 people or more"):
        large_groups({}, 2)


def test_figure_3_counts_people_and_annotations():
    written = {who: 3 if leaning == "left" else 1 for who, leaning in LEANINGS.items()}
    found = {row.leaning: row for row in leaning_shares(LEANINGS, written)}
    assert set(found) == {"left", "right", "middle", "not said"}
    assert found["left"].share.value == 0.25
    assert found["left"].annotation_share == pytest.approx(30 / 60)


def test_figure_4_is_the_mean_weight_of_those_who_answered():
    people = [
        Annotator(who, leaning, {"care": 5.0 if leaning == "left" else 3.0} if n % 8 < 6 else None)
        for n, (who, leaning) in enumerate(LEANINGS.items())
    ]
    found = {row.leaning: row for row in foundation_weights(people)}
    assert (found["left"].mean, found["right"].mean) == (5.0, 3.0)
    assert found["left"].people == 10
    assert found["middle"].people == 5
    assert "middle" not in {row.leaning for row in foundation_weights(people, 6)}


def test_a_group_that_answers_otherwise_is_found_and_nobody_else():
    noise = np.random.default_rng(0)

    def answer(item, leaning, n):
        return int(noise.integers(2, 4)) + (2 if item == 4 and leaning == "left" else 0)

    fields = judged(answer)
    found = significant(group_splits(fields, LEANINGS))
    assert {(row.item, row.first, row.second) for row in found} == {
        ("i4", "left", "middle"),
        ("i4", "left", "right"),
    }
    assert all(row.difference > 1 and row.first_people == 10 for row in found)
    overall = significant(group_splits(fields, LEANINGS, whole=True))
    assert {row.item for row in overall} <= {""}


def test_labels_are_compared_by_the_share_who_chose_them():
    fields = judged(lambda item, leaning, n: "a" if leaning == "left" else "b", level="nominal")
    row = next(
        r for r in group_splits(fields, LEANINGS) if {r.first, r.second} == {"left", "right"}
    )
    assert (row.value, row.first_mean, row.second_mean) == ("b", 0.0, 1.0)


def test_an_item_that_few_of_a_group_answered_names_no_group():
    # All of the left, all of the middle and one of the right: the one could be worked out.
    def answer(item, leaning, n):
        if item or leaning in ("left", "middle") or n == 1:
            return 3 + n % 2
        return None

    fields = judged(answer)
    named = item_groups(fields[0], LEANINGS)
    assert set(named["i1"]) == {"left", "right", "middle", "not said"}
    assert set(named["i0"]) == {"middle"} or set(named["i0"]) == {"left"}
    first = {row.item for row in group_splits(fields, LEANINGS)}
    assert "i0" not in first


def test_three_people_an_item_are_never_told_apart():
    fields = judged(lambda item, leaning, n: 1 + n % 5 if n // 3 == item else None, items=13)
    assert item_groups(fields[0], LEANINGS) == {}
    assert group_splits(fields, LEANINGS) == []
    assert {row.leaning for row in group_agreement(fields[0], LEANINGS)} >= {"left", "right"}


def test_agreement_within_a_group_is_of_its_people_alone():
    fields = judged(lambda item, leaning, n: 1 + item % 5 if leaning == "left" else 1 + n % 5)
    found = {row.leaning: row for row in group_agreement(fields[0], LEANINGS)}
    assert found["left"].alpha.value == pytest.approx(1.0)
    assert found["right"].alpha.value < 0.1
    assert sum(found["left"].counts.values()) == 60


def test_pairs_of_leanings_are_paid_for():
    fields = judged(lambda item, leaning, n: 1 + (n * 7 + item) % 5)
    rows = group_splits(fields, LEANINGS)
    assert len({(row.first, row.second) for row in rows}) == len(list(combinations(range(3), 2)))
    assert all(row.corrected >= row.p for row in rows)
    assert significant(rows) == []
