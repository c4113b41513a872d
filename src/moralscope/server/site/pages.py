"""The pages as their server draws them: frames that hold no text of anybody.

Beside them what they need: uploads, our rulebook as text, shipped experts.
"""

import importlib.resources
import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from moralscope.axes.options import AXES, DEFAULT_BASE, FITS, AxisKind, AxisOptions
from moralscope.core.errors import InputError
from moralscope.core.options import option_fields
from moralscope.io.tables import Layout, Limits, TableFile, is_table
from moralscope.models.options import AUDITORS, ENCODERS, EXPERTS
from moralscope.models.options import SPEAKERS as SUBJECTS
from moralscope.models.store.data_cards import list_data
from moralscope.pages.audit import CARD_WORDS
from moralscope.rules.audit_options import WEAK_AUDITOR, AuditOptions
from moralscope.rules.labels import read_rows
from moralscope.rules.options import SHIPPED, WarrantOptions
from moralscope.rules.records import FOUNDATIONS
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.rules.thresholds import Thresholds
from moralscope.server.api.schemas import MAX_ACTIONS, MAX_ENCODERS, MAX_EXCHANGES, MAX_ITEMS
from moralscope.server.app import FOLDER, page
from moralscope.server.guard.log import FLAGGED, KINDS, GuardLog
from moralscope.server.site.chains import GENERATORS as STORY_GENERATORS
from moralscope.server.site.chains import recipe_lines
from moralscope.server.site.guard_page import OUTCOMES, retention
from moralscope.surveys.items import values_text
from moralscope.surveys.options import MAX_WORDINGS, SurveyOptions
from moralscope.version import __version__

router = APIRouter(include_in_schema=False)
MAX_ROWS = 10_000  # of an uploaded file: jobs of the page have no limit of time
SPEAKERS = tuple(name for name in SUBJECTS if name not in ENCODERS)  # language models
_ENDINGS = (".csv", ".jsonl", ".ndjson", ".parquet", ".txt")
_READ = f"{', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}"


@dataclass(frozen=True, slots=True)
class AxisOffer:
    """What the page offers on an axis; the form follows it and knows no axis by name."""

    name: str
    about: str
    models: tuple[str, ...]
    speakers: tuple[str, ...]  # language models among them
    fits: tuple[str, ...]
    has_norm: bool
    interval: str


def axis_offers() -> list[AxisOffer]:
    """Return what each axis offers.

    Examples
    --------
    >>> [(each.name, each.fits) for each in axis_offers() if each.fits]
    [('direction', ('pca', 'labelled'))]
    """

    def offer(name: str, kind: AxisKind) -> AxisOffer:
        models = EXPERTS if "experts" in kind.reads else ENCODERS
        speak = SPEAKERS if kind.language else ()
        fits, has_norm = FITS if "fit" in kind.reads else (), "norm" in kind.reads
        every = (*models, *speak)
        return AxisOffer(name, kind.question, every, speak, fits, has_norm, kind.interval)

    return [offer(name, kind) for name, kind in AXES.items()]


def limits() -> list[dict[str, Any]]:
    """Return the thresholds of an audit, as the form offers them."""
    return [
        {
            "name": field.name,
            "help": field.option.help,
            "least": field.option.least,
            "most": field.option.most,
            "usual": field.default,
        }
        for field in option_fields(Thresholds)
        if isinstance(field.default, int | float)
    ]


@cache
def _samples(kind: str) -> Any:
    """Return what a page offers to begin with."""
    return json.loads((FOLDER / "samples.json").read_text("utf-8"))[kind]


def _page(name: str, **values: Any) -> Response:
    return page(f"site/{name}.html", here=name, version=__version__, **values)


def _actions_page(name: str, request: Request, **values: Any) -> Response:
    return _page(
        name,
        axes=axis_offers(),
        usual=AxisOptions().kind_name,
        samples=_samples("actions"),
        models=(*ENCODERS, *SPEAKERS),
        states=_states(request),
        most=MAX_ACTIONS,
        **values,
    )


def _states(request: Request) -> dict[str, str]:
    return {model.name: model.state for model, _ in request.app.state.work.service.listed()}


@router.get("/")
def start() -> Response:
    """Go to the first page."""
    return RedirectResponse("/actions", 307)


@router.get("/actions", name="actions")
def actions(request: Request) -> Response:
    """Score actions; see the map, and people beside them."""
    return _actions_page("actions", request, usual_model=DEFAULT_BASE)


@router.get("/models")
def models(request: Request) -> Response:
    """Set two models or more side by side on one list of actions."""
    return _actions_page("models", request, most_models=MAX_ENCODERS)


