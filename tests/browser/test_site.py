"""The local page in a real Chromium: stories, runs, what goes wrong, how it looks and weighs.

With MORALSCOPE_SHOTS=FOLDER the pictures that a person should look at are left there.
"""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from moralscope.server.api import AccessToken

from ..site_pages import PAGES
from .site import (
    ACTIONS,
    assert_accessible,
    assert_fits,
    assert_seen,
    audit,
    chain,
    go,
    more,
    score,
    scored,
    served,
    slow_encoder,
    wait_until,
)

pytestmark = pytest.mark.browser
SHOTS = os.environ.get("MORALSCOPE_SHOTS")
TOKEN = "correct-horse-battery-staple"


# ---- stories and runs ----------------------------------------------------------------------


def test_a_chain_is_watched_to_its_choice(site, open_page):
    page = open_page(f"{site}/stories")
    page.get_by_role("button", name="The queue").click()
    chain(page)
    page.locator(".choice-made").nth(1).wait_for()
    assert page.locator(".tree").count() == 2
    assert page.locator(".tree.moral .candidates .best").count() == 1
    assert_accessible(page)
    page.wait_for_url(re.compile(r"\?run="))
    again = open_page(page.url)
    assert again.locator(".tree").count() == 2
    assert "queue" in again.get_by_label("Situation").input_value()


# ---- what goes wrong -----------------------------------------------------------------------


def test_a_missing_model_is_said_where_it_was_asked_for(tmp_path, open_page, monkeypatch):
    monkeypatch.setenv("MORALSCOPE_HOME", str(tmp_path / "empty"))
    with served(tmp_path) as site:
        page = open_page(f"{site}/actions")
        assert "(not installed)" in page.locator("#encoder").inner_text()
        score(page, encoder="minilm")
        expect(page.locator("#form #trouble")).to_contain_text("moralscope models pull minilm")
        assert_seen(page.locator("#trouble"))
        assert page.locator("#found").is_hidden()
        go(page, f"{site}/stories")
        page.get_by_role("button", name="Run chain").click()
        expect(page.locator("#trouble")).to_contain_text("models pull")


def test_wrong_files_and_empty_fields_are_said_in_words(site, open_page, tmp_path):
    page = open_page(f"{site}/actions")
    score(page, actions=[])
    expect(page.locator("#trouble")).to_contain_text("Enter at least one action")
    bad = tmp_path / "bad.csv"
    bad.write_text("word,rate\nx,1\n")
    more(page)
    page.get_by_label("Ratings by people").set_input_files(bad)
    score(page)
    expect(page.locator("#trouble")).to_contain_text("column")
    go(page, f"{site}/audit")
    empty = tmp_path / "empty.csv"
    empty.write_text("prompt,reply\n")
    page.locator("#upload").set_input_files(empty)
    expect(page.locator("#trouble")).to_contain_text("empty.csv holds no rows")
    page.get_by_role("button", name="Audit").click()
    expect(page.locator("#trouble")).to_contain_text("Paste the chatbot")
    go(page, f"{site}/actions?run=20260101-000000000000-00000000")
    expect(page.locator("#trouble")).to_contain_text("There is no such run")


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
@pytest.mark.parametrize("path", ["/actions", "/models", "/survey", "/audit", "/stories"])
def test_button_and_messages_are_in_sight_and_not_covered(site, open_page, path, width, height):
    page = open_page(f"{site}{path}", width=width, height=height, warned=False)
    button = page.locator("#form button[type=submit]")
    if width > 1000 and path != "/stories":
        assert_seen(button)  # above the fold, with the content warning over it
    assert page.locator("#form").evaluate("(form) => form.scrollHeight <= form.clientHeight + 2")
    for area in page.locator("#form textarea:visible").all():
        area.fill("")
    button.click()
    expect(page.locator("#trouble")).to_be_visible()
    assert_seen(page.locator("#trouble"))
    assert_seen(button)


def test_what_failed_or_was_cancelled_is_said_in_sight(tmp_path, open_page, monkeypatch):
    slow_encoder(monkeypatch)
    with served(tmp_path) as site:
        page = open_page(f"{site}/actions", width=1366, height=768)
        score(page, axis="Choice")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("#trouble")).to_contain_text("Cancelled. Nothing was saved.")
        assert_seen(page.locator("#trouble"))
    score(page, axis="Choice")
    expect(page.locator("#trouble")).to_contain_text("reach the server")
    assert_seen(page.locator("#trouble"))


def test_a_server_that_restarts_underneath_loses_no_text(tmp_path, open_page):
    with served(tmp_path) as site:
        page = open_page(f"{site}/actions")
        page.get_by_label("One action per line").fill("keep a promise")
    score(page, actions=["keep a promise"])
    expect(page.locator("#trouble")).to_contain_text("reach the server")
    with served(tmp_path, port=int(site.rpartition(":")[2])):
        page.get_by_role("button", name="Score actions").click()
        page.locator("#found").wait_for()
        expect(page.locator("#trouble")).to_be_hidden()
        page.reload()
        assert page.get_by_label("One action per line").input_value() == "keep a promise"


