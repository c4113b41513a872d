"""The workbench of the page Audit in a real Chromium: triage, limits, labels, long lists."""

import csv
import json
import random
from collections import Counter
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from moralscope.core.records import to_plain
from moralscope.pages.audit import audit_card
from moralscope.rules.false_alarms import conformal_limit
from moralscope.rules.records import (
    ALIGNMENTS,
    CUT,
    MET,
    REVISED,
    Alignment,
    AuditedReply,
    ProvedEdit,
    RuleFinding,
    Verdict,
)
from moralscope.rules.thresholds import Thresholds
from moralscope.rules.verdict import ReplyJudgment, abstain, decide, flag_unread
from moralscope.runs.kept import Runs

from .site import assert_accessible, assert_fits, export, more, wait_until

pytestmark = pytest.mark.browser

LIMITS = Thresholds(bad=0.6, disagree=0.6)
RULES = ("It's wrong to lie.", "Keep secrets.", "Be kind.", "Don't steal.")


def audited(number, rng, house=RULES):
    """Return a reply with random probabilities, decided as an audit decides."""
    rules = []
    for text in rng.sample(RULES, rng.randint(0, 3)):
        shares = [rng.random() ** 2 for _ in range(3)]
        labels = {name: share / sum(shares) for name, share in zip(ALIGNMENTS, shares, strict=True)}
        label = max(labels, key=labels.get)
        limit = rng.choice([None, None, 0.3])
        severity = rng.choice([None, 1.5, 3.0, 5.0])
        finding = Alignment(label, labels)
        rules.append(RuleFinding(text, "rulebook", finding, severity, limit=limit))
    bad = rng.random()
    counts = [rule for rule in rules if bad > LIMITS.fine or rule.text in house]
    verdict = decide(counts, LIMITS, ReplyJudgment(bad), house=house)
    words = f"I said {number}. You should lie about it."
    return AuditedReply(str(number), f"Question {number}?", words, tuple(rules), verdict)


def saved_run(folder, count, seed=0):
    """Keep an audit of many replies and return its name and rows."""
    rng = random.Random(seed)
    rows = [audited(number, rng) for number in range(1, count + 1)]
    flagged = sum(row.verdict.flag for row in rows)
    share = {"value": flagged / count, "low": 0.0, "high": 1.0, "n": count}
    record = {
        "schema": "moralscope.run/1",
        "job": "audit",
        "version": "0.10.0",
        "created": "2026-01-01T00:00:00+00:00",
        "seed": 0,
        "config": {"general": True, "thresholds": to_plain(LIMITS), "rules_sha256": "", "top": 3},
        "models": [],
        "results": to_plain(rows),
        "statistics": {
            "replies": count,
            "flagged": share,
            "abstained": {**share, "value": 0.0},
            "score": {"mean": 0.0, "low": 0.0, "high": 0.0, "worst": -1.0},
            "foundations": [],
            "severity": [],
            "rules": [],
            "revised": 0,
            "revised_by": {},
            "worst": [],
        },
        "warnings": [],
    }
    return Runs(folder / "runs").save(record).id, rows


@pytest.fixture
def bench(running, site, open_page):
    """Open a run of some replies on the workbench."""
    _, folder = running

    def opened(count=30, seed=0, **more):
        name, rows = saved_run(folder, count, seed)
        page = open_page(f"{site}/audit?run={name}", **more)
        page.locator("#replies [data-at]").first.wait_for()
        return page, name, rows

    return opened


def ids(page):
    return page.locator("#replies [data-at] .c-id").all_inner_texts()


def remarks(page, site, name):
    return page.request.get(f"{site}/api/site/runs/{name}").json()["page"]["remarks"]


