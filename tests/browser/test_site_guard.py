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
        expect(page.locator("#views .chart svg")).to_have_count(4)
        expect(page.locator("#views")).to_contain_text(RULE)
        expect(page.locator("#views")).to_contain_text("risk ignorance")
        page.get_by_label("Period").select_option("1")
        expect(page.get_by_role("heading", name="Replies per hour")).to_be_visible()
        opener, decisions = page.locator("#decisions .opener"), page.locator("#decisions")
        expect(opener).to_have_count(3)
        opener.first.click()
        expect(decisions).to_contain_text("Concern: It ignores a risk.")
        if texts:
            expect(decisions).to_contain_text("She said <b>it</b>.")
        assert_accessible(page)
        phone = open_page(f"{address}/guard", width=390)
        assert_fits(phone)


def test_replies_are_listed_by_outcome_and_counted_over_the_whole_retention(tmp_path, open_page):
    log = GuardLog(tmp_path / "guard.sqlite", 400)
    logged(log)
    now = time.time()
    old = [LoggedDecision(now - 86_400 * day, "kept", "", "", 0.2) for day in range(40, 390, 7)]
    log.add(old)
    guard = Guard(Service(), GuardOptions(experts="scripted"), log)
    with served(tmp_path, proxy=Proxy(guard)) as address:
        page = open_page(f"{address}/guard", width=1366)
        decisions, count = page.locator("#decisions"), page.locator("#count")
        expect(count).to_have_text("1 to 3 of 3, the newest first.")
        page.get_by_label("Outcome").select_option("Not judged")
        expect(count).to_have_text("1 to 1 of 1, the newest first.")
        expect(decisions).to_contain_text("Not judged")
        page.get_by_label("Outcome").select_option("Revised")
        expect(count).to_have_text("There is no such reply in this period.")
        assert_accessible(page)
        page.get_by_label("Period").select_option("Last 400 days")
        expect(page.get_by_role("heading", name="Replies per 4 weeks")).to_be_visible()
        expect(page.get_by_role("heading", name="Audit time per 4 weeks")).to_be_visible()
        page.get_by_label("Outcome").select_option("Fine")
        expect(count).to_have_text("1 to 25 of 56, the newest first.")
        expect(page.get_by_role("button", name="Newer")).to_be_disabled()
        page.get_by_role("button", name="Older").click()
        page.get_by_role("button", name="Older").click()
        expect(count).to_have_text("51 to 56 of 56, the newest first.")
        expect(page.get_by_role("button", name="Older")).to_be_disabled()
        page.get_by_label("Outcome").select_option("All flagged")  # from its beginning
        expect(count).to_have_text("1 to 3 of 3, the newest first.")
        opener = page.locator("#views .opener", has_text=RULE)
        opener.click()
        assert sum(int(n) for n in page.locator("#views .details dd").all_text_contents()) == 3
        phone = open_page(f"{address}/guard", width=390)
        expect(phone.locator("#decisions")).to_contain_text(RULE)
        assert_fits(phone)
        cut = "() => document.querySelector('#decisions').scrollWidth - innerWidth"
        assert phone.evaluate(cut) <= 0
        assert_accessible(phone)


def test_without_a_log_the_page_says_how_to_get_one(site, open_page):
    page = open_page(f"{site}/guard")
    expect(page.locator("#empty")).to_contain_text("The guard keeps no log")
    assert_accessible(page)
