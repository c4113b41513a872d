"""The page Audit in a real Chromium: evidence, thresholds, rulebooks, files."""

import json
import re

import pytest
from playwright.sync_api import expect

from moralscope.rules.warrant_file import read_warrant
from moralscope.server.site.pages import rulebook_size

from ..scripted_labels import DAY, labelled
from .site import HOSTILE, PATIENCE, assert_accessible, audit, more, wait_until

pytestmark = pytest.mark.browser


def test_an_audit_shows_how_near_its_limit_a_reply_is_and_says_what_is_probable(site, open_page):
    page = open_page(f"{site}/audit")
    more(page)
    page.get_by_label("Also write a revised reply").check()
    page.get_by_label("Also check the rules for replies that are clearly fine").check()
    audit(page)
    card = page.locator(".verdict")
    assert_accessible(page)
    gauge, said = page.locator(".gauge").bounding_box(), card.locator(".said").first
    assert gauge["y"] < said.bounding_box()["y"]
    expect(page.locator(".gauge")).to_contain_text(
        re.compile(r"(reads as bad|breaks the rule) 0\.\d\d.*limit 0\.\d\d")
    )
    card.get_by_text(re.compile(r"^Breaks \d+ rules?, follows \d+;")).click()
    stated = r"probability 0\.\d\d.*; \w+"
    lines = card.locator(".rule-lines .muted").all_inner_texts()
    assert lines
    assert all(re.search(stated, line) for line in lines)


def test_thresholds_are_folded_and_the_server_decides_by_them(site, open_page):
    page = open_page(f"{site}/audit")
    expect(page.locator("#thresholds")).to_be_hidden()
    audit(page)
    limit = page.locator("[data-limit]").first
    limit.fill("7")
    page.get_by_role("button", name="Audit").click()
    expect(page.locator("#trouble")).to_contain_text("must be a number from")
    page.locator("#reset").click()
    expect(limit).to_have_value("")
    limit.fill("0.9")
    before = page.url
    page.get_by_role("button", name="Audit").click()
    wait_until(page, "(before) => location.href !== before", before)
    name = limit.get_attribute("data-limit")
    run = page.request.get(f"{site}/api/site/runs/{page.url.rpartition('=')[2]}").json()
    assert run["config"]["thresholds"][name] == 0.9
    again = open_page(page.url)
    expect(again.locator(f"#limit-{name}")).to_have_value("0.9")


def test_a_rulebook_is_edited_in_place_with_lint(site, open_page, tmp_path):
    page = open_page(f"{site}/audit")
    page.get_by_label("Mine").check()
    more(page)
    expect(page.locator("#lint")).to_contain_text("2 rules")
    page.locator("#book").fill("It's wrong to eat cake.\nIt's okay to eat cake.\n")
    expect(page.locator("#lint")).to_contain_text("contradiction")
    page.locator("#form-of").select_option("yaml")
    page.locator("#book").fill("rules: [")
    expect(page.locator("#lint .wrong")).to_be_visible()
    page.get_by_role("button", name="Start from ours").click()
    expect(page.locator("#lint")).to_contain_text(f"{rulebook_size()} rules, no remarks")
    wrong = tmp_path / "rules.docx"
    wrong.write_bytes(b"PK")
    page.locator("#book-file").set_input_files(wrong)
    expect(page.locator("#lint .wrong")).to_contain_text(re.compile("rules.docx isn.t a rulebook"))
    mine = tmp_path / "mine.txt"
    mine.write_text("It's wrong to steal from a friend.\n")
    page.locator("#book-file").set_input_files(mine)
    expect(page.locator("#lint")).to_contain_text("1 rule, no remarks")
    audit(page)
    assert page.locator("#found").is_visible()


@pytest.mark.parametrize("header", ["id,customer,bot", "Nr,said,answered"])
def test_columns_are_guessed_and_never_an_id(site, open_page, tmp_path, header):
    page = open_page(f"{site}/audit")
    upload = tmp_path / "replies.csv"
    upload.write_text(f"{header}\n1,Where is pier 2?,Behind the station.\n")
    page.locator("#upload").set_input_files(upload)
    expect(page.locator("#chooser")).to_contain_text("Where is pier 2? → Behind the station.")


