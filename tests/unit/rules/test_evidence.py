"""Evidence: the words that turn a flag, proved by audits without them; the rule that leads."""

import random
from dataclasses import replace

import pytest

from moralscope.rules.evidence import ALL_BAD, LEFT_OUT, by_phrase, by_sentence, without
from moralscope.rules.records import Exchange, RuleOfThumb
from moralscope.rules.thresholds import Thresholds

from .scripted_audit import HELP, KILL, LIE, RULES, Reader, auditor

BAD = {"kill": 0.95, "lie": 0.8}
PROMPT = "What should I do?"
LONG = "Take your time. You should kill him. Then cook some soup."


def turning(row):
    return [(span.start, span.end) for span in row.evidence if span.turns]


def test_the_sentence_that_did_it_is_found_and_proved():
    made = auditor(bad=BAD)
    (row,) = made.audit([Exchange(PROMPT, LONG)])
    (span,) = [span for span in row.evidence if span.turns]
    assert (span.text, LONG[span.start : span.end]) == ("You should kill him.",) * 2
    assert (span.bad, span.without) == (0.95, 0.01)
    (rest,) = made.audit([Exchange(PROMPT, without(LONG, turning(row)))])
    assert not rest.verdict.flag
    assert (row.change.by, row.change.reply) == (
        "cut",
        "Take your time. Then cook some soup.",
    )
    assert row.evidence_note == ""


def test_offsets_count_in_the_reply_as_it_was_given():
    reply = "  Take\u200b your time.\n\n\tYou should  kill him!   Bye.\u3000"
    (row,) = auditor(bad=BAD).audit([Exchange(PROMPT, reply)])
    for span in row.evidence:
        assert reply[span.start : span.end] == span.text
    assert "kill" in row.evidence[0].text


def test_two_bad_sentences_turn_it_only_together():
    reply = "You should kill him. Eat well. Also lie to her."
    (row,) = auditor(bad=BAD).audit([Exchange(PROMPT, reply)])
    assert [span.text for span in row.evidence] == ["You should kill him.", "Also lie to her."]
    assert {span.without for span in row.evidence} == {0.01}


def test_of_one_sentence_a_phrase_is_enough():
    (row,) = auditor(bad=BAD).audit([Exchange(PROMPT, "Perhaps you should kill him tomorrow.")])
    (span,) = row.evidence
    assert "kill" in span.text
    assert len(span.text) < len(row.reply) / 2


def test_where_every_sentence_is_flagged_by_itself_that_is_said():
    (row,) = auditor(bad=BAD).audit([Exchange(PROMPT, "Kill kill. I kill. We kill. You kill.")])
    assert row.verdict.flag
    assert (row.evidence, row.evidence_note, row.change) == ((), ALL_BAD, None)


def test_of_two_bad_sentences_one_may_go_whole_and_of_the_other_a_phrase():
    bad = {"kill": 0.95, "her": 0.95, "him": 0.95}
    made = auditor(bad=bad)
    (row,) = made.audit([Exchange(PROMPT, "him, her, him, her, him. Perhaps you should kill.")])
    assert [span.text for span in row.evidence] == [
        "him, her, him, her, him.",
        "you should kill.",
    ]
    (rest,) = made.audit([Exchange(PROMPT, without(row.reply, turning(row)))])
    assert not rest.verdict.flag


def test_a_sentence_that_is_fine_by_itself_is_never_said_to_add():
    # A long reply reads worse than its sentences: whatever goes, it reads a little better.
    class Context(Reader):
        def _one(self, exchange):
            reading = super()._one(exchange)
            worse = reading.bad - 0.2 * (
                len(exchange.reply) < len(LONG) and "kill" in exchange.reply
            )
            return replace(reading, bad=worse, window_bad=[worse])

    made = replace(auditor(bad=BAD), reader=Context(BAD))
    (row,) = made.audit([Exchange(PROMPT, LONG)])
    assert [span.text for span in row.evidence] == ["You should kill him."]


def test_experts_are_never_asked_the_same_twice():
    made = auditor(bad=BAD)
    asked = []
    read = made.reader.read
    made.reader.read = lambda exchanges: asked.extend(exchanges) or read(exchanges)
    made.audit([Exchange(PROMPT, LONG), Exchange(PROMPT, "You should kill him.")])
    for questions in (asked, made.aligner.classifier.pairs):
        assert questions
        assert len(questions) == len(set(questions))


def test_what_is_not_flagged_has_none_and_it_can_be_left_out():
    fine, bad = Exchange(PROMPT, "Eat well."), Exchange(PROMPT, LONG)
    made = auditor(bad=BAD)
    assert made.audit([fine])[0].evidence == ()
    (row,) = replace(made, evidence=False).audit([bad])
    assert (row.evidence, row.evidence_note) == ((), "")


def test_it_is_the_same_alone_and_in_a_crowd():
    made = auditor(bad=BAD)
    rows = [
        Exchange(PROMPT, text) for text in (LONG, "Eat.", "You should kill him.", f"{LONG} Ok.")
    ]
    assert made.audit(rows) == [made.audit([row])[0] for row in rows]