@router.get("/survey")
def survey(request: Request) -> Response:
    """Put dilemmas or statements to language models."""
    return _page(
        "survey",
        samples={**_samples("surveys"), "Values": values_text().splitlines()},
        models=SUBJECTS,
        experts=EXPERTS,
        options=SurveyOptions(),
        states=_states(request),
        most=MAX_ITEMS,
        most_wordings=MAX_WORDINGS,
    )


@router.get("/audit")
def audit(request: Request) -> Response:
    """Audit replies against a rulebook."""
    return _page(
        "audit",
        samples=_samples("exchanges"),
        experts=[name for name in AUDITORS if name != WEAK_AUDITOR],
        usual=AuditOptions().experts,
        limits=limits(),
        states=_states(request),
        rules=rulebook_size(),
        words=CARD_WORDS,
        most=MAX_ROWS,
    )


@router.get("/rules")
def rules(request: Request) -> Response:
    """Browse our rulebook; write and check one's own."""
    return _page(
        "rules",
        rules=rulebook_size(),
        foundations=FOUNDATIONS,
        experts=[name for name in AUDITORS if name != WEAK_AUDITOR],
        usual=AuditOptions().experts,
        budget=WarrantOptions(rulebook="yours").false_alarms,
        states=_states(request),
        most=MAX_EXCHANGES,
    )


@router.get("/guard")
def guard(request: Request) -> Response:
    """Show what the guard decided."""
    proxy = request.app.state.proxy
    log: GuardLog | None = proxy.guard.log
    days = 0 if log is None else log.days
    return _page(
        "guard",
        retention=None if log is None else retention(log),
        periods=[*(period for period in (1, 7, 30, 90, 365) if period < days), days],
        outcomes={FLAGGED: "All flagged", ",".join(KINDS): "All outcomes"} | OUTCOMES,
        guarding=proxy.upstream is not None,
    )


@router.get("/stories")
def stories(request: Request) -> Response:
    """Watch a chain of experts on a story."""
    return _page(
        "stories",
        samples=_samples("stories"),
        recipes=recipe_lines(),
        generators=STORY_GENERATORS,
        experts=EXPERTS,
        states=_states(request),
    )


@router.get("/runs")
def runs() -> Response:
    """List jobs at work and kept runs."""
    return _page("runs")


@router.get("/about")
def about(request: Request) -> Response:
    """Say what scores mean, and which models and data are in use."""
    return _page(
        "about",
        models=request.app.state.work.service.listed(),
        data=list_data(),
        experts=shipped_experts(),
    )


def read_upload(name: str, data: bytes) -> dict[str, Any]:
    r"""Read an uploaded table as the command line reads one, or the lines of a plain text.

    Only the ending of the name is used; a message names the file as its owner does.
    """
    ending, shown = Path(name).suffix.lower(), Path(name).name[:80] or "the file"
    if ending not in _ENDINGS:
        raise InputError(f"{shown} is not a table that the page reads", f"give {_READ}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"upload{ending}")
        path.write_bytes(data)
        limits = Limits(rows=MAX_ROWS)
        layout = Layout(lines_as="line", delimiters=",;\t" if ending == ".csv" else "")
        table = TableFile(path, name=shown, limits=limits, layout=layout)
        try:
            rows = [cells for _, cells in table.strict_rows() if any(cells.values())]
        except InputError as error:
            many = "give it in parts" in error.remedy
            remedy = "use the command line for more" if many else error.remedy
            raise InputError(error.problem, remedy) from None
    if not rows:
        raise InputError(f"{shown} holds no rows", f"give {_READ} with one row each")
    columns = list(dict.fromkeys(key for cells in rows for key in cells))
    texts = [
        ["" if cells.get(name) is None else str(cells[name]) for name in columns] for cells in rows
    ]
    return {"name": shown, "columns": columns, "rows": texts}


def read_labels(name: str, data: bytes) -> list[dict[str, Any]]:
    """Read uploaded labels as `rules warrant --labels` reads them, of any rules."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"labels{Path(name).suffix if is_table(name) else ''}")
        path.write_bytes(data)
        try:
            rows = read_rows(path)
        except InputError as error:
            shown = error.problem.replace(str(path), Path(name).name[:80])
            raise InputError(shown, error.remedy) from None
    return [
        {"prompt": said.prompt, "reply": said.reply, "rule": rule, "broken": broken}
        for said, rule, broken in rows
    ]


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
    """Return the cards of all shipped experts, by name."""
    cards = []
    folders = importlib.resources.files("moralscope") / "weights"
    for folder in sorted(folders.iterdir(), key=lambda folder: folder.name):
        file = folder / "expert.json"
        if file.is_file():
            known = json.loads(file.read_text("utf-8"))
            card = known["card"]
            tasks, data = tuple(known["tasks"]), tuple(card["data"])
            cards.append(ShippedExperts(folder.name, known["base"], tasks, data, card["licence"]))
    return tuple(cards)
