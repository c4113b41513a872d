"""The page Survey in a real Chromium: dilemmas and statements put to a model without weights."""

import json
import re

import pytest
from playwright.sync_api import expect

from .site import HOSTILE, assert_accessible, assert_fits, export, go, more

pytestmark = pytest.mark.browser


def ask(page):
    for box in page.locator("input[name=subject]").all():
        box.set_checked(box.input_value() == "scripted")
    page.get_by_role("button", name="Run survey").click()
    page.wait_for_url(re.compile(r"run="))
    page.locator("#found:not(.stale)").wait_for()
    page.locator("#working").wait_for(state="hidden")


def test_the_sample_is_asked_with_free_replies_and_comes_back_by_its_link(site, open_page):
    page = open_page(f"{site}/survey")
    page.get_by_label("Also collect free-text answers").check()
    more(page)
    page.get_by_label("Wordings").select_option("2")
    page.get_by_label("Experts that audit the answers").select_option("scripted")
    ask(page)
    expect(page.get_by_role("heading", name="scripted: 8 dilemmas")).to_be_visible()
    marks = (
        page.locator("#views .chart")
        .first.locator(".points")
        .evaluate_all("(all) => all.reduce((sum, each) => sum + Number(each.dataset.count), 0)")
    )
    assert marks == 4  # one a bias
    assert page.locator("#table tbody tr").count() == 8
    expect(page.locator("#views")).to_contain_text("say and do")
    expect(page.locator("#views")).to_contain_text("steal")
    page.locator("#table .opener").first.click()
    expect(page.locator("#table .details")).to_contain_text("I keep it.")
    assert_accessible(page)
    other = open_page(page.url, width=390)
    assert other.get_by_label("Also collect free-text answers").is_checked()
    assert "I bring it to the police." in other.locator("#items").input_value()
    assert other.locator("#table tbody tr").count() == 8
    assert_fits(other)
    go(page, f"{site}/runs")
    expect(page.locator("#list tbody tr")).to_contain_text("survey of 8 dilemmas: scripted")


def test_a_file_of_statements_is_opened_and_agreement_is_drawn(site, open_page, tmp_path):
    page = open_page(f"{site}/survey", accept_downloads=True)
    rows = [{"statement": f"Rule {n} holds, always.", "subscale": "ab"[n % 2]} for n in range(6)]
    rows[0]["statement"] = HOSTILE.replace('"', "").replace("'", "")
    table = tmp_path / "mine.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page.locator("#upload").set_input_files(table)
    expect(page.locator("#items")).to_have_value(re.compile("Rule 5 holds, always"))
    more(page)
    page.get_by_label("Number of items").fill("3")
    page.get_by_label("Also collect free-text answers").check()  # statements are rated only
    ask(page)
    expect(page.get_by_role("heading", name="scripted: 3 statements")).to_be_visible()
    assert page.locator("#table tbody tr").count() == 3
    assert page.locator("main img, main script").count() == 0
    with page.expect_download() as download:
        export(page, "CSV")
    assert download.value.path().read_text().startswith("model,id,statement,subscale,agreement")


def test_what_cannot_be_asked_is_said(site, open_page):
    page = open_page(f"{site}/survey")
    trouble = page.locator("#trouble")
    for box in page.locator("input[name=subject]").all():
        box.uncheck()
    page.get_by_role("button", name="Run survey").click()
    expect(trouble).to_contain_text("Select at least one model")
    page.get_by_label("scripted").check()
    page.locator("#items").fill("situation,action1,action2\nYou go.,I run.,I run.\n")
    page.get_by_role("button", name="Run survey").click()
    expect(trouble).to_contain_text("has actions that are equal")
    page.locator("#items").fill("who,what\nme,this\n")
    page.get_by_role("button", name="Run survey").click()
    expect(trouble).to_contain_text("neither dilemmas nor statements")
