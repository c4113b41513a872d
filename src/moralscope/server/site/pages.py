"""The five pages as their server draws them: frames that hold no text of anybody.

Beside them what they need: uploads, our rulebook as text, shipped experts, the plotting library.
"""

import gzip
import importlib.resources
import json
import re
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from moralscope.axes.options import AXES as KINDS
from moralscope.core.errors import InputError, MissingExtra
from moralscope.models.options import ENCODERS, EXPERTS
from moralscope.models.store.data_cards import list_data
from moralscope.rules.audit_files import open_exchanges
from moralscope.rules.options import SHIPPED
from moralscope.rules.records import FOUNDATIONS
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.server.app import FOLDER, page
from moralscope.server.site.chains import GENERATORS, recipe_lines
from moralscope.version import __version__

router = APIRouter(include_in_schema=False)

MOST_EXCHANGES = 1000  # of an upload
AXES = tuple((name, name.capitalize(), kind.question) for name, kind in KINDS.items())


@cache
def _samples(kind: str) -> Any:
    """Return what a page offers to begin with."""
    return json.loads((FOLDER / "samples.json").read_text("utf-8"))[kind]


def _page(request: Request, name: str, **values: Any) -> Response:
    return page(f"site/{name}.html", here=name, version=__version__, **values)


def _states(request: Request) -> dict[str, str]:
    return {each.name: each.state for each, _ in request.app.state.work.service.listed()}


@router.get("/")
def start() -> Response:
    """Go to the first page."""
    return RedirectResponse("/actions", 307)


@router.get("/actions", name="actions")
def actions(request: Request) -> Response:
    """Score actions, see the map, compare two encoders."""
    return _page(
        request,
        "actions",
        axes=AXES,
        samples=_samples("actions"),
        encoders=ENCODERS,
        experts=EXPERTS,
        states=_states(request),
        styles=plot_styles(),
    )


@router.get("/audit")
def audit(request: Request) -> Response:
    """Audit replies against a rulebook."""
    return _page(
        request,
        "audit",
        samples=_samples("exchanges"),
        experts=EXPERTS,
        states=_states(request),
        rules=rulebook_size(),
        most=MOST_EXCHANGES,
    )


@router.get("/stories")
def stories(request: Request) -> Response:
    """Watch a chain of experts on a story."""
    return _page(
        request,
        "stories",
        samples=_samples("stories"),
        recipes=recipe_lines(),
        generators=GENERATORS,
        experts=EXPERTS,
        states=_states(request),
    )


@router.get("/runs")
def runs(request: Request) -> Response:
    """List kept runs."""
    return _page(request, "runs")


@router.get("/about")
def about(request: Request) -> Response:
    """Say what scores mean, and which models and data are in use."""
    return _page(
        request,
        "about",
        models=request.app.state.work.service.listed(),
        data=list_data(),
        experts=shipped_experts(),
    )


@router.get("/assets/plotly.js")
def plotly() -> Response:
    """Return the plotting library; every browser of today takes it compressed."""
    return Response(
        plot_library(),
        media_type="text/javascript",
        headers={"Content-Encoding": "gzip", "Cache-Control": "public, max-age=86400"},
    )


def read_upload(name: str, data: bytes) -> list[dict[str, str]]:
    r"""Read an uploaded file of exchanges as the command line reads one.

    Only the ending of the name is used; a message names the file as its owner does.

    Examples
    --------
    >>> read_upload("mine.csv", b"prompt,reply\nHi!,Hello.\n")
    [{'prompt': 'Hi!', 'reply': 'Hello.', 'id': '1'}]
    """
    ending = Path(name).suffix.lower()
    safe = ending if re.fullmatch(r"\.[a-z0-9]{1,8}", ending) else ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"upload{safe}")
        path.write_bytes(data)
        try:
            found = open_exchanges(path)
            if len(found) > MOST_EXCHANGES:
                raise InputError(
                    f"{path} holds {len(found):,} exchanges",
                    f"the page takes {MOST_EXCHANGES:,}; for more use 'moralscope audit FILE'",
                )
            return [
                {"prompt": each.prompt, "reply": each.reply, "id": each.id or str(number)}
                for number, each in enumerate(found, 1)
            ]
        except InputError as error:
            shown = Path(name).name[:80] or "the file"
            problem = error.problem.replace(str(path), shown)
            is_option = "--" in error.remedy  # of the command line: there is none here
            remedy = "name its columns 'prompt' and 'reply'" if is_option else error.remedy
            raise InputError(problem, remedy) from None


@cache
def rulebook_text() -> str:
    """Return our rulebook as one YAML text, to start one's own from.

    Examples
    --------
    >>> rulebook_text().splitlines()[1]
    'rules:'
    """
    lines = [f"name: {SHIPPED}-mine", "rules:"]
    folder = importlib.resources.files("moralscope.rules") / "data" / "rules"
    for name in FOUNDATIONS:
        source = (folder / f"{name}.yaml").read_text("utf-8")
        lines.append(source.partition("\nrules:\n")[2].strip("\n"))
    return "\n".join(lines) + "\n"


def rulebook_size() -> int:
    """Return how many rules ours has.

    Examples
    --------
    >>> rulebook_size() >= 400
    True
    """
    return len(shipped_rulebook().rules)


@dataclass(frozen=True, slots=True)
class ShippedExperts:
    """Experts that come with the package: what they were made from, and under which licence."""

    name: str
    base: str
    tasks: tuple[str, ...]
    data: tuple[str, ...]
    licence: str


@cache
def shipped_experts() -> tuple[ShippedExperts, ...]:
    """Return the cards of all shipped experts, by name.

    Examples
    --------
    >>> {each.licence for each in shipped_experts()}
    {'Apache-2.0'}
    """
    found = []
    folders = importlib.resources.files("moralscope") / "weights"
    for folder in sorted(folders.iterdir(), key=lambda each: each.name):
        file = folder / "expert.json"
        if file.is_file():
            known = json.loads(file.read_text("utf-8"))
            card = known["card"]
            tasks, data = tuple(known["tasks"]), tuple(card["data"])
            found.append(ShippedExperts(folder.name, known["base"], tasks, data, card["licence"]))
    return tuple(found)


@cache
def plot_library() -> bytes:
    """Return the plotting library that the plotly package brings (MIT), compressed."""
    return gzip.compress(_plotly(), 6)


@cache
def plot_styles() -> tuple[str, ...]:
    """Return the ids of styles that the library writes into a page unless they are there.

    A page whose policy forbids inline styles carries empty elements with these ids.
    """
    found = re.findall(rb'getElementById\("([0-9a-f]{64})"\)', _plotly())
    return tuple(dict.fromkeys(each.decode() for each in found))


def _plotly() -> bytes:
    try:
        folder = importlib.resources.files("plotly")
    except ModuleNotFoundError:
        raise MissingExtra("plotly is not installed", "pip install plotly") from None
    return (folder / "package_data" / "plotly.min.js").read_bytes()
