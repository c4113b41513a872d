"""Reports in a real Chromium: they open fast, ask nothing of the network and run no one's text."""

import shutil

import pytest

from moralscope.pages import write_report

from ..unit.pages.plain_records import (
    HOSTILE,
    compare_record,
    record,
    score_record,
    unknown_record,
    words_record,
)
from ..unit.pages.test_audit_page import audit_record, flagged_record
from ..unit.pages.test_audit_page import row as audited
from ..unit.pages.test_chain_page import chain_record, row
from ..unit.pages.test_rules_and_survey_pages import MAKERS
from .chromium import Chromium, find
from .site import assert_accessible, assert_fits

pytestmark = pytest.mark.browser


def evaluate_record(task="action+context+consequence", texts=("Jo waits.",)):
    found = {"value": 0.75, "low": 0.5, "high": 0.9}
    bins = [
        {"low": 0.5, "high": 1.0, "confidence": 0.6 + n / 10, "accuracy": 0.5 + n / 10, "n": 9}
        for n in range(4)
    ]
    measured = {"accuracy": found, "f1": found, "f1_macro": found, "ece": 0.1, "nll": 0.5,
                "stories": 20, "samples": 40, "reliability": bins}  # fmt: skip
    mistakes = [
        {"id": text, "grounding": text, "target": text, "right": "moral", "called": "immoral",
         "probability": 0.01} for text in texts
    ]  # fmt: skip
    cell = {
        **dict.fromkeys(("calibration", "against", "swapped", "shortcut", "paper_f1")),
        "expert": "mpnet",
        "task": task,
        "split": "norm_distance",
        "part": "test",
        "seen": 0,
        "measured": measured,
        "paper_accuracy": 0.9,
        "reversed": [
            {"variant": 0, "samples": 4, "accuracy": found, "original": found, "coverage": 1.0}
        ],
        "confusion": {"labels": ["immoral", "moral"], "counts": [[9, 1], [2, 8]]},
        "mistakes": mistakes,
    }
    config = {"experts": task, "part": "test"}
    return record("stories evaluate", [cell] * 3, config=config, statistics={"card": {}})


KINDS = {
    "score": lambda: score_record(
        [f"do thing {n}" for n in range(40)], axis="direction", human=True
    ),
    "words": words_record,
    "compare": lambda: compare_record([f"do thing {n}" for n in range(30)]),
    "unknown": unknown_record,
    "evaluate": evaluate_record,
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    binary = find()
    if binary is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    chromium = Chromium(binary, tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()


@pytest.fixture
def show(browser, tmp_path):
    def opened(plain, **view):
        path = tmp_path / "report.html"
        write_report(plain, path)
        browser.open(path, **view)
        return browser

    return opened


def assert_calm(browser):
    assert browser.requests() == []
    assert browser.dialogs() == []
    assert browser.logged() == []
    assert browser.run("document.body.innerText.includes('could not be drawn')") is False


def test_this_browser_would_tell(browser, tmp_path):
    """The other tests prove nothing unless a bad page is caught: here is one."""
    path = tmp_path / "bad.html"
    path.write_text(
        "<html data-ready=1 data-complete=1><img src=http://127.0.0.1:9/x onerror=alert('ran')>"
    )
    browser.open(path)
    browser.run("new Promise(done => setTimeout(done, 500))")
    assert browser.requests() == ["http://127.0.0.1:9/x"]
    assert browser.dialogs() == ["ran"]
    assert browser.logged()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1280, 390])
def test_every_chart_is_drawn_and_fits_the_screen(show, kind, width):
    browser = show(KINDS[kind](), width=width)
    assert_calm(browser)
    charts = browser.run("document.querySelectorAll('.chart').length")
    assert charts >= (kind != "unknown")
    assert browser.run("document.querySelectorAll('.chart > svg').length") >= charts
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_the_typeface_comes_with_the_file(show):
    browser = show(KINDS["score"]())
    browser.run("document.fonts.ready.then(() => true)")
    assert browser.run("[...document.fonts].map((font) => [font.family, font.status])") == [
        ["Inter", "loaded"]
    ]
    assert_calm(browser)


def many_audited():
    plain = audit_record()
    plain["results"] += [audited(str(n), f"Go away, number {n}.", True) for n in range(3, 30)]
    return plain


READ = {
    "audit": flagged_record,
    "audits": many_audited,
    "score": KINDS["score"],
    "compare": KINDS["compare"],
    "survey": lambda: MAKERS["survey"](None),
    "values": lambda: MAKERS["values"](None),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", READ)
def test_reports_are_accessible_with_all_that_they_fold(chromium, tmp_path, kind, scheme):
    write_report(READ[kind](), tmp_path / "report.html")
    context = chromium.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-complete]")
    page.locator("details").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
    for opener in page.locator("tbody .opener").all()[:2]:
        opener.click()
    assert_accessible(page)
    assert_fits(page)
    context.close()


