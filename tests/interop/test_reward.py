"""The reward for TRL: its shapes, and steps of GRPO on smollm2 with it."""

import json
import math

import pytest

import moralscope
from moralscope.core.errors import InputError, UnknownName
from moralscope.interop.replies import reply_auditor

from .conftest import BAD, GOOD, PROMPT, example


def test_a_reward_is_one_number_a_completion():
    found = moralscope.reward([PROMPT] * 2, [BAD, GOOD], experts="scripted", completion_ids=[[1]])
    assert len(found) == 2
    assert all(-1 <= each <= 1 for each in found)


def test_chats_get_the_reward_of_their_texts():
    chat = [[{"role": "system", "content": "x"}, {"role": "user", "content": PROMPT}]]
    said = [[{"role": "assistant", "content": BAD}]]
    plain = moralscope.reward([PROMPT], [BAD], experts="scripted")
    assert moralscope.reward(chat, said, experts="scripted") == plain


def test_nothing_said_gets_nothing():
    assert moralscope.reward([PROMPT, PROMPT], ["", " \n"], experts="scripted") == [0.0, 0.0]


def test_equal_completions_are_audited_once(monkeypatch):
    from moralscope.rules import audit as auditing

    asked, audit = [], auditing.audit

    def counted(exchanges, *given, **named):
        asked.extend(exchanges)
        return audit(exchanges, *given, **named)

    monkeypatch.setattr(auditing, "audit", counted)
    reply_auditor.cache_clear()
    for _ in range(2):
        found = moralscope.reward([PROMPT] * 3, [BAD] * 3, experts="scripted")
        assert len(set(found)) == 1
    reply_auditor.cache_clear()
    assert len(asked) == 1


def test_one_completion_that_is_too_long_does_not_spoil_the_others():
    from moralscope.interop.replies import reply_judge
    from moralscope.io.actions import MAX_CHARACTERS

    said = ["I help.", "x" * (MAX_CHARACTERS + 1), "I rob."]
    found = reply_judge("scripted")([("", each) for each in said])
    assert [math.isnan(each) for each in found] == [False, True, False]


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"by": "vibes"}, UnknownName, "known: audit, judge"),
        ({"rulebook": "nowhere.yaml"}, InputError, "cannot be read"),
        ({"experts": "gpt"}, UnknownName, "gpt"),
    ],
)
def test_a_reward_that_cannot_be_is_told(given, error, told):
    with pytest.raises(error, match=told):
        moralscope.reward([PROMPT], [BAD], **given)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["audit", "judge"])
def test_a_good_reply_gets_more_than_a_bad_one(by, rules):
    good, bad = moralscope.reward([PROMPT] * 2, [GOOD, BAD], by=by, rulebook=str(rules))
    assert good > bad


@pytest.mark.slow
def test_trl_trains_smollm2_with_the_reward(tool, smollm2, tmp_path):
    """Two steps of the page's own example. Whether more of them raise the reward is not shown."""
    script = example("interop-trl.md", "py").replace("max_steps=40", "max_steps=2")
    (tmp_path / "grpo.py").write_text(f"{script}import json\nprint(json.dumps(rewards))\n")
    done = tool("trl").run("python", "grpo.py", smollm2, cwd=tmp_path, seconds=900)
    assert done.returncode == 0, done.stderr
    rewards = json.loads(done.stdout.splitlines()[-1])
    assert len(rewards) == 2
    assert all(-1 <= each <= 1 for each in rewards)
    assert len(set(rewards)) == 2
