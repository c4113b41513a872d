"""The page of an audit: figures, worst cases, examples, and no text as markup."""

import copy
import io
import json

import pytest
from rich.console import Console

from moralscope.pages import build_page, report_html
from moralscope.pages.closing import AUDIT_LIMITS
from moralscope.pages.page import Table
from moralscope.pages.terminal import render as in_terminal
from moralscope.pages.web import view

from .plain_records import HOSTILE, record
from .test_hostile_records import pages_with_wrong_values

SHARE = {"value": 0.5, "low": 0.1, "high": 0.9, "n": 2}
SPAN = {"value": 0.5, "low": -0.1, "high": 0.9}


def row(name, reply, flag, revised=None):
    rule = {
        "text": "It is wrong to kill.",
        "source": "rulebook",
        "alignment": {"label": "disagree", "probabilities": {"disagree": 0.9}},
        "severity": 5.0,
        "consensus": 4.9,
        "foundations": {"care": 1.0},
        "evidence": "rulebook",
    }
    reason = "why it is so" if flag else "abstained: no words"  # as 0.8 wrote it
    verdict = {"flag": flag, "score": -0.88 if flag else 0.0, "reason": reason}
    return {
        "id": name,
        "prompt": "What now?",
        "reply": reply,
        "rules": [rule] if flag else [],
        "verdict": verdict,
        "revised_reply": revised,
    }


def audit_record(reply="Kill them.", *, against=True):
    changed = {"id": "1", "prompt": "What now?", "here": reply, "there": "No.", "score_here": -0.9}
    paired = {
        "n": 2,
        "flagged_here": SHARE,
        "flagged_there": SHARE,
        "only_here": 1,
        "only_there": 0,
        "p": 1.0,
        "flagged_change": SPAN,
        "score_change": SPAN,
        "changed": [{**changed, "score_there": 0.1}],
    }
    found = record(
        "audit",
        [row("1", reply, True, "Talk to them."), row("2", "Hello.", False)],
        config={"experts": "mpnet", "rules": 3},
        statistics={
            "replies": 2,
            "flagged": SHARE,
            "abstained": SHARE,
            "score": {"mean": -0.44, "low": -0.9, "high": 0.0, "worst": -0.88},
            "foundations": [
                {"foundation": "care", "flagged": 1, "share": 0.5, "low": 0, "high": 1}
            ],
            "severity": [{"severity": 5, "flagged": 1, "share": 0.5, "low": 0, "high": 1}],
            "rules": [{"rule": "It is wrong to kill.", "broken": 1, "kept": 0}],
            "revised": 1,
            "revised_by": {"edit": 1},
            "worst": [{"id": "1", "score": -0.88, "prompt": "p", "reply": reply, "reason": "r"}],
            "against": paired if against else None,
        },
    )
    return copy.deepcopy(found)  # the spans are shared


def table(page, title):
    return next(
        block
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Table) and block.title == title
    )


def test_every_reply_is_there_with_its_rules_the_worst_first():
    replies = table(build_page(audit_record()), "Every reply")
    first, second = (dict(zip(_titles(replies), row, strict=True)) for row in replies.rows)
    assert (first["id"], first["verdict"], first["score"]) == ("1", "flagged", -0.88)
    assert (first["broken"], first["followed"]) == (1, 0)
    facts = dict(first["card"].facts)
    assert first["card"].folded == [
        "Breaks “It is wrong to kill.” (probability 0.90, limit 0.50, severity 5.0, consensus 4.9; "
        "rulebook)"
    ]
    assert (facts["Prompt"], facts["Revised reply"]) == ("What now?", "Talk to them.")
    assert (second["verdict"], second["card"].folded) == ("not judged", [])


def _titles(replies):
    names = [*(column.title for column in replies.columns), *replies.details]
    return ["shown", *names[1:]]  # the first column is the reply, cut short; the whole is a detail


def test_a_rule_below_the_limit_may_break():
    plain = audit_record()
    plain["config"]["thresholds"] = {"disagree": 0.95}
    (reply, *_) = table(build_page(plain), "Every reply").rows
    assert reply[7] == 0  # broken
    assert "May break “It is wrong to kill.”" in reply[-1].folded[0]


def test_figures_lists_and_comparison_have_their_sections():
    page = build_page(audit_record())
    titles = [section.title for section in page.sections if section.shown != "terminal"]
    assert titles == [
        "The worst replies in full",
        "Flagged replies by foundation",
        "Flagged replies by severity",
        "Most broken rules",
        "Against the other file",
        "Replies whose flag changed",
        "Every reply",
        "How it was computed",
        "What it does not mean",
    ]
    assert ("50.0 % (10.0 % … 90.0 %)", "flagged") in page.figures
    paired = table(page, "Against the other file")
    assert paired.rows[0][:3] == ["flagged", 0.5, 0.5]
    assert page.sections[-1].prose == AUDIT_LIMITS


def test_one_file_has_no_comparison():
    titles = [section.title for section in build_page(audit_record(against=False)).sections]
    assert "Against the other file" not in titles


@pytest.mark.parametrize("text", HOSTILE)
def test_a_reply_is_never_markup(text):
    page = report_html(audit_record(text), "x")
    assert text not in page
    assert "&lt;" in page


