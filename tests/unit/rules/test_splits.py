"""Parts are 80-10-10, the same in any order, and no exchange stands in two of them."""

from collections import Counter
from dataclasses import replace

import pytest

from moralscope.core.errors import InputError
from moralscope.rules.annotations.reading import split_annotations
from moralscope.rules.records import Annotation, Exchange

ROWS = [
    Annotation(Exchange(f"prompt {n // 6}", f"reply {n // 3}"), f"rule {n}") for n in range(600)
]


def by_pair(rows, found):
    pairs = {}
    for row, part in zip(rows, found.parts, strict=True):
        pairs.setdefault(row.pair, set()).add(part)
    return pairs


def test_shares_and_no_exchange_in_two_parts():
    found = split_annotations(ROWS)
    assert Counter(found.parts) == {"train": 480, "dev": 60, "test": 60}
    assert all(len(parts) == 1 for parts in by_pair(ROWS, found).values())
    assert found.shared_prompts > 0  # two replies to one prompt may well be apart


def test_by_prompt_no_prompt_is_in_two_parts():
    found = split_annotations(ROWS, unit="prompt")
    assert found.shared_prompts == 0
    assert Counter(found.parts) == {"train": 480, "dev": 60, "test": 60}


def test_order_does_not_matter_and_the_seed_does():
    turned = ROWS[::-1]
    assert by_pair(ROWS, split_annotations(ROWS)) == by_pair(turned, split_annotations(turned))
    assert split_annotations(ROWS).parts != split_annotations(ROWS, seed=1).parts


def test_case_and_spaces_make_no_other_exchange():
    same = [
        replace(row, exchange=Exchange(row.exchange.prompt.upper(), f" {row.exchange.reply}  "))
        for row in ROWS
    ]
    assert split_annotations(ROWS + same).parts[:600] == split_annotations(ROWS + same).parts[600:]


def test_the_files_own_parts_come_first_and_a_leak_goes_to_the_held_out_part():
    rows = [
        Annotation(Exchange("a", "b"), "r1", split="train"),
        Annotation(Exchange("a", "b"), "r2", split="test"),
        Annotation(Exchange("c", "d"), "r3", split="dev"),
        Annotation(Exchange("e", "f"), "r4", split="analysis"),
    ]
    found = split_annotations(rows)
    assert found.parts == ("test", "test", "dev", None)
    assert (found.official, found.moved) == (True, 1)
    assert found.of(rows, "dev") == [rows[2]]
    assert not split_annotations(rows, official=False).official


def test_a_file_that_names_train_alone_is_shared_out_anew():
    rows = [replace(row, split="train") for row in ROWS]
    found = split_annotations(rows)
    assert not found.official
    assert Counter(found.parts)["test"] == 60


def test_too_few_exchanges_and_an_unknown_unit_are_refused():
    with pytest.raises(InputError, match="2 different exchanges"):
        split_annotations(ROWS[:6])
    with pytest.raises(InputError, match="no unit 'rule'"):
        split_annotations(ROWS, unit="rule")