def test_five_thousand_actions_open_in_three_seconds(browser, tmp_path):
    first = tmp_path / "0.html"
    actions = [f"do something of ordinary length number {n}" for n in range(5000)]
    write_report(score_record(actions, axis="direction"), first)
    size = first.stat().st_size
    assert size <= 1_500_000
    times = [browser.open(first)]
    for number in (1, 2):  # another file: nothing of it is compiled yet
        times.append(browser.open(shutil.copy(first, tmp_path / f"{number}.html")))
    print(f"5,000 actions: {size / 1e6:.2f} MB, in view after {min(times):.2f} s")
    assert min(times) < 3.0
    assert_calm(browser)
    assert browser.run("document.querySelectorAll('#b0 .ytick').length") == 25


@pytest.mark.parametrize(
    "plain",
    [
        score_record(HOSTILE, axis="direction", human=True),
        compare_record(HOSTILE),
        {**words_record(), "results": [
            {"word": text, "group": text, "bias": n / 10, "association": n / 7, "low": 0, "high": 1}
            for n, text in enumerate(HOSTILE)
        ]},
        chain_record([row(text, choice=text, norm=text) for text in HOSTILE]),
        evaluate_record(HOSTILE[0], HOSTILE),
        record(HOSTILE[1], [{HOSTILE[0]: text} for text in HOSTILE], config={"<b>": HOSTILE[0]}),
    ],
    ids=["score", "compare", "words", "chain", "evaluate", "unknown"],
)  # fmt: skip
def test_hostile_text_is_shown_as_text(show, plain):
    browser = show(plain)
    assert_calm(browser)
    strange = "main img, main a, main b, main i, main svg a, main [onload], main [onerror]"
    assert browser.run(f"document.querySelectorAll({strange!r}).length") == 0
    assert HOSTILE[0] in browser.run("document.body.innerText")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_tables_of_a_chain_break_between_words_and_fit_the_screen(show, width):
    long = "x" * 3000
    browser = show(chain_record([row(target="immoral"), row("2" * 40, choice=long)]), width=width)
    assert_calm(browser)
    assert browser.run("document.documentElement.scrollWidth") <= width
    broken = (
        "(() => { const cell = [...document.querySelectorAll('td')].find("
        "c => c.textContent === 'immoral'); const range = document.createRange();"
        "range.selectNodeContents(cell); return range.getClientRects().length })()"
    )
    assert browser.run(broken) == 1
    widest = "Math.max(...[...document.querySelectorAll('td')].map(c => c.offsetWidth))"
    assert browser.run(widest) < 1000


def test_a_mistake_is_opened_to_see_what_was_read(show):
    browser = show(evaluate_record(texts=["Jo <b>waits</b>."]))
    browser.run(
        "[...document.querySelectorAll('.table')].findLast(t => t.querySelector('td button'))"
        ".querySelector('td button').click()"
    )
    told = browser.run("document.querySelector('.details').innerText")
    assert "Jo <b>waits</b>." in told
    assert "norm distance" in told


def test_hostile_labels_are_text_in_charts_and_in_hover(show):
    browser = show(score_record(HOSTILE, axis="direction"))
    ticks = browser.run("[...document.querySelectorAll('#b0 .ytick')].map(t => t.textContent)")
    assert "<img src=x onerror=alert(1)>" in ticks
    browser.run(
        "(() => { const box = b0.querySelector('svg').getBoundingClientRect(),"
        " at = moralscope.charts.pointsOf(b0)[0]; b0.dispatchEvent(new PointerEvent('pointermove',"
        " {clientX: box.left + at.x, clientY: box.top + at.y})) })()"
    )
    hover = browser.run("document.querySelector('#b0 .tip').textContent")
    assert hover.startswith("<img src=x onerror=alert(1)>")
    assert "Is it fine, way 9, to {}?" in hover
    assert browser.run("document.querySelector('#b0 .tip').hidden") is False
    assert browser.run("document.querySelectorAll('.tip *, .chart a, .chart image').length") == 0
    assert_calm(browser)


def test_labels_of_the_map_do_not_overlap(show):
    browser = show(score_record([f"do thing {n}" for n in range(60)], axis="direction"))
    boxes = browser.run(
        "[...document.querySelectorAll('.chart .label')].map(t => {"
        "const b = t.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]})"
    )
    assert len(boxes) >= 15
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            apart = one[0] >= other[2] - 1 or other[0] >= one[2] - 1
            assert apart or one[1] >= other[3] - 1 or other[1] >= one[3] - 1


def test_dragging_zooms_in_and_names_more_actions_until_a_double_click(show):
    browser = show(score_record([f"do thing {n}" for n in range(400)], axis="direction"))
    many = "c => c.querySelectorAll('.label').length > 5"
    chart = browser.run(f"[...document.querySelectorAll('.chart')].find({many}).id")
    names = f"[...document.querySelectorAll('#{chart} .label')].map(a => a.textContent)"
    before = browser.run(names)
    browser.run(
        f"(() => {{ const c = {chart}, box = c.querySelector('svg').getBoundingClientRect(),"
        " go = (kind, x, y) => c.dispatchEvent(new PointerEvent(kind, {pointerType: 'mouse',"
        " clientX: box.left + x * box.width, clientY: box.top + y * box.height}));"
        " go('pointerdown', .45, .4); go('pointermove', .6, .6); go('pointerup', .6, .6); })()"
    )
    assert set(browser.run(names)) - set(before)
    browser.run(f"{chart}.dispatchEvent(new MouseEvent('dblclick'))")
    assert browser.run(names) == before


