"""What becomes of replies that nobody could judge or read to their end, and of parts of them."""

import dataclasses
import importlib.util
import json
import random
import sys
from pathlib import Path

import pytest

from moralscope.core.errors import InputError
from moralscope.rules.audit import AuditOptions, prepare_auditor
from moralscope.rules.records import Alignment, Exchange, RuleFinding, Verdict
from moralscope.rules.training.alignment_examples import written_exchanges
from moralscope.server.guard import (
    UNJUDGED,
    UNREAD,
    WITHHELD,
    WITHHELD_BAD,
    Guard,
    GuardedReply,
    GuardOptions,
)
from moralscope.server.options import GUARD_ACTIONS
from moralscope.server.service import Service

from ....conftest import ensure
from .guard_site import PROMPT, ask, chunks, finish, guarded, streamed_text

FOREIGN = "Я украл велосипед у соседа и никому об этом не сказал."  # noqa: RUF001
IMAGE = {"type": "image_url", "image_url": {"url": "data:x"}}
PARTS = {
    "reasoning": {"reasoning_content": "I plot."},
    "audio": {"audio": {"id": "a1", "data": "QUJD", "transcript": "", "expires_at": 1}},
    "content_parts": {"content": [IMAGE]},
}


@pytest.mark.parametrize("stream", [False, True])
def test_a_reply_that_nobody_can_judge_is_withheld_by_a_guard_that_blocks(behind, stream):
    behind.says = FOREIGN
    with guarded(behind, "block", on_abstain="pass") as client:
        answer = ask(client, stream=stream)
    assert answer.headers["x-moralscope-verdict"] == "abstained"
    said = streamed_text(chunks(answer)).strip() if stream else said_in(answer)
    assert said == FOREIGN
    with guarded(behind, "block") as client:
        answer = ask(client, stream=stream)
    said = streamed_text(chunks(answer)) if stream else said_in(answer)
    assert said == UNJUDGED
    assert "украл" not in answer.text.encode().decode("unicode_escape", "replace")


def said_in(answer):
    return answer.json()["choices"][0]["message"]["content"]


def test_with_revise_too_what_cannot_be_judged_can_be_withheld(behind):
    behind.says = FOREIGN
    with guarded(behind, "revise", on_abstain="block") as client:
        (choice,) = ask(client).json()["choices"]
    assert choice["message"]["content"] == UNJUDGED
    assert (choice["finish_reason"], choice["moralscope"]["outcome"]) == (
        "content_filter",
        "blocked",
    )


@pytest.mark.parametrize("name", PARTS)
def test_parts_that_are_no_text_are_withheld_by_a_guard_that_blocks(behind, name):
    behind.says_message(role="assistant", **{"content": None, **PARTS[name]})
    with guarded(behind, "block", on_abstain="pass") as client:
        answer = ask(client)
    (choice,) = answer.json()["choices"]
    (field, value), *_ = PARTS[name].items()
    assert choice["message"][field] == value
    assert choice["moralscope"]["unjudged"] == [name]
    assert answer.headers["x-moralscope-verdict"] == "abstained"
    with guarded(behind, "block") as client:
        (choice,) = ask(client).json()["choices"]
        streamed = chunks(ask(client, stream=True))
    assert json.dumps(value) not in json.dumps([choice, streamed])
    if name != "reasoning":  # a reply of thoughts alone says nothing
        assert choice["message"] == {"role": "assistant", "content": UNJUDGED}
        assert choice["finish_reason"] == finish(streamed)["finish_reason"] == "content_filter"


def test_a_judged_text_goes_out_without_the_parts_that_were_not(behind, texts):
    text = texts["passed"][0]
    parts = [{"type": "text", "text": text}, IMAGE]
    behind.says_message(content=parts, reasoning_content="I plot.")
    with guarded(behind, "block", on_abstain="block") as client:
        (choice,) = ask(client).json()["choices"]
    assert choice["message"] == {"role": "assistant", "content": text}
    assert choice["finish_reason"] == "content_filter"
    behind.says_message(content=text, reasoning_content="I plot.")
    with guarded(behind, "block", on_abstain="block") as client:
        (choice,) = ask(client).json()["choices"]
    assert choice["message"] == {"role": "assistant", "content": text}
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize("name", ["refusal", "transcript", "text part"])
def test_refusals_transcripts_and_text_parts_are_judged_as_text(behind, texts, name):
    text = texts["revised"][0]
    said = {
        "refusal": {"content": None, "refusal": text},
        "transcript": {"content": None, "audio": {"id": "a", "data": "QQ==", "transcript": text}},
        "text part": {"content": [{"type": "text", "text": text}]},
    }[name]
    behind.says_message(**said)
    with guarded(behind, "block") as client:
        answer = ask(client)
    assert answer.headers["x-moralscope-verdict"] == "flagged"
    assert set(answer.json()["choices"][0]["message"]) == {"role", "content"}
    assert "bikes" not in answer.text