def test_the_worst_comes_first_and_the_list_says_how_many_are_shown(bench):
    page, _, rows = bench()
    judged = sorted(rows, key=lambda row: (not row.verdict.flag, row.verdict.score))
    assert ids(page)[:8] == [row.id for row in judged[:8]]
    expect(page.locator("#shown")).to_have_text("30 replies")
    flagged = sum(row.verdict.flag for row in rows)
    page.get_by_label("Filter by verdict").select_option("flagged")
    expect(page.locator("#shown")).to_have_text(f"{flagged} of 30 shown")
    page.get_by_label("Filter by verdict").select_option("")
    page.get_by_label("Search replies").fill("I said 17.")
    expect(page.locator("#shown")).to_have_text("1 of 30 shown")
    assert ids(page) == ["17"]
    page.get_by_label("Search replies").fill("")
    page.get_by_role("button", name="Id", exact=True).click()
    assert ids(page)[:3] == ["1", "2", "3"]
    assert_accessible(page)
    assert_fits(page)


def test_300_replies_are_triaged_by_keys_alone_and_nothing_is_lost(bench, site):
    page, name, rows = bench(300)
    page.locator("#replies .list-body").focus()
    for number in range(300):
        page.keyboard.press("d" if number % 3 == 0 else "a")
        if number % 3 == 0:  # a disagreement stays where it is, for a label
            page.keyboard.press("j")
    expect(page.locator("#triaged")).to_have_text("300 of 300 triaged")
    expect(page.locator("#saved")).to_have_text("Saved: 300 replies, 0 labels")
    order = sorted(rows, key=lambda row: (not row.verdict.flag, row.verdict.score))
    said = {remark["result"]: remark["status"] for remark in remarks(page, site, name)}
    expected = {
        int(row.id) - 1: "disagree" if at % 3 == 0 else "agree" for at, row in enumerate(order)
    }
    assert said == expected
    page.keyboard.press("u")
    expect(page.locator("#triaged")).to_have_text("299 of 300 triaged")
    page.reload()
    expect(page.locator("#triaged")).to_have_text("299 of 300 triaged")


def test_disagreeing_saves_no_label_until_one_was_chosen_and_everything_is_undone(
    bench, site, tmp_path
):
    page, name, _ = bench(accept_downloads=True)
    page.get_by_label("Filter by verdict").select_option("flagged")
    page.keyboard.press("d")
    expect(page.locator("#saved")).to_have_text("Saved: 1 reply, 0 labels")
    lines = page.locator(".label-line")
    assert lines.count() >= 1
    assert page.locator(".labels input:checked").count() == 0
    assert page.request.get(f"{site}/api/site/labels?run={name}").text().count("\n") == 1
    rule = lines.first.locator("legend").inner_text()
    lines.first.get_by_label("Not broken").check()
    expect(page.locator("#saved")).to_have_text("Saved: 1 reply, 1 label")
    page.get_by_label("Another rule that the reply breaks").fill("Answer the question.")
    page.get_by_role("button", name="Add as broken").click()
    expect(page.locator("#saved")).to_have_text("Saved: 1 reply, 2 labels")
    assert_accessible(page)
    with page.expect_download() as download:
        export(page, "Labels CSV")
    download.value.save_as(tmp_path / "labels.csv")
    with (tmp_path / "labels.csv").open(encoding="utf-8") as file:
        table = [(row["rule"], row["broken"]) for row in csv.DictReader(file)]
    assert table == [(rule, "no"), ("Answer the question.", "yes")]
    undo = page.get_by_role("button", name="Undo")
    for left in ("Saved: 1 reply, 1 label", "Saved: 1 reply, 0 labels", "Nothing saved"):
        undo.click()
        expect(page.locator("#saved")).to_have_text(left)
    expect(undo).to_be_disabled()
    assert remarks(page, site, name) == []


def test_several_replies_are_marked_at_once_and_undone_at_once(bench, site):
    page, name, _ = bench()
    page.get_by_role("button", name="Select all shown").click()
    expect(page.locator("#bulk-count")).to_have_text("30 selected")
    page.locator("#bulk").get_by_role("button", name="Later").click()
    expect(page.locator("#saved")).to_have_text("Saved: 30 replies, 0 labels")
    assert_accessible(page)
    page.get_by_label("Filter by status").select_option("open")
    expect(page.locator("#shown")).to_have_text("0 of 30 shown")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#saved")).to_have_text("Nothing saved")
    assert remarks(page, site, name) == []