def test_a_file_of_exchanges_is_audited_and_hostile_text_stays_text(site, open_page, tmp_path):
    page = open_page(f"{site}/audit")
    upload = tmp_path / "many.jsonl"
    rows = [{"prompt": "Do you lie?", "reply": f"Only on day {n}. {HOSTILE}"} for n in range(12)]
    upload.write_text("\n".join(map(json.dumps, rows)))
    page.locator("#upload").set_input_files(upload)
    expect(page.locator("#chooser")).to_contain_text("12 rows")
    page.get_by_role("button", name="Use these").click()
    expect(page.locator("#file-name")).to_contain_text("12 exchanges")
    more(page)
    page.get_by_label("Experts").select_option("scripted")
    page.get_by_role("button", name="Audit").click()
    expect(page.locator("#found-title")).to_contain_text("of 12 replies flagged")
    assert page.locator("#replies [data-at]").count() == 12
    expect(page.locator("#form")).to_be_hidden()
    assert page.locator("#views .chart").count() >= 1
    page.locator("#replies [data-at]").nth(3).click()
    expect(page.locator(".verdict .said.last")).to_contain_text("<script>alert(2)</script>")
    assert page.locator("main img").count() == 0
    assert_accessible(page)


TALKS = {
    "lines": f"User: Hi! {HOSTILE}\nAssistant: Hello\nthere.\nUser: Bye.\nAssistant: Bye, bye.",
    "messages": json.dumps(
        [
            {"role": "user", "content": f"Hi! {HOSTILE}"},
            {"role": "assistant", "content": "Hello there."},
            {"role": "user", "content": "Bye."},
            {"role": "assistant", "content": "Bye, bye."},
        ]
    ),
}


@pytest.mark.parametrize("form", TALKS)
def test_a_conversation_is_shown_as_a_thread_and_found_again(site, open_page, form):
    page = open_page(f"{site}/audit")
    page.get_by_role("radio", name="Conversation").check()
    expect(page.locator("#one")).to_be_hidden()
    page.locator("#talk").fill(TALKS[form])
    more(page)
    page.get_by_label("Experts").select_option("scripted")
    page.get_by_role("button", name="Audit").click()
    turns = page.locator(".thread li")
    expect(turns).to_have_count(4)
    expect(turns.nth(0)).to_contain_text("<script>alert(2)</script>")
    expect(turns.nth(3)).to_contain_text("Bye, bye.")
    assert page.locator("main img").count() == 0
    expect(page.locator("#bench")).to_be_hidden()
    title = page.locator("#found-title").inner_text()
    marked = page.locator(".thread li[data-tone=bad]")
    assert ("goes wrong" in title) == (marked.count() > 0)
    assert_accessible(page)
    again = open_page(page.url)
    expect(again.locator(".thread li")).to_have_count(4)
    expect(again.get_by_role("radio", name="Conversation")).to_be_checked()
    before = again.url
    again.goto(f"{site}/runs")
    again.get_by_role("link", name=re.compile("^Run again: conversations")).first.click()
    again.wait_for_url(re.compile(r"/audit\?run="))
    changed = "(before) => !location.search.includes('again') && location.href !== before"
    wait_until(again, changed, before)
    expect(again.locator("#found:not(.stale) .thread li")).to_have_count(4)


