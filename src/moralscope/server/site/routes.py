"""What the pages ask for beside `/v1`: kept runs, figures, uploads, our rulebook, chains.

The same access as `/v1`: the token where there is one, and no page of another site. A kept run is
one run record a file, in the folder `runs` of MORALSCOPE_HOME, as `--out` would have written it.
Names are made here; one that somebody asks for is checked before any path is made of it.
"""

import asyncio
import json
import re
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query
from pydantic import StringConstraints
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.records import RunRecord, to_plain
from moralscope.io.files import read_run, write_whole
from moralscope.io.record_view import check_plain, text
from moralscope.models.store import home_folder
from moralscope.reports import report_html, write_figure
from moralscope.server.api.bodies import body_of, options_in
from moralscope.server.api.schemas import MAX_ACTIONS
from moralscope.server.api.work import Report, Tell, Work
from moralscope.server.errors import Refused
from moralscope.server.security import allowed
from moralscope.server.site.chains import StoryChainOptions, StoryChains
from moralscope.server.site.pages import read_upload, rulebook_text
from moralscope.stories.story import MoralStory

router = APIRouter(prefix="/api/site", include_in_schema=False, dependencies=[Depends(allowed)])
Sentence = Annotated[str, StringConstraints(min_length=1, max_length=600, strip_whitespace=True)]
Record = Annotated[dict[str, Any], Body()]
MOST_RUNS = 500  # that are kept
MOST_FIGURES = 2  # drawn at a time
MOST_PANELS = 20  # of a figure
_NAME = re.compile(r"[0-9]{8}-[0-9]{12}-[0-9a-f]{8}")
_SHOWN = ("axis", "encoder", "encoders", "recipe", "generator", "rulebook", "experts")
NO_SCRIPT = {"Content-Disposition": "attachment"}  # a file to keep, never a page of ours


