"""Lessons of foundations and scales, and the baselines that need no model."""

import numpy as np
import pytest

from moralscope.rules.records import Annotation, Exchange
from moralscope.rules.training.attribute_examples import (
    foundation_baselines,
    foundation_examples,
    known_foundations,
    scale_examples,
)


def rule(text, **given):
    return Annotation(Exchange("q", "a"), text, **given)


def foundations(text, *names):
    return rule(text, foundations=names)


def test_flags_follow_the_labels_and_unlabelled_rules_are_left_out():
    rows = [foundations("a", "loyalty"), foundations("b"), rule("c")]
    found = foundation_examples(rows, ("care", "loyalty"))
    assert [(row.pair[1], row.values) for row in found] == [("a", (0.0, 1.0)), ("b", (0.0, 0.0))]
    assert known_foundations(rows) == ("loyalty",)


def test_rewordings_change_from_turn_to_turn():
    found = foundation_examples(
        [foundations("a", "care")], ("care",), lambda _: ["x", "y"], turns=2
    )
    assert [(row.pair[1], row.turn) for row in found[1:]] == [("x", (0, 2)), ("y", (1, 2))]


@pytest.mark.parametrize(("value", "told"), [(1.0, 3.0), (4.0, 4.0), (5.0, 5.0)])
def test_minority_consensus_is_put_together(value, told):
    assert scale_examples([rule("a", consensus=value)], "consensus")[0].values == (told,)
    assert scale_examples([rule("a", severity=value)], "severity")[0].values == (value,)


def test_baselines_by_hand():
    names = ("care", "loyalty")
    train = foundation_examples(
        [foundations("kind help", "care")] * 6 + [foundations("friend team", "loyalty")] * 5, names
    )
    test = foundation_examples(
        [foundations("help", "care"), foundations("team", "loyalty"), foundations("tea", "care")],
        names,
    )
    found = foundation_baselines(train, train, test)
    assert found.majority == pytest.approx((0.8 + 0.0) / 2)  # care always, loyalty never
    assert found.always == pytest.approx((0.8 + 0.5) / 2)
    assert found.keywords > found.always
    assert found.best == found.keywords
    assert np.isfinite(found.keywords)