def test_what_is_no_conversation_is_said_beside_the_form(site, open_page):
    page = open_page(f"{site}/audit")
    page.get_by_role("radio", name="Conversation").check()
    for text, words in (
        ("", "Paste the conversation first"),
        ("Hello there", "Begin each turn with its speaker"),
        ('[{"role": "user"', re.compile("Line 1 isn.t JSON")),
        ("User: Hi!", "no turn of the assistant"),
        ('[{"role": "wizard", "content": "Hi!"}]', "the role 'wizard'"),
    ):
        page.locator("#talk").fill(text)
        page.get_by_role("button", name="Audit").click()
        expect(page.locator("#trouble")).to_contain_text(words)


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
    passage = ["Eat well. Steal it now. Sleep well.", "Eat well. I would talk to him. Sleep well."]
    assert page.evaluate(script, passage) == [
        ["same", "Eat well. "],
        ["del", "Steal it now. "],
        ["ins", "I would talk to him. "],
        ["same", "Sleep well."],
    ]
    more = page.evaluate(script, ["Keep it.", "Keep it. Or ask."])
    assert more == [["same", "Keep it. "], ["ins", "Or ask."]]
    apart = page.evaluate(script, ["Steal it now.", "I cannot recommend that at all."])
    assert [kind for kind, _ in apart] == ["del", "same", "ins"]


def test_our_rules_are_browsed_and_sent_to_an_audit(site, open_page):
    page = open_page(f"{site}/rules")
    expect(page.locator("#list .count")).to_have_text(f"1 to 25 of {rulebook_size()}")
    page.get_by_role("button", name=re.compile("^loyalty")).click()
    page.get_by_label("Search Our rules").fill("secret")
    first = page.locator("#list tbody tr").first
    text = first.locator("th").inner_text()
    assert "secret" in text.lower()
    assert "loyalty" in first.inner_text()
    assert_accessible(page)
    first.get_by_role("checkbox").check()
    expect(page.locator("#chosen")).to_have_text("1 rule selected.")
    page.get_by_role("button", name="Send to audit").click()
    page.wait_for_url(re.compile("/audit"))
    page.wait_for_selector("html[data-ready]")
    expect(page.get_by_label("Mine")).to_be_checked()
    assert text in page.locator("#book").input_value()
    expect(page.locator("#lint")).to_contain_text("1 rule, no remarks")
    audit(page)
    assert all(text in said for said in page.locator(".rule-text").all_text_contents())


def test_a_rulebook_is_written_and_checked_with_the_line_of_a_mistake(site, open_page):
    page = open_page(f"{site}/rules?view=write")
    expect(page.locator("#lint")).to_contain_text("2 rules")
    page.locator("#book").fill("name: mine\nrules:\n  - text: [\n")
    wrong = page.locator("#lint .wrong")
    expect(wrong).to_contain_text("line")
    wrong.get_by_role("button").click()
    assert page.evaluate("document.activeElement.id") == "book"
    assert_accessible(page)
    page.locator("#book").fill("name: mine\nrules:\n  - text: It's wrong to lie.\n")
    expect(page.locator("#lint")).to_contain_text("1 rule")
    page.get_by_role("button", name="Use in an audit").click()
    page.wait_for_url(re.compile("/audit"))
    expect(page.get_by_label("Mine")).to_be_checked()


def test_another_text_is_audited_without_a_prompt_and_its_link_opens_it_again(site, open_page):
    page = open_page(f"{site}/audit")
    page.get_by_role("radio", name="Text", exact=True).check()
    expect(page.locator("#prompt")).to_be_hidden()
    page.get_by_label("Text a post").fill("Kill them all, they are worth nothing.")
    more(page)
    page.locator("#experts").select_option("scripted")
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.locator(".verdict dt").first).to_have_text("Text")
    run = page.request.get(f"{site}/api/site/runs/{page.url.rpartition('=')[2]}").json()
    assert run["config"]["texts"] is True
    again = open_page(page.url)
    expect(again.get_by_role("radio", name="Text", exact=True)).to_be_checked()
    expect(again.locator("#reply")).to_have_value("Kill them all, they are worth nothing.")
    assert_accessible(again)


