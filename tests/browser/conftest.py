"""A browser and the local page for all tests of it; other tests here bring their own."""

import contextlib
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

from .chromium import find
from .site import PATIENCE, go, served

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def chromium():
    binary = find()
    if binary is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with served(folder) as address:
        yield address, folder


@pytest.fixture
def site(running):
    """One server for all tests that need no other; each finds it without runs."""
    address, folder = running
    shutil.rmtree(folder / "runs", ignore_errors=True)
    return address


@pytest.fixture
def open_page(chromium):
    """Open pages of their own browsers; afterwards none may have run or loaded what is foreign."""
    with contextlib.ExitStack() as stack:
        heard, asked = [], []

        def opened(address, width=1280, warned=True, height=900, **more):
            context = chromium.new_context(viewport={"width": width, "height": height}, **more)
            context.set_default_timeout(PATIENCE)
            if warned:
                context.add_init_script("localStorage.setItem('moralscope.warned', 'yes')")
            stack.callback(context.close)
            page = context.new_page()
            page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.accept()))
            page.on("console", lambda line: heard.append(line.text))
            page.on("pageerror", lambda error: heard.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            go(page, address)
            return page

        yield opened
    late = "was preloaded using link preload but not used"  # a busy machine paints late
    harmless = ("Failed to load resource", late)
    assert [each for each in heard if not any(words in each for words in harmless)] == []
    foreign = [u for u in asked if not u.startswith(("http://127.0.0.1:", "blob:", "data:"))]
    assert foreign == []
