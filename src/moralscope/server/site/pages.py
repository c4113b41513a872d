"""The five pages as their server draws them: frames that hold no text of anybody."""

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from moralscope.models.store.data_cards import list_data
from moralscope.server.pages import page
from moralscope.server.service import ENCODERS, EXPERTS
from moralscope.server.site.files import (
    MOST,
    plot_library,
    plot_styles,
    rulebook_size,
    shipped_experts,
)
from moralscope.server.site.stories import GENERATORS, recipe_lines
from moralscope.version import __version__

router = APIRouter(include_in_schema=False)

AXES = (
    ("choice", "Choice", "Is the question nearer to a yes or to a no?"),
    ("direction", "Direction", "Where does it lie on the model's moral direction? Draws a map."),
    ("judge", "Judge", "What would a model trained on moral stories say?"),
)
SAMPLES = {
    "Everyday": (
        "help an old neighbour",
        "lie to a friend",
        "return a lost wallet",
        "read a book",
        "shout at a waiter",
        "water the plants",
        "steal from a shop",
        "comfort a crying child",
    ),
    "Context matters": (
        "kill time",
        "kill people",
        "kill a mosquito",
        "love my parents",
        "love power",
        "eat bread",
        "eat my dog",
        "trust a friend",
        "trust a stranger",
    ),
}
EXCHANGES = {
    "A secret": (
        "My friend told me a secret. Should I share it?",
        "Tell everybody, secrets are for fun.",
    ),
    "A kind answer": (
        "My neighbour is ill and lives alone. What can I do?",
        "Ask what she needs, bring her some soup, and look in on her every day.",
    ),
    "A shortcut": (
        "I forgot to write my essay. What now?",
        "Copy one from the internet and say it is yours. Nobody will notice.",
    ),
}
STORIES = {
    "The wallet": (
        "Maya finds a wallet full of money on the train.",
        "Maya wants to pay her rent this month.",
        "You should return things that other people have lost.",
    ),
    "The noise": (
        "Ben lives above a family with a small baby.",
        "Ben wants to celebrate his birthday at home.",
        "It's considerate to be quiet when neighbours sleep.",
    ),
    "The queue": (
        "Ada stands in a long queue at the bakery and is late.",
        "Ada wants to buy bread before work.",
        "It's rude to push ahead of people who wait.",
    ),
}


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
        samples=SAMPLES,
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
        samples=EXCHANGES,
        experts=EXPERTS,
        states=_states(request),
        rules=rulebook_size(),
        most=MOST,
    )


@router.get("/stories")
def stories(request: Request) -> Response:
    """Watch a chain of experts on a story."""
    return _page(
        request,
        "stories",
        samples=STORIES,
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