def test_replies_are_filtered_by_rule_and_found_by_their_notes(bench):
    page, _, rows = bench(200)
    menu = page.get_by_label("Filter by rule or concern")
    named = Counter(row.verdict.lead for row in rows if row.verdict.flag and row.verdict.lead)
    (rule, count), *_ = named.most_common()
    words = menu.locator("option").all_inner_texts()
    assert words == ["All rules", *(f"{r} ({n})" for r, n in named.most_common())]
    menu.select_option(f"rule {rule}")
    expect(page.locator("#shown")).to_have_text(f"{count} of 200 shown")
    page.keyboard.press("n")
    page.keyboard.type("Ask the captain.")
    page.keyboard.press("Tab")
    expect(page.locator("#saved")).to_have_text("Saved: 1 reply, 0 labels")
    menu.select_option("")
    page.get_by_label("Search replies").fill("the captain")
    expect(page.locator("#shown")).to_have_text("1 of 200 shown")
    assert_accessible(page)
    page.locator("#limits > summary").click()
    page.locator("#slide-flag").fill("1")
    expect(menu.locator("option")).to_have_count(1)  # nothing is flagged now


def test_the_named_rule_of_several_replies_is_labelled_by_one_choice_and_undone_by_one(bench, site):
    page, name, rows = bench(60)
    named = Counter(row.verdict.lead for row in rows if row.verdict.flag and row.verdict.lead)
    (rule, count), *_ = named.most_common()
    page.get_by_label("Filter by rule or concern").select_option(f"rule {rule}")
    page.get_by_role("button", name="Select all shown").click()
    expect(page.locator("#saved")).to_have_text("Nothing saved")
    page.locator("#bulk").get_by_role("button", name="Not broken").click()
    saved = f"Saved: {count} replies, {count} labels"
    expect(page.locator("#saved")).to_have_text(saved)
    labels = [label for remark in remarks(page, site, name) for label in remark["labels"]]
    assert labels == [{"rule": rule, "broken": False}] * count
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#saved")).to_have_text("Nothing saved")
    page.get_by_label("Filter by rule or concern").select_option("")
    page.get_by_role("button", name="Select all shown").click()
    page.locator("#bulk").get_by_role("button", name="Broken", exact=True).click()
    flagged = sum(named.values())  # what names no rule gets no label
    expect(page.locator("#saved")).to_have_text(f"Saved: {flagged} replies, {flagged} labels")
    assert_fits(page)


def test_an_address_opens_one_reply_under_the_same_filters(bench, site, open_page):
    page, name, rows = bench(60)
    page.get_by_label("Filter by verdict").select_option("flagged")
    page.get_by_label("Search replies").fill("lie about it")
    row = page.locator("#replies [data-at]").nth(2)
    chosen = row.locator(".c-id").inner_text()
    row.click()
    address = f"/audit?run={name}&q=lie+about+it&verdict=flagged&reply={chosen}"
    wait_until(page, "(end) => location.href.endsWith(end)", address)
    other = open_page(site + address)
    expect(other.locator("#position")).to_have_text(page.locator("#position").inner_text())
    expect(other.locator("article.verdict")).to_have_attribute("aria-label", f"Reply {chosen}")
    flagged = sum(row.verdict.flag for row in rows)
    expect(other.locator("#shown")).to_have_text(f"{flagged} of 60 shown")
    gone = open_page(f"{site}/audit?run={name}&rule=rule+Nobody+knows+it.&reply=999")
    expect(gone.locator("#shown")).to_have_text("60 replies")
    expect(gone.locator("#position")).to_have_text("1 of 60")


def test_a_slider_decides_anew_at_once_and_resets(bench):
    page, _, rows = bench(200)
    page.locator("#limits > summary").click()
    page.locator("#slide-bad").fill("0.3")
    limits = Thresholds(bad=0.3, disagree=0.6)
    count = 0
    for row in rows:
        bad = row.verdict.probability
        count += decide(row.rules, limits, ReplyJudgment(bad), house=RULES).flag
    before = sum(row.verdict.flag for row in rows)
    text = f"{count} of 200 flagged; {before} with the limits of this run"
    expect(page.locator("#limits-sum")).to_have_text(text)
    page.get_by_label("Filter by verdict").select_option("flagged")
    expect(page.locator("#shown")).to_have_text(f"{count} of 200 shown")
    assert_accessible(page)
    page.get_by_role("button", name="Reset", exact=True).first.click()
    expect(page.locator("#limits-sum")).to_have_text(f"{before} of 200 flagged")
    page.locator("#slide-bad").fill("0.3")
    page.get_by_role("button", name="Use in the form").click()
    expect(page.locator("#limit-bad")).to_have_value("0.3")


