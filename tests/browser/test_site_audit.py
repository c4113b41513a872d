"""The page Audit in a real Chromium: rules, thresholds, rulebooks, files."""

import json
import random

import pytest
from playwright.sync_api import expect

from moralscope.rules.records import Alignment, RuleFinding
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import decide

from .site import HOSTILE, assert_accessible, audit

pytestmark = pytest.mark.browser


def test_an_audit_shows_rules_and_thresholds_act_at_once(site, open_page):
    page = open_page(f"{site}/audit")
    page.get_by_label("Also write a revised reply").check()
    audit(page)
    assert page.locator(".rule").count() >= 1
    assert_accessible(page)
    page.locator("#limit-disagree").fill("0")
    page.locator("#limit-agree").fill("0")
    page.locator("#limit-flag").fill("0")
    states = page.locator(".rule .tag").first.inner_text()
    assert states in ("broken", "kept", "not concerned")
    loose = page.locator(".rule.broken").count()
    page.locator("#limit-disagree").fill("1")
    assert page.locator(".rule.broken").count() == 0 <= loose
    expect(page.locator("#found-title")).to_have_text("Not flagged")
    page.get_by_role("button", name="As usual").click()
    expect(page.locator("#limit-disagree")).to_have_value("0.5")


def test_the_pages_verdict_is_pythons(site, open_page):
    page = open_page(f"{site}/audit")
    chance, cases = random.Random(3), []
    for _ in range(300):
        rules = []
        for number in range(chance.randrange(5)):
            values = [chance.random() for _ in range(3)]
            odds = [value / sum(values) for value in values]
            names = ("disagree", "agree", "neither")
            label = names[odds.index(max(odds))]
            known = [chance.choice([None, chance.uniform(1, 5)]) for _ in range(2)]
            alignment = Alignment(label, dict(zip(names, odds, strict=True)))
            rules.append(RuleFinding(f"Rule {number}.", "rulebook", alignment, *known))
        limits = Thresholds(
            disagree=chance.random() * 0.8,
            agree=chance.random() * 0.8,
            flag=chance.random() * 0.5,
            severity=chance.uniform(1, 5),
            consensus=chance.uniform(1, 5),
        )
        cases.append((rules, limits))
    plain = [
        [
            [
                {
                    "text": r.text,
                    "severity": r.severity,
                    "consensus": r.consensus,
                    "alignment": {
                        "label": r.alignment.label,
                        "probabilities": dict(r.alignment.probabilities),
                    },
                }
                for r in rules
            ],
            {k: getattr(limits, k) for k in ("disagree", "agree", "flag", "severity", "consensus")},
        ]
        for rules, limits in cases
    ]
    script = """async (cases) => { const { decide } = await import("/static/site/verdict.js");
        return cases.map((given) => decide(...given)).map((v) => [v.flag, v.score]); }"""
    found = page.evaluate(script, plain)
    ours = [decide(rules, limits) for rules, limits in cases]
    assert [flag for flag, _ in found] == [each.flag for each in ours]
    assert [value for _, value in found] == pytest.approx([each.score for each in ours])
    assert 0 < sum(each.flag for each in ours) < len(ours)


def test_a_rulebook_is_edited_in_place_with_lint(site, open_page, tmp_path):
    page = open_page(f"{site}/audit")
    page.get_by_label("Mine").check()
    expect(page.locator("#lint")).to_contain_text("2 rules")
    page.locator("#book").fill("It's wrong to eat cake.\nIt's okay to eat cake.\n")
    expect(page.locator("#lint")).to_contain_text("contradiction")
    page.locator("#form-of").select_option("yaml")
    page.locator("#book").fill("rules: [")
    expect(page.locator("#lint .wrong")).to_be_visible()
    page.get_by_role("button", name="Start from ours").click()
    expect(page.locator("#lint")).to_contain_text("466 rules, no remarks")
    wrong = tmp_path / "rules.docx"
    wrong.write_bytes(b"PK")
    page.locator("#book-file").set_input_files(wrong)
    expect(page.locator("#lint .wrong")).to_contain_text("rules.docx is no rulebook")
    mine = tmp_path / "mine.txt"
    mine.write_text("It's wrong to steal from a friend.\n")
    page.locator("#book-file").set_input_files(mine)
    expect(page.locator("#lint")).to_contain_text("1 rules, no remarks")
    audit(page)
    assert page.locator("#found").is_visible()


def test_a_file_of_exchanges_is_audited_and_hostile_text_stays_text(site, open_page, tmp_path):
    page = open_page(f"{site}/audit")
    upload = tmp_path / "many.jsonl"
    rows = [{"prompt": "Do you lie?", "reply": f"Only on day {n}. {HOSTILE}"} for n in range(12)]
    upload.write_text("\n".join(map(json.dumps, rows)))
    page.locator("#file").set_input_files(upload)
    expect(page.locator("#file-name")).to_contain_text("12 exchanges")
    page.get_by_label("Experts").select_option("scripted")
    page.get_by_role("button", name="Audit").click()
    page.locator("#many").wait_for()
    assert page.locator("#replies tbody tr").count() == 12
    page.locator("#replies button").nth(3).click()
    expect(page.locator(".verdict .said.last")).to_contain_text("<script>alert(2)</script>")
    assert page.locator("main img").count() == 0
    assert_accessible(page)


def test_the_diff_marks_what_a_revised_reply_changes(site, open_page):
    page = open_page(f"{site}/audit")
    script = """async ([a, b]) => (await import("/static/site/diff.js")).changes(a, b)"""
    found = page.evaluate(script, ["Tell everybody at once.", "Tell nobody at once."])
    assert found == [
        ["same", "Tell "],
        ["del", "everybody "],
        ["ins", "nobody "],
        ["same", "at once."],
    ]
    apart = page.evaluate(script, ["Steal it now.", "I cannot recommend that at all."])
    assert [kind for kind, _ in apart] == ["del", "same", "ins"]