def test_content_is_warned_about():
    assert "Content warning" in report_html(audit_record(), "x")


def test_a_wrong_value_anywhere_is_shown_or_refused():
    for page in pages_with_wrong_values(audit_record):
        json.dumps(view(page), allow_nan=False)


def test_reproduce_integrity_has_a_page_with_and_without_a_corpus():
    from moralscope.pages import build_page

    row = {"row": "SBERT", "column": "R-L", "ours": 30.0, "low": 29.0, "high": 31.0, "paper": 33.1}
    plain = {
        "schema": "moralscope.run/1",
        "job": "reproduce",
        "config": {"paper": "integrity", "source": "<b>mine</b>.csv"},
        "results": [{"name": "Table 1: rules", "rows": [row]}],
    }
    page = build_page(plain)
    assert page.title.startswith("The paper “integrity”")
    assert page.sections[0].title == "Table 1: rules"
    assert "<b>mine</b>.csv" in page.summary[0]  # text here; escaped where it is written
    plain["config"]["source"] = None
    assert "no corpus was given" in build_page(plain).summary[0]


def flagged_record(reply="Be <b>calm</b>. Kill them. Bye."):
    plain = audit_record(reply, against=False)
    (first, _) = plain["results"]
    first["verdict"] |= {
        "status": "judged",
        "basis": "both",
        "concern": "toxicity agreement",
        "probability": 0.83,
        "broken": ["It is wrong to kill."],
        "lead": "It is wrong to kill.",
        "gauge": {"value": 0.83, "limit": 0.7, "rule": None},
    }
    start = reply.index("Kill")
    span = {"start": start, "end": start + 10, "text": "Kill them.", "bad": 0.83, "without": 0.1}
    first["evidence"] = [{**span, "turns": True}]
    first["change"] = {"by": "cut", "reply": "Be calm. Bye.", "bad": 0.1}
    plain["results"] = [first]
    return plain


def test_the_card_has_its_gauge_marked_words_one_rule_and_what_would_change_it():
    page = build_page(flagged_record())
    (card,) = next(section for section in page.sections if section.title == "Verdict").blocks
    assert card.gauge == ("reads as bad", 0.83, 0.7)
    assert card.pieces == [("Be <b>calm</b>. ", ""), ("Kill them.", "turns"), (" Bye.", "")]
    facts = dict(card.facts)
    assert facts["Rule"].startswith("Breaks “It is wrong to kill.”")
    assert facts["Concern"] == "It encourages hate or violence."
    assert facts["What would change it"] == (
        "Without the marked words, it isn't flagged: the probability that it reads as bad falls "
        "from 0.83 to 0.10 (limit 0.70; audited again)."
    )
    assert card.status == "Flagged: it reads as bad and breaks 1 rule, score \N{MINUS SIGN}0.88"
    assert card.folded == []


def test_the_card_is_the_same_in_the_report_the_terminal_and_the_local_page():
    page = build_page(flagged_record())
    document = report_html(flagged_record())
    assert "<mark class=turns>Kill them.</mark>" in document
    assert "&lt;b&gt;calm&lt;/b&gt;" in document
    assert "reads as bad <b>0.83</b>, limit 0.70" in document
    out = Console(file=io.StringIO(), width=100)
    in_terminal(page, out)
    written = out.file.getvalue()
    assert "reads as bad 0.83 ▕██████████████|███   ▏ limit 0.70" in written
    assert "[Kill them.]" in written
    (card,) = next(s for s in view(page)["sections"] if s["title"] == "Verdict")["blocks"]
    assert card["type"] == "card"
    assert card["pieces"][1] == ["Kill them.", "turns"]


def test_where_no_rule_explains_a_flag_the_card_says_so():
    plain = flagged_record()
    plain["results"][0]["verdict"] |= {"lead": None}
    page = build_page(plain)
    (card,) = next(section for section in page.sections if section.title == "Verdict").blocks
    assert dict(card.facts)["Rule"].startswith("None of the broken rules is clearly about")
    plain["results"][0]["verdict"] |= {"broken": []}
    (card,) = next(s for s in build_page(plain).sections if s.title == "Verdict").blocks
    assert dict(card.facts)["Rule"] == "No rule of the rulebook explains this flag."
    assert card.folded[0].startswith("Breaks “It is wrong to kill.”")


def test_where_rules_of_ones_own_decide_the_summary_says_so():
    record = audit_record()
    record["config"]["general"] = False
    assert "they break one of your rules" in build_page(record).summary[0]
    record["config"]["general"] = True
    assert "read as bad by themselves" in build_page(record).summary[0]


def test_a_reply_without_a_verdict_has_no_place_among_the_scores():
    record = audit_record()
    record["results"] += [row(str(n), f"Go away, number {n}.", True) for n in (3, 4)]
    page = build_page(record)
    assert [section.title for section in page.sections][:2] == [
        "Scores of the replies",
        "The worst replies in full",
    ]
    chart = page.sections[0].blocks[0]
    assert chart.layout["yaxis"]["names"].count("Hello.") == 0  # it abstained
    assert "Kill them." in chart.layout["yaxis"]["names"]
    assert "interval" not in chart.about
    assert [trace["name"] for trace in chart.traces] == ["below zero"]