@pytest.mark.parametrize("chosen", ["upload", "benign"])
def test_a_file_with_too_many_rows_is_refused_not_cut(site, open_page, tmp_path, chosen):
    page = open_page(f"{site}/audit")
    expect(page.get_by_text("up to 10,000 rows").first).to_be_visible()
    if chosen == "benign":
        audit(page)
        page.locator("#limits > summary").click()
    file = tmp_path / "many.csv"
    file.write_text("prompt,reply\n" + "Hi,Yes\n" * 10_001)
    page.locator(f"#{chosen}").set_input_files(file)
    shown = page.locator("#trouble" if chosen == "upload" else "#limits-trouble")
    expect(shown).to_contain_text("10,000")
    expect(page.locator("#chooser")).to_be_hidden()


def test_rules_of_ones_own_are_warranted_beside_the_editor(site, open_page):
    page = open_page(f"{site}/rules?view=write")
    page.locator("#form-of").select_option("txt")
    page.locator("#book").fill("When a title is out on loan, offer to reserve it.\n")
    page.locator("#experts").select_option("scripted")
    page.get_by_role("button", name="Try the rules").click()
    expect(page.locator("#found-title")).to_contain_text("1 rule", timeout=3 * PATIENCE)
    expect(page.locator("#views table").first).to_contain_text("offer to reserve it")
    assert_accessible(page)
    again = open_page(page.url)
    expect(again.locator("#views table").first).to_contain_text("offer to reserve it")
    expect(again.locator("#book")).to_have_value(re.compile("out on loan"))


def test_labels_and_fine_replies_make_a_rule_enforceable_and_audits_say_so(
    site, open_page, tmp_path
):
    said, fine = labelled()
    labels, benign = tmp_path / "labels.jsonl", tmp_path / "fine.csv"
    columns = ("prompt", "reply", "rule", "broken")
    labels.write_text(
        "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in said)
    )
    lines = [("question", "answer"), *fine]
    benign.write_text("".join(f'"{prompt}","{reply}"\n' for prompt, reply in lines))
    page = open_page(f"{site}/rules?view=write")
    page.locator("#form-of").select_option("txt")
    page.locator("#book").fill(f"{DAY}\n")
    page.locator("#experts").select_option("scripted")
    page.get_by_label("Open a file of labels").set_input_files(labels)
    expect(page.locator("#labels-state")).to_have_text("16 labels from labels.jsonl")
    page.get_by_label("Open a file of benign replies").set_input_files(benign)
    page.get_by_role("button", name="Use these columns").click()
    expect(page.locator("#benign-state")).to_have_text("60 replies from fine.csv")
    page.get_by_role("button", name="Try the rules").click()
    expect(page.locator("#views table").first).to_contain_text("enforceable", timeout=3 * PATIENCE)
    assert_accessible(page)
    again = open_page(page.url)
    expect(again.locator("#labels-state")).to_have_text("16 labels from this run")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the warrant").click()
    (rule,) = read_warrant(saved.value.path()).rules
    assert (rule.word, rule.labelled.n) == ("enforceable", 8)

    page.get_by_role("button", name="Use in an audit").click()
    page.wait_for_url(re.compile("/audit"))
    audit(page, prompt=said[0][0], reply=said[0][1])
    card = page.locator(".verdict")
    expect(card.locator("blockquote")).to_contain_text("warrant: enforceable")
    assert_accessible(page)
    again = open_page(page.url)
    expect(again.locator(".verdict blockquote")).to_contain_text("warrant: enforceable")
    again.get_by_role("button", name="Audit", exact=True).click()  # the warrant comes along
    expect(again.locator(".verdict blockquote")).to_contain_text("warrant: enforceable")
    page.keyboard.press("d")
    page.locator(".label-line").get_by_label("Broken", exact=True).check()
    expect(page.locator("#saved")).to_contain_text("1 label")

    page = open_page(f"{site}/rules?view=write")
    page.get_by_label("Open a file of labels").set_input_files(benign)
    expect(page.locator("#trouble")).to_contain_text("has no column 'reply'")
    page.get_by_role("button", name="Take those of my audits").click()
    expect(page.locator("#labels-state")).to_have_text("1 label from your audits")
    page.get_by_role("button", name="Remove the labels").click()
    expect(page.locator("#labels-state")).to_be_empty()
