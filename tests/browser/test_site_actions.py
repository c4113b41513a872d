"""The page Actions in a real Chromium: score, look, compare, take away; by keyboard too."""

import json
import re

import pytest
from playwright.sync_api import expect

from moralscope.models.encoders import load_encoder
from moralscope.server import models as serving_models

from .site import ACTIONS, HOSTILE, assert_accessible, export, go, more, scored, served

pytestmark = pytest.mark.browser
HUMAN = "action,yes,no\n" + "".join(f"{each},{9 - n},{n + 1}\n" for n, each in enumerate(ACTIONS))


def test_actions_are_scored_drawn_and_looked_into(site, open_page):
    page = open_page(f"{site}/actions")
    scored(page)
    expect(page.get_by_role("heading", name="5 actions, scripted")).to_be_visible()
    drawn = page.locator(".chart .points[data-count]").evaluate_all(
        "(all) => all.reduce((sum, each) => sum + Number(each.dataset.count), 0)"
    )
    assert drawn > 2 * len(ACTIONS)  # both charts are drawn
    assert page.locator("#table tbody tr").count() == len(ACTIONS)
    assert_accessible(page)

    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    place = chart.evaluate("(each) => moralscope.charts.pointsOf(each)[0]")
    box = chart.bounding_box()
    page.mouse.move(box["x"] + place["x"], box["y"] + place["y"])
    expect(chart.locator(".tip")).to_contain_text("score")
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    expect(page.locator("#detail h3")).to_contain_text("by wording")
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
    page.locator("#list th a").first.click()
    page.locator("#found").wait_for()


def test_a_link_restores_everything(site, open_page):
    page = open_page(f"{site}/actions")
    scored(page, axis="Judge")
    before = page.locator("#table").inner_text()
    other = open_page(page.url)
    other.locator("#found").wait_for()
    assert other.locator("#table").inner_text() == before
    assert other.get_by_role("radio", name="Judge").is_checked()
    assert other.get_by_label("One action per line").input_value() == "\n".join(ACTIONS)


def test_record_csv_and_svg_can_be_taken_away(site, open_page, tmp_path):
    page = open_page(f"{site}/actions", accept_downloads=True)
    scored(page, actions=["=1+1", *ACTIONS])
    found = {}
    for name in ("JSON", "CSV", "SVG", "PNG"):
        with page.expect_download() as download:
            export(page, name)
        download.value.save_as(tmp_path / name)
        found[name] = (tmp_path / name).read_bytes().decode("utf-8", "replace")
    assert json.loads(found["JSON"])["schema"] == "moralscope.run/1"
    assert "page" not in json.loads(found["JSON"])
    assert found["CSV"].startswith("action,model,axis,score,low,high,")
    assert "\r\n'=1+1,scripted" in found["CSV"]  # no formula for a spreadsheet
    assert "<svg" in found["SVG"]
    assert "help people" in found["SVG"]
    assert found["PNG"][1:4] == "PNG"


class Renamed:
    """An encoder under another name, with other rows."""

    arithmetic = "float32"

    def __init__(self, name, **_):
        inner = load_encoder("scripted")
        self.name, self.checksum, self.dimension = name, name, inner.dimension
        self.inner = inner

    def encode(self, texts):
        return self.inner.encode([f"{each} {self.name}" for each in texts])


def test_models_and_people_side_by_side(tmp_path, open_page, monkeypatch):
    monkeypatch.setattr(serving_models, "checked", lambda name, known, what: name)
    monkeypatch.setattr(serving_models, "load_encoder", Renamed)
    people = tmp_path / "people.csv"
    people.write_text(HUMAN)
    with served(tmp_path) as site:
        page = open_page(f"{site}/models")
        page.get_by_role("radio", name="Choice").check()
        page.get_by_role("button", name="Compare models").click()
        page.locator("#found:not(.stale)").wait_for()
        page.get_by_label("One action per line").fill("\n".join(ACTIONS))
        page.get_by_role("checkbox", name="use-lite").check()
        more(page)
        page.get_by_label("Ratings by people").set_input_files(people)
        expect(page.locator("#human-name")).to_contain_text("people.csv")
        page.get_by_role("button", name="Compare models").click()
        heading = page.get_by_role("heading", name="minilm, mpnet, use-lite: 5 actions")
        expect(heading).to_be_visible()
        assert page.locator("#views tbody tr").count() >= 6  # pairs of models; people beside each
        expect(page.locator("#views")).to_contain_text("people")
        assert page.locator("#views .end").count() > 3
        assert_accessible(page)
        again = open_page(page.url)
        expect(again.locator("#views")).to_contain_text("Largest differences")
        assert again.get_by_role("checkbox", name="use-lite").is_checked()
        page.get_by_role("checkbox", name="mpnet").uncheck()
        page.get_by_role("checkbox", name="use-lite").uncheck()
        page.get_by_role("button", name="Compare models").click()
        expect(page.locator("#trouble")).to_contain_text("Select at least two models")