def test_a_token_is_asked_for_once(tmp_path, open_page):
    with served(tmp_path, token=AccessToken(TOKEN)) as site:
        page = open_page(f"{site}/actions")
        score(page)
        page.get_by_label("Token", exact=True).fill(TOKEN)
        assert_accessible(page)
        page.get_by_role("button", name="Continue").click()
        page.locator("#found").wait_for()
        page.wait_for_url(re.compile(r"\?"))
        page.goto(f"{site}/runs")
        expect(page.locator("#list tbody tr")).to_have_count(1)


# ---- how it looks and weighs ---------------------------------------------------------------


def filled(page, path):
    if path == "/actions":
        scored(page)
    elif path == "/models":
        for name in ("minilm", "mpnet"):
            page.get_by_label(name).uncheck()
        page.get_by_label("scripted").check()
    elif path == "/audit":
        audit(page)
    elif path == "/stories":
        chain(page)
        page.locator(".choice-made").nth(1).wait_for()
    elif path == "/runs":
        address = page.url.removesuffix(path)
        asked = {"actions": ACTIONS, "encoder": "scripted"}
        for _ in range(2):
            record = page.request.post(f"{address}/v1/score", data=asked).json()
            page.request.post(f"{address}/api/site/runs", data=record)
        page.reload()
        expect(page.locator("#list tbody tr")).to_have_count(2)


SIZES = (1366, 768, 390)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_fits_and_reads_at_every_size_in_light_and_dark(site, open_page, path):
    page = open_page(f"{site}{path}", warned=path != "/actions")
    filled(page, path)
    for width in SIZES:
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(250)  # charts are drawn anew, colours fade
            assert_fits(page)
            if (width, scheme) in ((1366, "dark"), (390, "light")):
                assert_accessible(page)
            if SHOTS:
                page.evaluate("scrollTo(0, 0)")
                name = f"{path[1:]}-{width}-{scheme}.png"
                page.screenshot(path=Path(SHOTS, name), full_page=True)


def test_the_content_warning_stays_away_once_understood(site, open_page):
    page = open_page(f"{site}/audit", warned=False)
    page.get_by_role("button", name="Understood").click()
    page.reload()
    expect(page.locator("#warning")).to_be_hidden()


def weighed(page):
    """Return when something was painted first, in milliseconds, and what was fetched, in bytes."""
    page.wait_for_load_state("load")
    wait_until(page, "performance.getEntriesByName('first-contentful-paint').length > 0")
    script = """() => [performance.getEntriesByName("first-contentful-paint")[0].startTime,
        ["resource", "navigation"].flatMap((kind) => performance.getEntriesByType(kind))
          .reduce((sum, each) => sum + each.encodedBodySize, 0)]"""
    found = page.evaluate(script)
    page.context.close()
    return found


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_light_and_soon_painted(site, open_page, path):
    paint, weight = weighed(open_page(f"{site}{path}"))
    for _ in range(2):  # others may be at work here
        if paint >= 1000:
            paint, _ = weighed(open_page(f"{site}{path}"))
    print(f"{path}: first paint {paint:.0f} ms, {weight / 1e6:.2f} MB")
    assert paint < 1000
    assert weight < 350_000


# ---- the frame -----------------------------------------------------------------------------


def test_light_or_dark_is_chosen_once_for_all_pages(site, open_page):
    page = open_page(f"{site}/about")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(251, 250, 248)"
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(paper) == "rgb(20, 23, 26)"
    go(page, f"{site}/rules")
    assert page.evaluate(paper) == "rgb(20, 23, 26)"
    assert_accessible(page)
    page.keyboard.press("t")
    assert page.evaluate(paper) == "rgb(251, 250, 248)"


def test_shortcuts_are_shown_and_work(site, open_page):
    page = open_page(f"{site}/runs")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("k")
    page.wait_for_url(re.compile("/rules"))
    page.wait_for_selector("html[data-ready]")
    page.keyboard.press("/")
    expect(page.get_by_label("Search Our rules")).to_be_focused()


def test_an_address_that_is_not_there_is_a_page_of_ours(site, open_page):
    page = open_page(f"{site}/about")
    answer = page.goto(f"{site}/nowhere")
    assert answer.status == 404
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    assert_accessible(page)
    assert_fits(page)
    page.get_by_role("link", name="Score actions").click()
    page.wait_for_url(re.compile("/actions"))


def test_on_a_phone_a_shared_link_shows_results_before_the_form(site, open_page):
    page = open_page(f"{site}/actions", width=390)
    scored(page)
    form = page.locator("#form")
    assert form.bounding_box()["y"] < page.locator("#results").bounding_box()["y"]
    other = open_page(page.url, width=390)
    other.locator("#found:not(.stale)").wait_for()
    results, form = (other.locator(each).bounding_box()["y"] for each in ("#results", "#form"))
    assert results < form
    assert results < 400
