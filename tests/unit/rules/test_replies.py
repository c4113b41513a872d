"""Exchanges from wordings: every slot is filled, and the stance follows from the tables."""

import random
import re

import pytest

from moralscope.rules.training.replies import (
    AGAINST,
    FOR,
    NEITHER,
    draw_exchange,
    draw_neither,
    plain_exchange,
    spoken,
    wordings,
)
from moralscope.stories.norms.first_person import OwnAct

LIE = OwnAct("lie to my boss", "lied to my boss", "lying to my boss")
PAY = OwnAct("pay my debts", "paid my debts", "paying my debts")


def all_lines(table):
    if isinstance(table, dict):
        for value in table.values():
            yield from all_lines(value)
    else:
        yield from table


def test_every_wording_can_be_filled_and_none_comes_twice_in_its_list():
    forms = spoken(LIE, PAY)
    for line in all_lines(wordings()):
        assert "{" not in line.format(**forms)
    for kind in wordings()["short"].values():
        assert not set(kind["for"]) & set(kind["against"])


def test_the_same_seed_draws_the_same():
    one, other = (draw_exchange(LIE, random.Random(4), "I'm late.", PAY) for _ in range(2))
    assert one == other


def drawn(many=400):
    rng = random.Random(0)
    return [draw_exchange(LIE, rng, "I am late.", PAY) for _ in range(many)]


def test_stances_are_balanced_and_wordings_vary():
    found = drawn()
    share = sum(told.stance == FOR for told in found) / len(found)
    assert 0.4 < share < 0.6
    assert len({told.exchange for told in found}) > 350
    assert {told.stance for told in found} == {FOR, AGAINST}


def test_the_act_is_always_named():
    for told in drawn():
        text = f"{told.exchange.prompt} {told.exchange.reply}"
        assert re.search(r"\b(lie|lied|lying|pay|paid|paying)\b", text, re.I), text


def test_a_yes_alone_tells_no_stance():
    yes = {told.stance for told in drawn(3000) if told.exchange.reply.startswith("Yes")}
    assert yes == {FOR, AGAINST}


def test_only_leaving_undone_is_a_refusal():
    assert all(told.stance == AGAINST for told in drawn() if told.refuses)


def test_a_reply_without_a_stance():
    rng = random.Random(1)
    assert {draw_neither(LIE, rng).stance for _ in range(20)} == {NEITHER}


@pytest.mark.parametrize(
    ("variant", "reply"), [(0, "I would pay my debts."), (1, "I paid my debts.")]
)
def test_the_plain_exchange_says_what_is_done(variant, reply):
    assert plain_exchange(PAY, "I have debts.", variant).exchange.reply == reply