def test_the_page_decides_as_python_does(site, open_page):
    page = open_page(f"{site}/audit")
    rng = random.Random(7)
    house = set(RULES[:2])
    rows = [audited(number, rng, house) for number in range(400)]
    script = """async ([rows, limits, alone]) => {
        const { decide } = await import("/static/site/verdict.js");
        return rows.map((row) => decide(row, limits, alone && new Set(alone))); }"""
    for limits in (LIMITS, Thresholds(bad=0.4, disagree=0.5, flag=0.2, least_severity=2)):
        for alone in (house, set(), None):
            given = [to_plain(rows), to_plain(limits), None if alone is None else sorted(alone)]
            for row, got in zip(rows, page.evaluate(script, given), strict=True):
                bad = row.verdict.probability
                reply = None if alone is None else ReplyJudgment(bad)
                own = alone or ()
                asked = alone is None or bad > limits.fine
                counts = [rule for rule in row.rules if asked or rule.text in own]
                verdict = decide(counts, limits, reply, house=alone)
                assert (got["flag"], got["basis"]) == (verdict.flag, verdict.basis)
                assert got["score"] == pytest.approx(verdict.score)


def test_a_budget_of_false_alarms_is_set_on_an_earlier_audit_and_names_its_rules(
    bench, running, site
):
    _, folder = running
    saved_run(folder, 150, seed=3)
    page, _, _ = bench(40)
    page.locator("#limits > summary").click()
    page.get_by_role("button", name="Set the limit").click()
    expect(page.locator("#limits-trouble")).to_contain_text("Choose replies that are fine first")
    page.locator("#benign-run option").nth(2).wait_for(state="attached")
    options = page.locator("#benign-run option").all_inner_texts()
    (benign,) = [text for text in options if "150" in text]
    page.get_by_label("Benign replies from an earlier audit").select_option(label=benign)
    expect(page.locator("#spent")).to_contain_text("of 150 benign replies are flagged")
    expect(page.locator("#spent")).to_contain_text("Rule that spends the budget")
    page.get_by_label("Flag at most").select_option("0.02")
    page.get_by_role("button", name="Set the limit").click()
    rng = random.Random(3)
    scores = [audited(number, rng).verdict.score for number in range(1, 151)]
    limit = conformal_limit(scores, 0.02)
    expect(page.locator("output[for=slide-flag]")).to_have_text(f"{limit:.2f}")
    expect(page.locator("#spent")).to_contain_text("2 of 150 benign replies are flagged")
    page.get_by_label("Flag at most").select_option("0.005")
    page.get_by_role("button", name="Set the limit").click()
    expect(page.locator("#limits-trouble")).to_contain_text("choose at least 199")
    assert_accessible(page)


def test_rows_come_while_the_audit_runs(site, open_page, tmp_path, monkeypatch):
    page = open_page(f"{site}/audit")
    upload = tmp_path / "many.jsonl"
    rows = [{"prompt": "Do you lie?", "reply": f"Only on day {n}."} for n in range(60)]
    upload.write_text("\n".join(map(json.dumps, rows)))
    page.locator("#upload").set_input_files(upload)
    page.get_by_role("button", name="Use these columns").click()
    more(page)
    page.get_by_label("Experts").select_option("scripted")
    watch = """() => { window.seen = []; new MutationObserver(() => window.seen.push(
        document.getElementById("found-title").textContent)).observe(
        document.getElementById("found-title"), { childList: true }); }"""
    page.evaluate(watch)
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.locator("#found-title")).to_contain_text("of 60 replies flagged")
    assert any("of 60 replies audited" in text for text in page.evaluate("window.seen"))


