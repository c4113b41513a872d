"""What was graded for moralscope: well formed, and nothing of it was rated or printed elsewhere."""

import tomllib
from collections import Counter
from importlib import resources
from pathlib import Path

import pytest

from moralscope.io.documents import shipped_yaml
from moralscope.stories.degree_examples import (
    EXCEPTIONS,
    _written_degrees,
    exception_sets,
    graded,
    ranked_pairs,
)

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
    ranked = [row for row in train + dev if row.other]
    assert all(row.pair != row.other for row in ranked)
    choices = shipped_yaml("moralscope.stories", "choices.yaml")
    pairs = [pair for _, rows in exception_sets() for pair in ranked_pairs(rows)]
    assert len(ranked) == len(choices) + len(pairs)
    assert not {row.pair for row in train} & {row.pair for row in dev}


def test_sets_of_exceptions_are_small_graded_and_without_repeats():
    sets = exception_sets()
    scenes = [row for _, rows in sets for row in rows]
    texts = [plain(text) for text, _ in scenes]
    assert len(set(texts)) == len(texts)
    assert all(2 <= len(rows) <= 4 and ranked_pairs(rows) for _, rows in sets)
    assert all(-5 <= grade <= 5 and grade * 2 % 1 == 0 for _, grade in scenes)
    assert all(8 <= len(text.split()) <= 120 for text, _ in scenes)
    openings = Counter(" ".join(rows[0][0].split()[:3]) for _, rows in sets)
    assert max(openings.values()) <= len(sets) / 50


def test_a_set_of_exceptions_is_in_one_part_and_every_kind_in_both():
    parts = {part: _written_degrees(part) for part in ("train", "dev")}
    texts = {
        part: {row.pair[1] for row in rows if row.group == EXCEPTIONS}
        for part, rows in parts.items()
    }
    kinds = dict.fromkeys(texts, frozenset[str]())
    for kind, rows in exception_sets():
        scenes = {text for text, _ in rows}
        homes = [part for part, taught in texts.items() if scenes & taught]
        assert len(homes) == 1
        assert scenes <= texts[homes[0]]
        kinds[homes[0]] |= {kind}
    assert kinds["train"] == kinds["dev"]


def test_of_ranked_scenes_the_better_comes_first():
    rows = [("asked", 1.0), ("not asked", -2.0), ("forgot to ask", -1.0)]
    assert ranked_pairs(rows) == [("asked", "not asked"), ("asked", "forgot to ask")]
