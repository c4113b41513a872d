"""The page Guard in a real Chromium: what was decided, what is kept, no text unless asked for."""

import time

import pytest
from playwright.sync_api import expect

from moralscope.server.api import Proxy
from moralscope.server.guard import Guard
from moralscope.server.guard.log import GuardLog, LoggedDecision
from moralscope.server.options import GuardOptions
from moralscope.server.service import Service

from .site import assert_accessible, assert_fits, served

pytestmark = pytest.mark.browser

RULE = "You should keep the secrets that friends tell you."


def logged(log):
    now = time.time()
    kinds = ["kept"] * 6 + ["blocked"] * 3 + ["partly", "abstained"]
    log.add(
        [
            LoggedDecision(
                time=now - 3_000 * at,
                kind=kind,
                rule=RULE if kind == "blocked" else "",
                concern="risk ignorance" if kind == "blocked" else "",
                seconds=0.05 + at / 100,
                prompt="What did she say?",
                reply="She said <b>it</b>.",
                card="Flagged\nConcern: It ignores a risk.",
            )
            for at, kind in enumerate(kinds)
        ]
    )


@pytest.mark.parametrize("texts", [False, True])
def test_decisions_are_shown_and_texts_only_where_the_owner_keeps_them(tmp_path, open_page, texts):
    log = GuardLog(tmp_path / "guard.sqlite", 30, texts=texts)
    logged(log)
    guard = Guard(Service(), GuardOptions(experts="scripted"), log)
    with served(tmp_path, proxy=Proxy(guard)) as address:
        page = open_page(f"{address}/guard")
        expect(page.locator("#retention")).to_contain_text("kept for 30 days")
        expect(page.locator("#tiles")).to_contain_text("blocked")
        assert page.locator("#views .chart svg").count() == 1
        expect(page.locator("#views")).to_contain_text(RULE)
        expect(page.locator("#views")).to_contain_text("risk ignorance")
        page.get_by_label("Period").select_option("1")
        expect(page.get_by_role("heading", name="Replies per hour")).to_be_visible()
        opener = page.locator(".opener")
        assert opener.count() == 3
        opener.first.click()
        expect(page.locator("#views")).to_contain_text("Concern: It ignores a risk.")
        if texts:
            expect(page.locator("#views")).to_contain_text("She said <b>it</b>.")
        assert_accessible(page)
        phone = open_page(f"{address}/guard", width=390)
        assert_fits(phone)


def test_without_a_log_the_page_says_how_to_get_one(site, open_page):
    page = open_page(f"{site}/guard")
    expect(page.locator("#empty")).to_contain_text("The guard keeps no log")
    assert_accessible(page)
