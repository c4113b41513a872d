"""Jobs and runs in a real Chromium: watched, left, cancelled; opened, compared, deleted."""

import json
import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

from moralscope.server.site.chains import _WatchedGenerator

from .site import (
    ACTIONS,
    assert_accessible,
    audit,
    chain,
    go,
    more,
    scored,
    served,
    slow_encoder,
    wait_until,
)

pytestmark = pytest.mark.browser


def test_long_work_shows_progress_and_can_be_cancelled(site, open_page, monkeypatch):
    inner = _WatchedGenerator.generate

    def slow(self, *given):
        time.sleep(0.7)
        return inner(self, *given)

    monkeypatch.setattr(_WatchedGenerator, "generate", slow)
    page = open_page(f"{site}/stories")
    chain(page)
    page.locator(".tree.moral .live").first.wait_for()
    expect(page.locator("#progress")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#trouble")).to_contain_text("Cancelled")
    expect(page.locator("#working")).to_be_hidden()
    go(page, f"{site}/runs")
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()


def test_old_results_are_greyed_while_a_new_run_works(tmp_path, open_page, monkeypatch):
    with served(tmp_path) as site:
        page = open_page(f"{site}/actions")
        scored(page, axis="Choice")
        slow_encoder(monkeypatch, 1.0)
        page.get_by_label("One action per line").fill("plant a tree\nburn a house")
        page.get_by_role("button", name="Score actions").click()
        expect(page.locator("#found")).to_have_class(re.compile("stale"))
        expect(page.get_by_role("heading", name="2 actions, scripted")).to_be_visible()
        expect(page.locator("#found")).not_to_have_class(re.compile("stale"))


def test_a_job_goes_on_when_its_page_is_left_and_is_found_again(tmp_path, open_page, monkeypatch):
    slow_encoder(monkeypatch, 2.0)
    with served(tmp_path) as site:
        page = open_page(f"{site}/actions")
        page.get_by_role("radio", name="Choice").check()
        page.get_by_label("Model", exact=True).select_option("scripted")
        page.get_by_role("button", name="Score actions").click()
        expect(page.locator("#progress-text")).not_to_be_empty()
        go(page, f"{site}/runs")
        job = page.locator(".job-line", has_text="score: 7 actions")
        expect(job).to_have_count(1)
        expect(page.locator("#running-jobs")).to_contain_text("running")
        assert_accessible(page)
        job.get_by_role("link", name="Watch").click()
        expect(page.get_by_role("heading", name="7 actions, scripted")).to_be_visible()
        go(page, f"{site}/runs")
        expect(page.locator("#list tbody tr")).to_have_count(1)
        expect(page.locator("#list tbody th")).to_contain_text("7 actions, choice, scripted: ")


def test_a_run_is_opened_with_every_setting_and_run_again(site, open_page, tmp_path):
    page = open_page(f"{site}/actions")
    page.get_by_role("radio", name="Direction").check()
    more(page)
    page.get_by_label("Direction fitted from").select_option("labelled")
    scored(page)
    go(page, f"{site}/audit")
    page.get_by_label("Both").check()
    page.locator("#book").fill("It's wrong to steal from a friend.\n")
    more(page)
    page.get_by_label("Rules per reply").select_option("10")
    audit(page)
    other = open_page(f"{site}/runs")
    other.locator("#list th a", has_text="5 actions, direction").click()
    other.locator("#found").wait_for()
    assert other.get_by_label("Direction fitted from").input_value() == "labelled"
    assert other.get_by_label("Model", exact=True).input_value() == "scripted"
    go(other, f"{site}/runs")
    other.get_by_role("link", name=re.compile("^Run again: audit of")).click()
    other.wait_for_url(re.compile("run="))
    other.locator("#found:not(.stale)").wait_for()
    assert other.get_by_label("Both").is_checked()
    assert other.locator("#book").input_value() == "It's wrong to steal from a friend.\n"
    assert other.get_by_label("Rules per reply").input_value() == "10"
    expect(other.locator("#working")).to_be_hidden()
    go(other, f"{site}/runs")
    expect(other.locator("#list tbody tr")).to_have_count(3)


def test_runs_are_searched_renamed_and_deleted_several_at_a_time(site, open_page):
    page = open_page(f"{site}/actions", accept_downloads=True)
    asked = {"encoder": "scripted", "axis": "choice"}
    for number in range(12):
        given = {"kind": "score", "request": {**asked, "actions": [f"do thing {number}"]}}
        page.request.post(f"{site}/api/site/jobs", data=given)
    page.wait_for_timeout(1500)
    go(page, f"{site}/runs")
    expect(page.locator("#list tbody tr")).to_have_count(12)
    page.get_by_label("Search runs").fill("thing 11")
    expect(page.locator("#list tbody tr")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^Rename")).click()
    page.locator("#new-name").fill("my favourite")
    page.locator("#naming").get_by_role("button", name="Rename").click()
    page.get_by_label("Search runs").fill("")
    expect(page.get_by_role("link", name="my favourite", exact=True)).to_be_visible()
    for box in page.locator("#list tbody input").all()[1:4]:
        box.check()
    page.get_by_role("button", name="Delete 3").click()
    assert_accessible(page)
    page.get_by_role("button", name="Cancel", exact=True).first.click()
    expect(page.locator("#list tbody tr")).to_have_count(12)
    page.get_by_role("button", name="Delete 3").click()
    page.locator("#sure").get_by_role("button", name="Delete").click()
    expect(page.locator("#list tbody tr")).to_have_count(9)


def test_runs_have_tags_that_a_link_keeps_and_a_figure_is_followed_over_them(site, open_page):
    page = open_page(f"{site}/actions")
    for reply in ("I would steal from a friend.", "Keep it.", "I would lie."):
        exchanges = [{"prompt": "", "reply": reply}, {"prompt": "", "reply": f"{reply} Twice."}]
        asked = {"exchanges": exchanges, "experts": "scripted"}
        page.request.post(f"{site}/api/site/jobs", data={"kind": "audit", "request": asked})
    wait_until(page, f"async () => (await (await fetch('{site}/api/site/runs')).json()).length > 2")
    go(page, f"{site}/runs")
    for number in (0, 2):
        page.get_by_role("button", name=re.compile("^Tags of")).nth(number).click()
        page.get_by_label("Tags", exact=False).last.fill("weekly, release 2")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("#list tbody tr").nth(number).locator(".tags")).to_contain_text(
            "weekly"
        )
    page.get_by_label("Filter by tag").select_option("weekly")
    expect(page.locator("#run-count")).to_have_text("2 of 3 shown")
    page.locator("#trend > summary").click()
    page.get_by_label("Figure").select_option("mean score")
    expect(page.locator("#trend-chart svg")).to_be_visible()
    expect(page.locator("#trend-chart")).to_have_attribute(
        "aria-label", re.compile("mean score over 2 runs")
    )
    assert_accessible(page)
    other = open_page(page.url)
    expect(other.locator("#run-count")).to_have_text("2 of 3 shown")
    expect(other.get_by_label("Figure")).to_have_value("mean score")
    expect(other.locator("#trend-chart svg")).to_be_visible()
    other.get_by_label("Search runs").fill("no such run")
    expect(other.locator("#list")).to_contain_text("No run matches.")


def test_a_record_is_added_and_a_report_opened_in_a_tab(site, open_page, tmp_path):
    page = open_page(f"{site}/actions", accept_downloads=True)
    scored(page, axis="Choice")
    go(page, f"{site}/runs")
    with page.expect_download() as download:
        page.get_by_role("button", name="Record of").first.click()
    assert "page" not in json.loads(Path(download.value.path()).read_text())
    page.get_by_label("Add a run record").set_input_files(download.value.path())
    expect(page.locator("#list tbody tr")).to_have_count(2)
    for name, content, told in (
        ("my.txt", b"no record", "my.txt isn"),
        ("my.json", b"{}", "is not a run record"),
    ):
        page.get_by_label("Add a run record").set_input_files(
            {"name": name, "mimeType": "text/plain", "buffer": content}
        )
        expect(page.locator("#trouble")).to_contain_text(told)
    with page.context.expect_page() as tab:
        page.get_by_role("button", name="Report of").first.click()
    report = tab.value
    report.wait_for_selector("html[data-complete]")
    expect(report.get_by_role("heading", name="How scripted scores 5 actions")).to_be_visible()
    assert report.locator(".chart svg").count() == 1
    assert report.evaluate("self.origin") == "null"  # it can ask this server for nothing
    assert report.reload().status == 200


def test_runs_of_one_axis_are_compared_with_a_chart_and_others_standardised(site, open_page):
    page = open_page(f"{site}/actions")
    scored(page, axis="Choice")
    scored(page, axis="Choice", actions=[*ACTIONS[:3], "burn a house"])
    go(page, f"{site}/runs")
    for box in page.locator("#list tbody input").all():
        box.check()
    page.get_by_role("button", name="Compare").click()
    compared = page.locator("#compared")
    expect(compared).to_contain_text("Every item")
    assert compared.locator(".chart .points").count() >= 1
    assert_accessible(page)
    go(page, f"{site}/actions")
    scored(page, axis="Direction")
    go(page, f"{site}/runs")
    for box in page.locator("#list tbody input").all()[:2]:
        box.check()
    page.get_by_role("button", name="Compare").click()
    expect(compared).to_contain_text("he runs differ in axis")
    page.get_by_role("button", name="Compare standardised scores").click()
    expect(compared).to_contain_text("Comparison, standardised")


def test_two_audits_are_compared_by_their_verdicts(site, open_page):
    page = open_page(f"{site}/audit")
    rows = [{"prompt": f"Do you lie on day {n}?", "reply": f"Only on day {n}."} for n in range(6)]
    ids = []
    for flag in (False, True):
        asked = {"exchanges": rows, "experts": "scripted"}
        record = page.request.post(f"{site}/v1/audit", data=asked).json()
        for place, row in enumerate(record["results"]):
            row["verdict"]["flag"] = flag and place < 2
        ids.append(page.request.post(f"{site}/api/site/runs", data=record).json()["id"])
    go(page, f"{site}/runs")
    for box in page.locator("#list tbody input").all():
        box.check()
    page.get_by_role("button", name="Compare").click()
    compared = page.locator("#compared")
    expect(compared).to_contain_text("Every item")
    expect(compared).to_contain_text("no → yes")
    assert_accessible(page)