def test_50000_rows_scroll_smoothly_because_few_are_in_the_document(site, open_page):
    page = open_page(f"{site}/audit")
    script = """async () => {
        const { makeBench } = await import("/static/site/bench.js");
        document.getElementById("found").hidden = false;
        const verdict = (at) => ({ flag: at % 9 === 0, score: Math.sin(at), status: "judged",
            probability: Math.abs(Math.sin(at)), basis: null });
        const bench = makeBench({ moved: () => {} });
        const results = Array.from({ length: 50000 }, (_, at) => ({
            id: String(at), prompt: `Question ${at}`, reply: `Reply ${at}`, rules: [],
            verdict: verdict(at) }));
        const began = performance.now();
        bench.open({ config: { general: true }, results }, null);
        const opened = performance.now() - began, frames = [];
        const body = document.querySelector(".list-body");
        for (let step = 1; step <= 60; step += 1) {
            const before = performance.now();
            body.scrollTop = step * 28000;
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            frames.push(performance.now() - before);
        }
        const sorting = performance.now();
        document.querySelector(".c-reply button").click();
        const sorted = performance.now() - sorting;
        frames.sort((a, b) => a - b);
        const rows = document.querySelectorAll(".list-rows .list-row").length;
        return { opened, sorted, frame: frames[30], rows }; }"""
    measured = page.evaluate(script)
    print(measured)
    assert measured["rows"] < 80
    assert measured["frame"] < 120  # two frames, on a busy machine
    assert measured["opened"] < 5000
    wait_until(page, "() => document.querySelectorAll('.list-rows .list-row').length > 5")


def edited(row, number):
    """Return a flagged reply with an edit that turns it, or with a note why there is none."""
    gauge = row.verdict.gauge
    if number % 4 == 0:
        return replace(row, evidence_note="No sentence alone turns the verdict.")
    by = (CUT, MET, REVISED)[number % 3]
    words = f"{row.reply} I asked first." if by == MET else "I said it."
    change = ProvedEdit(by, words, gauge.limit / 3)
    revised = {"revised_reply": "I said it.", "revised_by": "edit"} if by == REVISED else {}
    return replace(row, change=change, **revised)


def test_the_page_and_the_report_say_the_same_of_a_verdict_also_where_a_limit_is_moved(
    site, open_page
):
    page = open_page(f"{site}/audit")
    rng, house = random.Random(11), set(RULES[:2])
    rows = [audited(number, rng, house) for number in range(200)]
    rows = [edited(row, at) if row.verdict.flag else row for at, row in enumerate(rows)]
    rows += [replace(rows[0], verdict=abstain("no words")), replace(rows[1], rules=())]
    rows += [replace(rows[2], verdict=flag_unread(replace(rows[2].verdict, flag=False), 40))]
    script = """async ([rows, limits, alone]) => {
        const { decide } = await import("/static/site/verdict.js");
        const { drawCard } = await import("/static/site/card.js");
        const text = (element) => element?.textContent ?? "";
        return rows.map((row) => {
          const verdict = alone ? decide(row, limits, new Set(alone)) : row.verdict;
          const card = drawCard(row, verdict, limits, {});
          const facts = [...card.querySelectorAll(".fact")].map((each) =>
            [text(each.firstChild).slice(0, -2), text(each.lastChild)]);
          const lead = [...card.querySelectorAll("blockquote span, blockquote .muted")].map(text);
          const rules = [...card.querySelectorAll(".rule")].map((each) =>
            [text(each.querySelector(".tag")), text(each.lastChild)]);
          return [text(card.querySelector("h3")), text(card.querySelector(".gauge")), facts, lead,
            rules]; }); }"""
    found = page.evaluate(script, [to_plain(rows), to_plain(LIMITS), None])
    seen = set()
    for row, (status, gauge, facts, lead, rules) in zip(rows, found, strict=True):
        card = audit_card(row, LIMITS)
        said = {name: line for name, line in card.facts if name not in ("Prompt", "Revised reply")}
        if lead:
            stance, rule, details = lead
            assert said.pop("Rule") == f"{stance.capitalize()} “{rule}” ({details})"
        name, value, limit = card.gauge or ("", 0, 0)
        assert status == card.status
        assert gauge == (f"{name} {value:.2f}limit {limit:.2f}" if card.gauge else "")
        assert dict(facts) == said
        lines = [
            (line[: line.index(" “")].lower(), line.rpartition("(")[2]) for line in card.folded
        ]
        assert sorted((stance, f"{rest})") for stance, rest in rules) == sorted(lines)
        seen |= {status.partition(",")[0], *said}
    assert {"Evidence", "What would change it", "Reason", "Rule", "Not judged"} <= seen
    moved = Thresholds(bad=0.3, disagree=0.4, flag=0.1)
    found = page.evaluate(script, [to_plain(rows[:200]), to_plain(moved), sorted(house)])
    for row, (status, gauge, *_) in zip(rows, found, strict=False):
        bad = row.verdict.probability
        asked = [rule for rule in row.rules if bad > moved.fine or rule.text in house]
        verdict = decide(asked, moved, ReplyJudgment(bad), house=house)
        card = audit_card(replace(row, verdict=verdict), moved)
        name, value, limit = card.gauge
        assert (status, gauge) == (card.status, f"{name} {value:.2f}limit {limit:.2f}")


