"""What was graded for moralscope: well formed, and nothing of it was rated or printed elsewhere."""

import tomllib
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from moralscope.io.documents import shipped_yaml
from moralscope.stories.degree_examples import _written_degrees, graded

PLAIN = Path(__file__).parents[3] / "bench" / "plain_actions.txt"


def plain(text):
    return " ".join("".join(c for c in text.lower() if c.isalpha() or c == " ").split())


def strings(value):
    if isinstance(value, str):
        return {plain(value)}
    inner = [*value, *value.values()] if isinstance(value, dict) else value
    return set().union(*map(strings, inner)) if isinstance(inner, list | tuple) else set()


@pytest.mark.parametrize("name", ["degrees", "scenes", "short_actions"])
def test_grades_are_of_the_scale_and_no_text_has_two(name):
    rows = graded(name)
    grades = {grade for _, grade in rows}
    assert {-5, -3, 1} <= grades
    assert max(grades) >= 4
    assert all(-5 <= grade <= 5 for grade in grades)
    twice = [text for text, count in Counter(plain(text) for text, _ in rows).items() if count > 1]
    assert twice == []


def test_what_is_measured_trains_nothing():
    measured = {plain(line.split("\t")[1]) for line in PLAIN.read_text("utf-8").splitlines()}
    for package, file in (("axes.direction", "paper.toml"), ("words", "paper.toml")):
        text = (resources.files(f"moralscope.{package}") / "data" / file).read_text("utf-8")
        measured |= strings(tomllib.loads(text))
    for name in ("degrees", "short_actions"):
        assert not measured & {plain(text) for text, _ in graded(name)}


def test_of_a_choice_the_better_comes_first_and_no_text_is_in_both_parts():
    train, dev = _written_degrees("train"), _written_degrees("dev")
    ranked = [row for row in train if row.other]
    assert all(row.pair != row.other for row in ranked)
    choices = shipped_yaml("moralscope.stories", "choices.yaml")
    assert len(ranked) + sum(row.other is not None for row in dev) == len(choices)
    assert not {row.pair for row in train} & {row.pair for row in dev}