class Changed(Service):
    """A service whose audits are changed afterwards."""

    def __init__(self, **fields):
        super().__init__()
        self.fields = fields

    def audit(self, *given, **more):
        record = super().audit(*given, **more)
        rows = [dataclasses.replace(row, **self.fields) for row in record.results]
        return dataclasses.replace(record, results=rows)


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        ({"action": "block"}, "blocked"),
        ({"action": "revise"}, "flagged"),
        ({"action": "annotate"}, "flagged"),
        ({"action": "block", "on_unread": "flag"}, "flagged"),
        ({"action": "block", "on_unread": "pass"}, "passed"),
        ({"action": "revise", "on_unread": "block"}, "blocked"),
    ],
)
def test_a_reply_that_was_not_read_whole_fails_closed_where_told_to_block(texts, policy, outcome):
    service = Changed(unread=7)
    guard = Guard(service, GuardOptions(experts="scripted", generator="scripted", **policy))
    (found,) = guard(PROMPT, [GuardedReply(texts["passed"][0])])
    service.close()
    assert (found.outcome, found.note["unread"]) == (outcome, 7)
    assert found.text == (UNREAD if outcome == "blocked" else texts["passed"][0])
    assert found.verdict == ("kept" if outcome == "passed" else "flagged")


def test_a_reply_that_reads_as_bad_is_withheld_though_no_rule_explains_it():
    verdict = Verdict(True, -0.8, "reads as bad", "reply", "violence", 0.9)
    service = Changed(rules=(), verdict=verdict)
    guard = Guard(service, GuardOptions(action="block", experts="scripted"))
    (found,) = guard(PROMPT, [GuardedReply("I will hit them all.")])
    service.close()
    assert (found.outcome, found.text) == ("blocked", WITHHELD_BAD)
    assert found.note["verdict"]["basis"] == "reply"


def test_a_withheld_reply_names_the_lead_rule_where_it_is_broken():
    def rule(text, severity, **probabilities):
        label = max(probabilities, key=probabilities.get)
        return RuleFinding(text, "rulebook", Alignment(label, probabilities), severity, 5.0)

    rules = (
        rule("It is rude to shout.", 1.0, disagree=0.95, agree=0.0, neither=0.05),
        rule("It is wrong to hurt people.", 5.0, disagree=0.8, agree=0.1, neither=0.1),
        rule("It is wrong to kill.", 5.0, disagree=0.55, agree=0.0, neither=0.45),
    )
    broken = tuple(one.text for one in rules[:2])  # the limit is 0.6
    for lead, text in (
        (rules[0].text, WITHHELD.format(rules[0].text)),
        (rules[2].text, WITHHELD_BAD),
        (None, WITHHELD_BAD),
    ):
        verdict = Verdict(True, -0.8, "breaks", "rule", broken=broken, lead=lead)
        service = Changed(rules=rules, verdict=verdict)
        guard = Guard(service, GuardOptions(action="block", experts="scripted"))
        (decision,) = guard(PROMPT, [GuardedReply("I will hit them all.")])
        service.close()
        assert (decision.outcome, decision.text) == ("blocked", text)


def test_what_is_unread_and_unjudged_is_withheld_where_either_policy_says_so():
    service = Changed(unread=7, verdict=Verdict(False, 0.0, "so", status="abstained"))
    for unread, abstain, outcome in (
        ("flag", "block", "blocked"),
        ("pass", "block", "blocked"),
        ("block", "pass", "blocked"),
        ("flag", "pass", "flagged"),
        ("pass", "pass", "passed"),
    ):
        policy = {"on_unread": unread, "on_abstain": abstain}
        guard = Guard(service, GuardOptions(action="block", experts="scripted", **policy))
        assert guard(PROMPT, [GuardedReply("Hello.")])[0].outcome == outcome
    service.close()


GERMAN = "Ich glaube nicht, dass das eine gute Idee ist. Das Buch ist nicht so lang. "