def test_colours_follow_the_readers_scheme_also_while_open(show):
    browser = show(score_record())
    ink = "getComputedStyle(document.querySelector('#b0 .xtick')).fill"
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(ink), browser.run(paper)
    browser.view(1280, dark=True)
    dark = browser.run("new Promise(r => setTimeout(r, 300))"), browser.run(paper)
    assert light == ("rgb(32, 36, 43)", "rgb(251, 250, 248)")
    assert browser.run(ink) == "rgb(232, 233, 234)"
    assert dark[1] == "rgb(20, 23, 26)"


def test_the_table_is_searched_sorted_paged_and_opened_from_the_keyboard(show):
    browser = show(score_record([f"do thing {n}" for n in range(300)]))
    browser.run(
        "window.t = [...document.querySelectorAll('.table')].find(e => e.querySelector('.opener'))"
    )
    assert browser.run("t.querySelectorAll('tbody tr').length") == 25
    assert browser.run("t.querySelector('.count').textContent") == "1 to 25 of 300"
    browser.run("t.querySelectorAll('.page-turn')[1].click()")
    assert browser.run("t.querySelector('.count').textContent") == "26 to 50 of 300"
    browser.run(
        "s = t.querySelector('input'); s.value = 'THING 29'; s.dispatchEvent(new Event('input'))"
    )
    assert browser.run("t.querySelectorAll('tbody tr').length") == 11
    browser.run(
        "t.querySelectorAll('th button')[1].click(); t.querySelectorAll('th button')[1].click()"
    )
    assert browser.run("t.querySelector('td').textContent") == "do thing 299"
    assert browser.run("t.querySelectorAll('th')[1].getAttribute('aria-sort')") == "ascending"
    browser.run("t.querySelector('td button').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.send("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r",
                     windowsVirtualKeyCode=13)  # fmt: skip
    assert browser.run("t.querySelectorAll('.details dd').length") == 10


def test_contents_lead_to_every_section_and_settings_are_folded(show):
    browser = show(score_record(axis="direction"))
    titles = browser.run("[...document.querySelectorAll('main h2')].map(h => h.textContent)")
    links = browser.run("[...document.querySelectorAll('nav a')].map(a => a.textContent)")
    assert links == titles
    assert browser.run(
        "[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"
    )
    folded = browser.run(
        "[...document.querySelectorAll('details:not([open]) h2')].map(h => h.textContent)"
    )
    assert folded == ["How strong is the direction", "How it was computed"]
    browser.run("document.querySelector('details').open = true")
    browser.run("new Promise(done => setTimeout(done, 100))")
    assert browser.run("document.querySelector('details .chart svg').clientWidth") > 300


def test_a_chart_and_a_table_can_be_taken_away(show):
    plain = compare_record(["help", "wait", "harm", "=1+1"])
    plain["results"][0]["differences"][0].update(difference=9.0, p_holm=3e-9)
    browser = show(plain)
    assert browser.run(
        "[...document.querySelectorAll('td')].some(c => c.textContent.startsWith('<0.001'))"
    )
    svg = browser.run("moralscope.charts.toSvg(b0)")
    assert svg.startswith("<svg")
    assert "</svg>" in svg
    assert "var(" not in svg  # colours are written out: the picture stands alone
    size = browser.run("moralscope.charts.toPng(b0).then(blob => blob.size)")
    assert size > 3000
    csv = browser.run(
        "new Promise(done => { URL.createObjectURL = (blob) => (blob.text().then(done), '#');"
        " [...document.querySelectorAll('.save-table')].at(-1).click() })"
    )
    assert csv.startswith("action,minilm,mpnet,difference,")
    assert "\r\n'=1+1," in csv


def test_light_or_dark_can_be_chosen(show):
    browser = show(score_record())
    paper = "getComputedStyle(document.body).backgroundColor"
    browser.run("lamp.click()")
    assert browser.run(paper) == "rgb(20, 23, 26)"
    assert browser.run("getComputedStyle(document.querySelector('#b0 .xtick')).fill") == (
        "rgb(232, 233, 234)"
    )
    browser.run("lamp.click()")
    assert browser.run(paper) == "rgb(251, 250, 248)"


def test_charts_have_words_for_who_cannot_see_them(show):
    browser = show(score_record(axis="direction", human=True))
    said = browser.run("[...document.querySelectorAll('.chart')].map(c => c.ariaLabel)")
    assert all(len(text) > 40 for text in said)


def test_it_prints_in_light_colours_even_in_dark_mode(show):
    browser = show(score_record(), dark=True)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(251, 250, 248)"
    ink = "getComputedStyle(document.querySelector('#b0 .xtick')).fill"
    assert browser.run(ink) == "rgb(32, 36, 43)"
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert len(browser.send("Page.printToPDF")["data"]) > 20_000
