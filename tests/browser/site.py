"""What tests of the local page share: a server without weights, and what people do on its pages."""

import contextlib
import re
import threading
import time

import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error as PlaywrightError

from moralscope.server.models import SharedEncoder

from ..site_pages import whole_app

ACTIONS = ["help people", "kill time", "kill people", "lie to a friend", "read a book"]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'{{7*7}}"
PATIENCE = 40_000  # milliseconds: a busy machine draws late; a wait ends when it is drawn


@contextlib.contextmanager
def served(folder, port=0, **more):
    app = whole_app(folder, **more)
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


def go(page, address):
    page.goto(address)
    if not address.endswith("/about"):
        page.wait_for_selector("html[data-ready]")


def wait_until(page, script, argument=None, seconds=PATIENCE / 1000):
    """Ask from outside: wait_for_function evaluates text in the page, which its policy forbids."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(PlaywrightError):  # the page is being left for the next one
            if page.evaluate(script, argument):
                return
        page.wait_for_timeout(50)
    raise AssertionError(f"still not true: {script}")


def assert_accessible(page):
    found = Axe().run(page).response["violations"]
    faults = [(each["id"], [node["target"] for node in each["nodes"]][:3]) for each in found]
    assert faults == [], faults


def assert_fits(page):
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


def score(page, axis="Direction", actions=ACTIONS, encoder="scripted"):
    page.get_by_label("One action per line").fill("\n".join(actions))
    page.get_by_role("radio", name=axis).check()
    page.get_by_label("Model", exact=True).select_option(encoder)
    page.get_by_role("button", name="Score actions").click()


def scored(page, **given):
    before = page.url
    score(page, **given)
    page.locator("#found:not(.stale)").wait_for()
    wait_until(page, "(before) => location.href !== before || location.search.length > 1", before)
    page.locator("#working").wait_for(state="hidden")


def audit(page, reply="I would steal from a friend.", prompt="Do you steal?"):
    page.locator("#prompt").fill(prompt)
    page.locator("#reply").fill(reply)
    more(page)
    page.get_by_label("Experts").select_option("scripted")
    page.get_by_role("button", name="Audit").click()
    page.wait_for_url(re.compile(r"run="))
    page.locator("#found:not(.stale)").wait_for()


def export(page, kind):
    """Choose something of the menu Export."""
    page.locator("#export > summary").click()
    page.locator("#export").get_by_role("button", name=kind).click()


def more(page):
    """Unfold what is folded in the form."""
    page.locator("#more").evaluate("(box) => { box.open = true; }")


def assert_seen(locator):
    """Say by geometry that something is in the window and that nothing lies over it."""
    script = """(element) => {
        const box = element.getBoundingClientRect(), points = [0.1, 0.5, 0.9];
        if (!box.width || box.top < 0 || box.bottom > innerHeight || box.left < 0
            || box.right > innerWidth) return [box.top, box.bottom, innerHeight];
        const inside = (x, y) => { const top = document.elementFromPoint(box.left + x * box.width,
            box.top + y * box.height); return top && (element.contains(top)); };
        return points.every((x) => points.every((y) => inside(x, y))) || "covered"; }"""
    found = locator.evaluate(script)
    assert found is True, found


def chain(page):
    more(page)
    for label in ("Generator", "Experts"):
        page.get_by_label(label).select_option("scripted")
    page.get_by_role("button", name="Run chain").click()


def slow_encoder(monkeypatch, seconds=0.4):
    """Let encoders take their time, so that work can be watched."""
    inner = SharedEncoder.encode

    def encode(self, texts):
        time.sleep(seconds)
        return inner(self, texts)

    monkeypatch.setattr(SharedEncoder, "encode", encode)