class NoSuchRun(InputError):
    """There is no run of that name, or no longer."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """A kept run in one line; `about` names what it used."""

    id: str
    job: str
    created: str
    about: str
    results: int
    kilobytes: float


class Runs:
    """The kept runs of a folder.

    Examples
    --------
    >>> import tempfile
    >>> record = {"schema": "moralscope.run/1", "job": "score", "config": {"axis": "choice"},
    ...           "results": [{"action": "kill time", "score": 0.1}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = Runs(Path(folder, "runs"))
    ...     kept = runs.save(record)
    ...     [(line.job, line.about, line.results) for line in runs.listed()]
    [('score', 'choice', 1)]
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lines: dict[tuple[str, int], RunLine] = {}

    @property
    def folder(self) -> Path:
        """Where the files lie; MORALSCOPE_HOME is asked at every use."""
        return self._folder or home_folder() / "runs"

    def save(self, record: Any) -> RunLine:
        """Keep a record in its plain form; what is no run record is refused."""
        check_plain(record)
        if len(self._files()) >= MOST_RUNS:
            raise InputError(f"{MOST_RUNS} runs are kept already", "delete some on the page 'Runs'")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MoralscopeError(
                f"the run could not be kept ({error.strerror})", "check MORALSCOPE_HOME"
            ) from None
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S%f")
        path = self.folder / f"{stamp}-{secrets.token_hex(4)}.json"
        text = json.dumps(to_plain(record), allow_nan=False)
        write_whole(path, [text.encode()], private=True)
        return self._line(path)

    def listed(self) -> list[RunLine]:
        """Return all runs, the newest first; a file that is no run record is left out."""
        found = []
        for path in reversed(self._files()):
            try:
                found.append(self._line(path))
            except InputError:
                continue
        return found

    def load(self, name: str) -> Mapping[str, Any]:
        """Return a kept run in its plain form, as it was kept."""
        path = self._path(name)
        try:
            plain = read_run(path)
        except InputError as error:
            problem = error.problem.replace(str(path), "the kept run")
            raise InputError(problem, "delete it and run the job again") from None
        check_plain(plain, "the kept run")
        found: Mapping[str, Any] = plain
        return found

    def delete(self, name: str) -> None:
        """Remove a run for good."""
        self._path(name).unlink(missing_ok=True)

    def report(self, name: str) -> str:
        """Return the HTML report of a run."""
        return report_html(self.load(name), "the kept run")

    def _path(self, name: str) -> Path:
        path = self.folder / f"{name}.json"
        if not _NAME.fullmatch(name) or not path.is_file():
            raise NoSuchRun("there is no such run", "it may have been deleted: see 'Runs'")
        return path

    def _files(self) -> Sequence[Path]:
        return sorted(p for p in self.folder.glob("*.json") if _NAME.fullmatch(p.stem))

    def _line(self, path: Path) -> RunLine:
        size = path.stat().st_size
        key = (path.name, size)
        if key not in self._lines:
            plain = check_plain(read_run(path), path.name)
            config = plain["config"]
            used = (text(config[name]) for name in _SHOWN if config.get(name))
            self._lines[key] = RunLine(
                path.stem,
                plain["job"][:60],
                text(plain.get("created") or "")[:40],
                " · ".join(dict.fromkeys(used))[:200],
                len(plain["results"]),
                round(size / 1000, 1),
            )
        return self._lines[key]


class ChainRequest(body_of(StoryChainOptions)):  # type: ignore[misc]
    """A story and a chain."""

    situation: Sentence
    intention: Sentence
    norm: Sentence


def _runs(request: Request) -> Runs:
    runs: Runs = request.app.state.runs
    return runs


@router.get("/runs")
def listed(request: Request) -> list[dict[str, Any]]:
    """List kept runs, the newest first."""
    return [to_plain(line) for line in _runs(request).listed()]


@router.post("/runs", status_code=201)
def save(request: Request, record: Record) -> dict[str, Any]:
    """Keep a run that the page shows."""
    found: dict[str, Any] = to_plain(_runs(request).save(record))
    return found


@router.get("/runs/{name}")
def load(request: Request, name: str) -> Any:
    """Return a kept run."""
    return _runs(request).load(name)


@router.delete("/runs/{name}", status_code=204)
def delete(request: Request, name: str) -> Response:
    """Remove a kept run."""
    _runs(request).delete(name)
    return Response(status_code=204)


@router.get("/runs/{name}/report")
def report(request: Request, name: str) -> Response:
    """Return the report of a kept run, as a file."""
    return Response(_runs(request).report(name), media_type="text/html", headers=NO_SCRIPT)


@router.post("/figure")
async def figure(request: Request, record: Record) -> Response:
    """Draw the figure of a run as SVG, as a file; a few at a time, of records of a bounded size."""
    results, state = record.get("results"), request.app.state
    most = MOST_PANELS if record.get("job") == "reproduce" else MAX_ACTIONS
    if isinstance(results, list) and len(results) > most:
        raise InputError(
            f"a figure of {len(results):,} results is too large for the page",
            "draw it with 'moralscope report RUN.json --figure FILE'",
        )
    if state.figures >= MOST_FIGURES:
        raise Refused(429, "other figures are being drawn", "try again in a few seconds", 2)
    state.figures += 1  # by the event loop alone
    try:
        drawn = await state.work.run(request, lambda report: figure_svg(record))
    finally:
        state.figures -= 1
    return Response(drawn, media_type="image/svg+xml", headers=NO_SCRIPT)


@router.post("/exchanges")
async def exchanges(
    request: Request, name: Annotated[str, Query(max_length=300)]
) -> list[dict[str, str]]:
    """Read an uploaded file of exchanges."""
    return await asyncio.to_thread(read_upload, name, await request.body())


@router.get("/rulebook")
def rulebook() -> Response:
    """Return our rulebook as YAML."""
    return PlainTextResponse(rulebook_text())


@router.post("/chain")
async def chain(request: Request, body: ChainRequest) -> Response:
    """Run a chain on a story; the lines tell every step."""
    work: Work = request.app.state.work
    chains: StoryChains = request.app.state.chains
    options = options_in(body, StoryChainOptions)
    story = MoralStory("1", body.norm, body.situation, body.intention)

    def job(report: Report, tell: Tell | None) -> RunRecord:
        return chains.run(story, options, report, tell)

    return await work.answer(request, job)


def figure_svg(record: Any) -> bytes:
    """Return the static figure of a plain run record as SVG.

    Examples
    --------
    >>> record = {"schema": "moralscope.run/1", "job": "score", "config": {},
    ...           "results": [{"action": "kill time", "score": 0.1}]}
    >>> b"<svg" in figure_svg(record)
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "figure.svg")
        write_figure(record, path)
        return path.read_bytes()