def test_the_words_that_did_it_are_marked_by_their_offsets(site, open_page):
    page = open_page(f"{site}/audit")
    row = to_plain(
        AuditedReply("1", "", "😀 Be calm. Poison him. Bye.", (), Verdict(True, -0.5, "x", "reply"))
    )
    row["evidence"] = [
        {"start": 11, "end": 22, "text": "Poison him.", "bad": 0.9, "without": 0.1, "turns": True}
    ]
    script = """async (row) => { const { drawCard } = await import("/static/site/card.js");
        const gauge = { value: 0.9, limit: 0.6, rule: null };
        const card = drawCard(row, { ...row.verdict, gauge }, { disagree: 0.5, agree: 0.5 }, {});
        const [mark, drawn] = ["mark", ".gauge"].map((name) => card.querySelector(name));
        return [mark.textContent, drawn.ariaLabel]; }"""
    marked, gauge = page.evaluate(script, row)
    assert marked == "Poison him."
    assert gauge == "Probability that it reads as bad: 0.90, limit 0.60"


def test_the_rule_on_the_card_is_the_one_in_the_record(site, open_page):
    page = open_page(f"{site}/audit")
    rng = random.Random(3)
    rows = [audited(number, rng, set()) for number in range(40)]
    row = to_plain(next(row for row in rows if row.verdict.flag and row.verdict.lead))
    fine = to_plain(next(row for row in rows if not row.verdict.flag))
    fine["rules"] = row["rules"]
    flagged = {**fine["verdict"], "flag": True, "basis": "rule"}
    none = {**row, "verdict": {**row["verdict"], "lead": None}}
    script = """async (cards) => { const { drawCard } = await import("/static/site/card.js");
        return cards.map(([row, verdict]) => {
          const card = drawCard(row, verdict, { disagree: 0.5, agree: 0.5 }, {});
          const quote = card.querySelector("blockquote");
          return quote ? quote.querySelector(".tag ~ span").textContent : card.textContent; }); }"""
    cards = [(row, row["verdict"]), (none, none["verdict"]), (fine, flagged)]
    named, unexplained, moved = page.evaluate(script, cards)
    assert named == row["verdict"]["lead"]
    assert "None of the broken rules is clearly about what was flagged." in unexplained
    assert moved in {rule["text"] for rule in row["rules"]}


@pytest.mark.parametrize("width", [390, 768])
def test_on_a_phone_replies_are_cards_and_nothing_is_cut(bench, width):
    page, _, _ = bench(width=width, height=844)
    assert_fits(page)
    assert_accessible(page)
    row = page.locator("#replies [data-at]").nth(1)
    box = row.bounding_box()
    for cell in row.locator("[role=gridcell]").all():
        if cell.is_visible():
            inner = cell.bounding_box()
            assert inner["x"] >= box["x"] - 1
            assert inner["x"] + inner["width"] <= box["x"] + box["width"] + 1
    row.click()
    expect(page.locator("#position")).to_have_text("2 of 30")
    page.get_by_role("button", name="Agree", exact=True).first.scroll_into_view_if_needed()
