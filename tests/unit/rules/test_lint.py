"""Lint finds what a careful reader would, and nothing in our own rulebook."""

import numpy as np
import pytest

from moralscope.rules.rulebook import parse_rulebook, shipped_rulebook
from moralscope.rules.rulebooks.show import lint


def kinds(text, encoder=None):
    found = lint(parse_rulebook(text, "house.txt"), encoder)
    return [(each.kind, each.score) for each in found]


def test_duplicates_in_other_words_of_the_judgment():
    assert kinds("It's wrong to cheat on your partner.\nCheating on your partner is wrong.\n") == [
        ("duplicate", 1.0)
    ]


def test_contradictions():
    assert kinds("You should tip the waiter.\nYou shouldn't tip waiters.\n")[0][0] == (
        "contradiction"
    )


def test_rules_that_only_look_alike_pass():
    assert (
        kinds("It's okay not to want children.\nIt's wrong to walk out on your children.\n") == []
    )


def test_vague_rules():
    assert [kind for kind, _ in kinds("You should do good things.\nRefunds take ten days.\n")] == [
        "vague",
        "vague",
    ]


def test_meaning_is_compared_where_an_encoder_is_given():
    class Pair:
        arithmetic = "float32"
        name, checksum, dimension = "pair", "", 2

        def encode(self, texts):
            return np.ones((len(texts), 2), dtype=np.float32)

    text = "You should phone your mum weekly.\nIt's wrong to call mothers often.\n"
    assert kinds(text) == []
    assert kinds(text, Pair())[0][0] == "contradiction"


def test_a_missing_foundation_is_told():
    rows = "".join(
        f"It's wrong to steal {n} red bikes from shed number {n}.,care\n" for n in range(40)
    )
    found = lint(parse_rulebook("text,foundations\n" + rows, "house.csv"))
    unbalanced = [each.message for each in found if each.kind == "imbalance"]
    assert len(unbalanced) == 5
    assert unbalanced[0] == "0 of 40 rules are about fairness"


def test_our_rulebook_is_clean_by_words():
    assert lint(shipped_rulebook()) == []


@pytest.mark.slow
def test_our_rulebook_is_clean_by_meaning(remembering_minilm, mpnet):
    assert lint(shipped_rulebook(), remembering_minilm) == []
    assert lint(shipped_rulebook(), mpnet) == []
