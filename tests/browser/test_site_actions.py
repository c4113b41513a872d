"""The page Actions in a real Chromium: score, look, compare, take away; by keyboard too."""

import json

import pytest
from playwright.sync_api import expect

from moralscope.models.encoders import load_encoder
from moralscope.server import models as serving_models

from .site import ACTIONS, HOSTILE, assert_accessible, go, scored, served

pytestmark = pytest.mark.browser
HUMAN = "action,yes,no\n" + "".join(f"{each},{9 - n},{n + 1}\n" for n, each in enumerate(ACTIONS))


def test_actions_are_scored_drawn_and_looked_into(site, open_page):
    page = open_page(f"{site}/actions")
    scored(page)
    expect(page.get_by_role("heading", name="5 actions, scripted")).to_be_visible()
    assert page.locator(".chart .point").count() > 2 * len(ACTIONS)  # both charts are drawn
    assert page.locator("#table tbody tr").count() == len(ACTIONS)
    assert_accessible(page)

    box = page.locator(".chart").first.locator(".point").first.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#detail h3")).to_contain_text("under every wording")
    assert page.locator("#detail .prompts li").count() == 10
    page.get_by_role("button", name="Close").click()
    page.locator("#table").get_by_role("button", name="kill time").click()
    expect(page.locator("#detail")).to_contain_text("Should I kill time?")


def test_hostile_actions_stay_text_in_charts_and_tables(site, open_page):
    page = open_page(f"{site}/actions")
    bad = [HOSTILE, '<a href="javascript:alert(3)">x</a>', "<b>bold</b>", "$\\alpha$", "&lt;i&gt;"]
    scored(page, actions=bad)
    assert page.locator("main img, main script, main svg a, main b:has-text('bold')").count() == 0
    drawn = page.locator(".chart").first.text_content()
    assert "<b>bold</b>" in drawn
    assert "$\\alpha$" in drawn
    assert "<a href=" in page.locator("#table").inner_text()
    page.locator("#table button").first.click()
    go(page, f"{site}/runs")
    page.locator("#list a").first.click()
    page.locator("#found").wait_for()


def test_a_link_restores_everything(site, open_page):
    page = open_page(f"{site}/actions")
    scored(page, axis="Judge")
    before = page.locator("#table").inner_text()
    other = open_page(page.url)
    other.locator("#found").wait_for()
    assert other.locator("#table").inner_text() == before
    assert other.get_by_label("Judge").is_checked()
    assert other.get_by_label("Actions, one a line").input_value() == "\n".join(ACTIONS)


def test_record_csv_and_svg_can_be_taken_away(site, open_page, tmp_path):
    page = open_page(f"{site}/actions", accept_downloads=True)
    scored(page, actions=["=1+1", *ACTIONS])
    found = {}
    for name in ("Record", "CSV", "SVG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        download.value.save_as(tmp_path / name)
        found[name] = (tmp_path / name).read_bytes().decode()
    assert json.loads(found["Record"])["schema"] == "moralscope.run/1"
    assert found["CSV"].startswith("action,encoder,axis,score,low,high,")
    assert "\r\n'=1+1,scripted" in found["CSV"]  # no formula for a spreadsheet
    assert "<svg" in found["SVG"]


class Renamed:
    """An encoder under another name, with other rows."""

    arithmetic = "float32"

    def __init__(self, name, **_):
        inner = load_encoder("scripted")
        self.name, self.checksum, self.dimension = name, name, inner.dimension
        self.inner = inner

    def encode(self, texts):
        return self.inner.encode([f"{each} {self.name}" for each in texts])


def test_two_encoders_and_people_side_by_side(tmp_path, open_page, monkeypatch):
    monkeypatch.setattr(serving_models, "_checked", lambda name, known, what: name)
    monkeypatch.setattr(serving_models, "load_encoder", Renamed)
    people = tmp_path / "people.csv"
    people.write_text(HUMAN)
    with served(tmp_path) as site:
        page = open_page(f"{site}/actions")
        page.get_by_label("Beside it").select_option("mpnet")
        page.get_by_label("Ratings by people").set_input_files(people)
        expect(page.locator("#human-name")).to_contain_text("people.csv")
        scored(page, encoder="minilm")
        page.locator("#pairs").wait_for()
        assert page.locator(".view").count() == 2
        expect(page.locator("#pairs")).to_contain_text("minilm beside mpnet")
        expect(page.locator("#people")).to_contain_text("Pearson r")
        assert_accessible(page)
        go(page, f"{site}/runs")
        page.get_by_role("link", name="minilm, mpnet").click()
        page.locator("#pairs").wait_for()
        assert page.locator(".view").count() == 2


def test_keyboard_alone_is_enough(site, open_page):
    page = open_page(f"{site}/actions")
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    page.locator("#encoder").select_option("scripted")
    page.locator("#actions").focus()
    page.keyboard.press("Control+Enter")
    page.locator("#found").wait_for()
    page.locator("#table button").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#detail h3")).to_be_focused()
