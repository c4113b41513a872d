"""The docs site in Chromium: accessible and within the screen, light and dark."""

import importlib.util
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import moralscope

from .site import assert_accessible, assert_fits, wait_until

pytestmark = pytest.mark.browser
SCRIPT = Path(__file__).parents[2] / "docs" / "site_pages.py"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    spec = importlib.util.spec_from_file_location("site_pages", SCRIPT)
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    pages.tutorial_page = lambda text, name: f"# {name}"  # runs them; tests/unit does, too
    folder = tmp_path_factory.mktemp("docs")
    pages.main(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/{moralscope.__version__}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1366, 390])
def test_docs_are_accessible_and_fit(docs, chromium, width, scheme):
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("index", "audit", "how-good", "rules", "reference/audit", "reference/python"):
        page.goto(f"{docs}/{name}.html")
        wait_until(page, "() => [...document.fonts].some((font) => font.status === 'loaded')")
        assert_accessible(page)
        assert_fits(page)
    assert [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:"))] == []
    context.close()


def test_every_written_page_of_the_docs_is_accessible(docs, chromium):
    context = chromium.new_context(viewport={"width": 1366, "height": 800})
    page = context.new_page()
    page.goto(f"{docs}/index.html")
    names = page.locator("nav.md-nav--primary a.md-nav__link[href$='.html']")
    links = {link.split("#")[0] for link in names.evaluate_all("(a) => a.map((e) => e.href)")}
    # Pages of the reference are made by one generator: two of them are read above.
    found = sorted(link for link in links if "/reference/" not in link)
    assert len(found) > 50
    faults = {}
    for address in found:
        page.goto(address)
        try:
            assert_accessible(page)
        except AssertionError as error:
            faults[address.rpartition("/")[2]] = str(error)[:300]
    assert faults == {}
    context.close()