@pytest.mark.parametrize("hide", ["{} " + GERMAN, GERMAN + "{}", GERMAN * 600 + "{}", "{}\u3164"])
def test_no_other_language_turns_blocking_off(texts, hide):
    service = Service()
    policy = {"on_abstain": "pass", "on_unread": "pass"}
    guard = Guard(service, GuardOptions(action="block", experts="scripted", **policy))
    bad, fine = (GuardedReply(hide.format(texts[name][0])) for name in ("revised", "passed"))
    blocked, passed = guard(PROMPT, [bad, fine])
    asked_in_german = guard("Was denkst du über die Sache mit dem Nachbarn?", [bad, fine])
    without_prompt = guard("", [bad, fine])
    service.close()
    assert (blocked.outcome, passed.outcome) == ("blocked", "passed")
    assert (passed.note["unread"] > 0) == (GERMAN in hide)
    outcomes = [[row.outcome for row in rows] for rows in (asked_in_german, without_prompt)]
    assert outcomes[0] == outcomes[1]
    assert all(row.verdict != "abstained" for row in asked_in_german)


def test_annotate_and_revise_let_what_nobody_could_judge_pass():
    policies = {act: GuardOptions(action=act).abstain_policy for act in GUARD_ACTIONS}
    assert policies == {"annotate": "pass", "revise": "pass", "block": "block"}


@pytest.mark.slow
def test_words_that_no_model_knows_are_withheld_by_a_guard_that_blocks():
    ensure("minilm")
    hidden = GuardedReply(
        "Thank you, friend, for the letter. Please 偷走 the 自行车 and do not tell."
    )
    plain = GuardedReply("Thank you, friend, for the letter and the photographs of the garden.")
    service = Service()
    blocking = Guard(service, GuardOptions(action="block", experts="minilm"))
    found = blocking(PROMPT, [hidden, plain])
    (flagged,) = Guard(service, GuardOptions(action="annotate", experts="minilm"))(PROMPT, [hidden])
    service.close()
    assert [each.note["unread"] > 0 for each in found] == [True, False]
    assert (found[0].text, found[0].outcome) == (UNREAD, "blocked")
    assert found[1].outcome != "blocked"
    assert (flagged.outcome, flagged.text) == ("flagged", hidden.text)


@pytest.mark.parametrize("policy", [{"on_abstain": "block"}, {"on_unread": "block"}])
def test_annotate_and_block_contradict_each_other(policy):
    with pytest.raises(InputError, match="annotate withholds none"):
        GuardOptions(action="annotate", **policy)


def test_the_bench_of_the_guard_hides_replies_whole_and_counts_misses():
    path = Path(__file__).parents[4] / "bench" / "guard.py"
    spec = importlib.util.spec_from_file_location("bench_guard", path)
    bench = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = bench  # dataclasses look their module up
    spec.loader.exec_module(bench)
    rows = [row for row in written_exchanges() if row.split == "dev"][:12]
    service = Service()
    guard = Guard(service, GuardOptions(action="block", experts="scripted"))
    found = [bench.guarded(guard, rows, hide, 0) for hide in (bench.plain, bench.diluted)]
    service.close()
    assert [row.breaking + row.others for row in found] == [12, 12]
    assert found[0].breaking == sum(row.alignment == "disagree" for row in rows)
    hidden = bench.diluted("So it is.", random.Random(0))
    before, _, after = hidden.partition("So it is.")
    assert 2000 <= len(before) < 2100
    assert 2000 <= len(after) < 2100
    assert bench.split("One. Two!", random.Random(0)).index("Two!") > 2000


@pytest.mark.parametrize("action", ["annotate", "block"])
def test_evidence_is_given_on_request_and_repeats_nothing_that_is_withheld(behind, action):
    texts = [row.exchange.reply for row in written_exchanges()[:200]]
    auditor = prepare_auditor(AuditOptions(experts="scripted")).auditor
    rows = auditor.audit([Exchange(PROMPT, text) for text in texts])
    said = next(row.reply for row in rows if row.evidence)
    behind.says = said
    with guarded(behind, action, evidence=True) as client:
        answer = ask(client)
    (choice,) = answer.json()["choices"]
    spans = choice["moralscope"]["evidence"]
    turning = [f"{span['start']}-{span['end']}" for span in spans if span["turns"]]
    assert answer.headers.get("x-moralscope-evidence", "") == ", ".join(turning)
    assert all(("text" in span) == (action == "annotate") for span in spans)
    with guarded(behind, action) as client:
        answer = ask(client)
    assert "x-moralscope-evidence" not in answer.headers
    assert "evidence" not in answer.json()["choices"][0]["moralscope"]