def test_a_long_list_is_searched_sorted_and_paged(site, open_page):
    page = open_page(f"{site}/actions")
    scored(page, axis="Choice", actions=[f"do thing {n}" for n in range(900)])
    assert page.locator("#table tbody tr").count() == 25
    assert page.evaluate("document.documentElement.scrollHeight") < 5000
    expect(page.locator("#table .count")).to_have_text("1 to 25 of 900")
    page.locator("#table").get_by_role("button", name="Next").click()
    expect(page.locator("#table .count")).to_have_text("26 to 50 of 900")
    page.get_by_label("Search All actions").fill("thing 89")
    expect(page.locator("#table .count")).to_contain_text("1 to 11 of 11 (900 in all)")
    page.locator("#table").get_by_role("button", name="action", exact=False).first.click()
    expect(page.locator("#table th[aria-sort]")).to_contain_text("action")


def test_whoever_opens_a_file_and_runs_at_once_means_the_file(site, open_page, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("phrase,note\nsteal a bike,x\nread a book,y\nhelp a friend,z\n")
    page = open_page(f"{site}/actions")
    page.get_by_role("radio", name="Choice").check()
    page.get_by_label("Model", exact=True).select_option("scripted")
    page.locator("#upload").set_input_files(table)
    expect(page.locator("#chooser")).to_contain_text("3 rows")
    page.get_by_role("button", name="Score actions").click()
    page.locator("#found:not(.stale)").wait_for()
    expect(page.locator("#found")).to_contain_text("steal a bike")
    expect(page.locator("#chooser")).to_be_hidden()


def test_a_file_of_actions_is_opened_and_its_column_chosen(site, open_page, tmp_path):
    page = open_page(f"{site}/actions")
    table = tmp_path / "mine.csv"
    table.write_text("id;phrase;note\n1;help people;x\n2;kill time;y\n")
    page.locator("#upload").set_input_files(table)
    chooser = page.locator("#chooser")
    expect(chooser).to_contain_text("2 rows; the first is")
    assert chooser.locator("select").input_value() == "1"  # phrase: a name that is known
    assert_accessible(page)
    chooser.locator("select").select_option("note")
    expect(chooser).to_contain_text("the first is “x”")
    chooser.locator("select").select_option("phrase")
    chooser.get_by_role("button", name="Use these").click()
    area = page.get_by_label("One action per line")
    expect(area).to_have_value("help people\nkill time")
    page.get_by_label("Model", exact=True).select_option("scripted")
    page.get_by_role("button", name="Score actions").click()
    page.wait_for_url(re.compile(r"\?"))
    go(page, f"{site}/runs")
    expect(page.locator("#list tbody tr")).to_contain_text("of mine.csv")
    go(page, f"{site}/actions")
    lines = tmp_path / "lines.txt"
    lines.write_text("read a book\n\nrob a bank\n")
    page.locator("#upload").set_input_files(lines)
    expect(area).to_have_value("read a book\nrob a bank")
    wrong = tmp_path / "wrong.docx"
    wrong.write_bytes(b"PK")
    page.locator("#upload").set_input_files(wrong)
    expect(page.locator("#trouble")).to_contain_text(
        "wrong.docx is not a table that the page reads"
    )


def test_an_axis_offers_its_own_models_and_options(site, open_page):
    page = open_page(f"{site}/actions")
    page.get_by_role("radio", name="Direction").check()
    more(page)
    expect(page.get_by_label("Direction fitted from")).to_be_visible()
    page.get_by_label("Model", exact=True).select_option("use-lite")
    page.get_by_role("radio", name="Judge").check()
    expect(page.get_by_label("Direction fitted from")).to_be_hidden()
    expect(page.get_by_label("Norm", exact=False)).to_be_visible()
    assert page.get_by_label("Model", exact=True).input_value() != "use-lite"
    assert page.locator("#encoder option[value=use-lite]").is_disabled()


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