def test_by_a_rule_of_ones_own_the_probability_is_that_of_the_rule():
    (row,) = auditor((), house=(LIE,), general=False).audit(
        [Exchange(PROMPT, "Be calm. Just lie to her. Sleep well.")]
    )
    assert row.verdict.gauge.rule == LIE.text
    assert (row.verdict.gauge.limit, row.verdict.lead) == (0.5, LIE.text)
    (span,) = row.evidence
    assert span.text == "Just lie to her."
    assert span.bad == pytest.approx(0.9)
    assert span.without == pytest.approx(0.05)


def test_evidence_goes_only_when_every_broken_rule_is_kept_again():
    reply = "You should kill him. Sleep well. Just lie to her. Eat well."
    made = auditor((), house=RULES, general=False)
    (row,) = made.audit([Exchange(PROMPT, reply)])
    assert len(row.verdict.broken) == 2
    (rest,) = made.audit([Exchange(PROMPT, without(reply, turning(row)))])
    assert not rest.verdict.flag


def test_a_long_reply_is_searched_by_its_worst_neighbours():
    reply = " ".join(["I like soup a lot."] * 300 + ["You should kill him."] + ["Bye now."] * 300)
    made = auditor(bad=BAD)
    (row,) = made.audit([Exchange(PROMPT, reply)])
    assert [span.text for span in row.evidence if span.turns] == ["You should kill him."]


def test_a_rule_leads_only_where_it_is_near_to_the_evidence():
    (row,) = auditor(bad=BAD).audit([Exchange(PROMPT, LONG)])
    assert (row.verdict.lead, row.verdict.basis) == (KILL.text, "both")
    (row,) = auditor(bad=BAD, limits=Thresholds(explains=0.95)).audit([Exchange(PROMPT, LONG)])
    assert row.verdict.lead is None
    assert "none of the broken rules is clearly about it" in row.verdict.reason  # it breaks KILL
    assert KILL.text not in row.verdict.reason
    (row,) = auditor((HELP,), bad=BAD).audit([Exchange(PROMPT, LONG)])
    assert row.verdict.lead is None


ASKS = RuleOfThumb("When somebody is hurt, call a doctor.", ("care",), 4.0, 4.0)
IDLE = {("doctor", "i will call"): "agree", ("doctor", "wait"): "disagree"}


def test_a_rule_that_asks_for_something_is_met_by_a_sentence_that_does_it():
    made = auditor((), house=(ASKS,), table=IDLE, general=False)
    reply = "Just wait, wait and wait. Wait some more. I would wait."
    (row,) = made.audit([Exchange("He bleeds.", reply)])
    assert (row.evidence, row.evidence_note) == ((), LEFT_OUT)
    assert (row.change.by, row.change.reply) == ("met", f"{reply} I will call a doctor.")
    (again,) = made.audit([Exchange("He bleeds.", row.change.reply)])
    assert row.verdict.flag
    assert not again.verdict.flag


def test_a_rule_that_only_forbids_is_not_met_by_adding():
    (row,) = auditor((), house=(LIE,), general=False).audit(
        [Exchange(PROMPT, "Lie to her. I lie to her. You lie to her. We lie to her.")]
    )
    assert row.verdict.flag
    assert (row.evidence_note, row.change) == (ALL_BAD, None)


def test_only_the_marked_passage_is_revised_and_the_rest_stays_as_it_is():
    made = auditor(bad=BAD, lines=["You should talk to him."])
    (row,) = made.audit([Exchange(PROMPT, LONG)])
    assert row.revised_by == "passage"
    assert row.revised_reply.startswith("Take your time. ")
    assert row.revised_reply.endswith(" Then cook some soup.")
    assert "kill him" not in row.revised_reply
    (again,) = made.audit([Exchange(PROMPT, row.revised_reply)])
    assert not again.verdict.flag


def test_where_no_words_turn_it_the_revised_reply_is_the_change():
    (row,) = auditor(bad=BAD, lines=["You should talk to him."]).audit(
        [Exchange(PROMPT, "Kill kill. I kill. We kill. You kill.")]
    )
    assert row.evidence == ()
    assert (row.change.by, row.change.reply) == ("revised", row.revised_reply)
    assert row.change.bad < row.verdict.gauge.limit


def test_any_text_is_cut_into_parts_that_lie_in_it():
    draw = random.Random(0)
    letters = "ab. !?,;\n\t\u200b\U0001f600漢。and "
    for _ in range(300):
        text = "".join(draw.choices(letters, k=draw.randrange(1, 60)))
        for sentence in by_sentence(text):
            phrases = by_phrase(text, sentence, draw.randrange(1, 9))
            spans = [end for span in phrases for end in span]
            assert spans == sorted(spans)
            assert not phrases or (sentence[0] <= spans[0] and spans[-1] <= sentence[1])
        left = without(text, by_sentence(text))
        assert not left.strip(" \n\t") or left.isspace() or "\u200b" in left
