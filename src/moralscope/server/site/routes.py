"""What the pages ask for beside `/v1`: jobs, kept runs, uploads, our rulebook, reports.

The same access as `/v1`: the token where there is one, and no page of another site. A report is
opened by a ticket, since a new tab cannot show the token; it runs in a sandbox of its own.
"""

import asyncio
import json
import secrets
import tempfile
from collections import OrderedDict
from dataclasses import replace
from math import isfinite, nan
from pathlib import Path
from statistics import fmean, pstdev
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Depends, Query
from pydantic import Field, StringConstraints, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse

from moralscope.axes.people import human_agreement
from moralscope.axes.ratings import parse_ratings
from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import ActionScore, RunRecord, to_plain
from moralscope.io.files import write_whole
from moralscope.pages import report_html, view
from moralscope.pages.web import view as page_view
from moralscope.rules.rulebook import shipped_rulebook
from moralscope.runs.compare import compare_runs
from moralscope.runs.kept import NoSuchRun, Runs
from moralscope.runs.titles import MAX_TITLE, PageNotes, Remark
from moralscope.server.api import routes as api
from moralscope.server.api import schemas as s
from moralscope.server.api.bodies import RequestModel, body_of, options_in
from moralscope.server.api.work import NDJSON, Job, Report, Tell
from moralscope.server.guard.log import FLAGGED, LISTED, GuardLog
from moralscope.server.security import REPORT_POLICY, allowed
from moralscope.server.site.chains import StoryChainOptions
from moralscope.server.site.guard_page import guard_page
from moralscope.server.site.jobs import Jobs, asked_title, drawn, job_notes
from moralscope.server.site.pages import MAX_ROWS, read_labels, read_upload, rulebook_text
from moralscope.stories.story import MoralStory

router = APIRouter(prefix="/api/site", include_in_schema=False, dependencies=[Depends(allowed)])
report_router = APIRouter(include_in_schema=False)
Sentence = Annotated[str, StringConstraints(min_length=1, max_length=600, strip_whitespace=True)]
Name = Annotated[str, StringConstraints(max_length=MAX_TITLE)]
Record = Annotated[dict[str, Any], Body()]
_TICKETS = 500  # reports that can be opened
NO_SCRIPT = {"Content-Disposition": "attachment"}  # a file to keep, never a page of ours


class ChainRequest(body_of(StoryChainOptions)):  # type: ignore[misc]
    """A story and a chain."""

    situation: Sentence
    intention: Sentence
    norm: Sentence


class PeopleRequest(s.CompareRequest):
    """Models on the same actions, with people beside them."""

    human: s.Book | None = None


class PageAudit(s.AuditRequest):
    """Replies, texts or conversations, more than `/v1` takes: a job has no limit of time."""

    exchanges: Annotated[list[s.ExchangeBody], Field(max_length=MAX_ROWS)] = Field(
        default_factory=list
    )
    texts: Annotated[list[s.Long], Field(max_length=MAX_ROWS)] = Field(default_factory=list)
    conversations: Annotated[list[dict[str, Any]], Field(max_length=MAX_ROWS)] = Field(
        default_factory=list
    )


class JobRequest(RequestModel):
    """A job of the page: what `/v1` would be asked, and the file it came from."""

    kind: Literal["score", "compare", "survey", "audit", "chain", "warrant"]
    request: dict[str, Any]
    source: Name = ""


class RunNotes(RequestModel):
    """What a run is called (nothing: by its content) and its tags; what is left out stays."""

    title: Name | None = None
    tags: Annotated[list[Name], Field(max_length=50)] | None = None


class PairOfRuns(RequestModel):
    """Two kept runs; scores of different axes or models can be put on one scale."""

    first: str
    second: str
    standardise: bool = False


class LabelBody(RequestModel):
    """Whether a reply breaks a rule, as a person chose."""

    rule: Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
    broken: bool


class RemarkBody(RequestModel):
    """What somebody says of a reply; one that says nothing takes back what was said."""

    result: Annotated[int, Field(ge=0)]
    status: Literal["agree", "disagree", "later", ""] = ""
    note: Annotated[str, StringConstraints(max_length=2000)] = ""
    labels: Annotated[list[LabelBody], Field(max_length=50)] = Field(default_factory=list)


class RemarksBody(RequestModel):
    """Remarks on replies of one run."""

    remarks: Annotated[list[RemarkBody], Field(min_length=1, max_length=50_000)]


def _runs(request: Request) -> Runs:
    runs: Runs = request.app.state.runs
    return runs


def _jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


# ---- jobs ------------------------------------------------------------------------------------


def _chain_job(request: Request, body: ChainRequest) -> Job:
    options = options_in(body, StoryChainOptions)
    story = MoralStory("1", body.norm, body.situation, body.intention)
    chains = request.app.state.chains
    return lambda report, tell: chains.run(story, options, report, tell)


def _audit_job(request: Request, body: PageAudit) -> Job:
    service = request.app.state.work.service
    if body.conversations:
        return api.conversation_job(service, body, body.conversations)
    return api.audit_job(service, body)


def _compare_job(request: Request, body: PeopleRequest) -> Job:
    """Return what compares models and, where there are ratings, each model with people."""
    service = request.app.state.work.service
    inner = api.compare_job(service, body)
    ratings = None if body.human is None else parse_ratings(body.human, "human")

    def job(report: Report, tell: Tell | None) -> RunRecord:
        record = inner(report, tell)
        if ratings is None:
            return record
        people = {
            name: human_agreement([row.raw[name] for row in record.results], ratings, body.seed)
            for name in record.results[0].raw
        }
        return replace(record, statistics=replace(record.statistics, human=people))

    return job


_KINDS: dict[str, tuple[Any, Any]] = {
    "score": (s.ScoreRequest, lambda r, body: api.score_job(r.app.state.work.service, body)),
    "compare": (PeopleRequest, _compare_job),
    "survey": (s.SurveyRequest, lambda r, body: api.survey_job(r.app.state.work.service, body)),
    "audit": (PageAudit, _audit_job),
    "chain": (ChainRequest, _chain_job),
    "warrant": (s.WarrantRequest, lambda r, body: api.warrant_job(r.app.state.work.service, body)),
}


@router.post("/jobs", status_code=201)
async def start(request: Request, body: JobRequest) -> dict[str, Any]:
    """Begin a job; it goes on when the page is left."""
    form, make = _KINDS[body.kind]
    try:
        asked = TypeAdapter(form).validate_json(json.dumps(body.request))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part)[:40] for part in first["loc"])
        raise InputError(f"{where}: {str(first['msg'])[:200]}", "fix it and try again") from None
    title = asked_title(body.kind, body.source, body.request)
    notes = job_notes(body.source, body.request)
    return _jobs(request).start(body.kind, make(request, asked), notes, title).line()


@router.get("/jobs")
def jobs(request: Request) -> list[dict[str, Any]]:
    """List the jobs, the newest first."""
    return _jobs(request).listed()


@router.get("/jobs/{name}")
def follow(request: Request, name: str) -> Response:
    """Tell a job from its beginning to its end, in lines."""
    _jobs(request).get(name)
    return StreamingResponse(_jobs(request).follow(name), media_type=NDJSON)


@router.delete("/jobs/{name}", status_code=204)
def cancel(request: Request, name: str) -> Response:
    """Stop a job; nothing of it is kept."""
    _jobs(request).cancel(name)
    return Response(status_code=204)


# ---- runs ------------------------------------------------------------------------------------


@router.get("/runs")
def listed(request: Request) -> list[dict[str, Any]]:
    """List kept runs, the newest first."""
    return [to_plain(line) for line in _runs(request).listed()]


@router.post("/runs", status_code=201)
def save(
    request: Request, record: Record, source: Annotated[str, Query(max_length=MAX_TITLE)] = ""
) -> dict[str, Any]:
    """Keep a run record that a command saved."""
    line: dict[str, Any] = to_plain(_runs(request).save(record, PageNotes(source=source)))
    return line


@router.get("/runs/{name}")
def load(request: Request, name: str) -> Any:
    """Return a kept run, and what the page draws of it (`view`)."""
    return drawn(_runs(request).load(name))


@router.patch("/runs/{name}")
def rename(request: Request, name: str, body: RunNotes) -> dict[str, Any]:
    """Give a run another title or other tags."""
    runs = _runs(request)
    if body.title is not None:
        runs.rename(name, body.title)
    if body.tags is not None:
        runs.tag(name, body.tags)
    line: dict[str, Any] = to_plain(runs.line(name))
    return line


@router.delete("/runs/{name}", status_code=204)
def delete(request: Request, name: str) -> Response:
    """Remove a kept run."""
    _runs(request).delete(name)
    return Response(status_code=204)


@router.post("/runs/{name}/remarks")
def remark(request: Request, name: str, body: RemarksBody) -> dict[str, Any]:
    """Keep what somebody says of replies."""
    said = decode(list[Remark], [remark.model_dump() for remark in body.remarks])
    line: dict[str, Any] = to_plain(_runs(request).remark(name, said))
    return line


@router.get("/labels")
def labels(request: Request, run: Annotated[str, Query(max_length=60)] = "") -> Response:
    """Return the labels that people chose, of one run or of all, for `rules learn --labels`."""
    table = _runs(request).labels_csv([run] if run else [])
    return Response(table, media_type="text/csv", headers=NO_SCRIPT)


@router.post("/labels")
async def upload_labels(
    request: Request, name: Annotated[str, Query(max_length=300)]
) -> list[dict[str, Any]]:
    """Read uploaded labels, for a warrant."""
    return await asyncio.to_thread(read_labels, name, await request.body())


@router.post("/compare")
def compare(request: Request, body: PairOfRuns) -> Any:
    """Compare two kept runs; those that measure different things are refused."""
    runs = _runs(request)
    names = [body.first, body.second]
    paths = [runs.path(name) for name in names]
    titles = [runs.line(name).title for name in names]
    with tempfile.TemporaryDirectory() as folder:
        if body.standardise:
            paths = [
                _standardised(runs.load(n), Path(folder, f"{i}.json")) for i, n in enumerate(names)
            ]
        try:
            record = to_plain(compare_runs(paths[0], paths[1]))
        except InputError as error:
            raise InputError(_named(error.problem, paths, titles), error.remedy) from None
    record["config"]["runs"] = titles
    record["warnings"] = [_named(line, paths, titles) for line in record["warnings"]]
    return {**record, "view": view(record)}


def _named(line: str, paths: list[Path], titles: list[str]) -> str:
    for path, title in zip(paths, titles, strict=True):
        line = line.replace(str(path), f"“{title}”")
    return line


def _standardised(plain: dict[str, Any], path: Path) -> Path:
    """Write a run of scores in standard deviations from its own mean."""
    if plain["job"] != "score":
        raise InputError("only scores can be standardised", "choose two runs of scores")
    rows = [row for row in decode(list[ActionScore], plain["results"]) if isfinite(row.score)]
    middle, spread = fmean(row.score for row in rows), pstdev(row.score for row in rows) or 1.0
    results = [ActionScore(row.action, (row.score - middle) / spread, nan, nan) for row in rows]
    changes = {"config": {"axis": "standardised"}, "results": to_plain(results), "page": None}
    write_whole(path, [json.dumps(plain | changes).encode()])
    return path


# ---- reports, uploads, rules -----------------------------------------------------------------


class Tickets:
    """Addresses under which a report can be opened in a tab, as long as the server runs."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, str] = OrderedDict()

    def make(self, run: str) -> str:
        """Return a ticket that nobody can guess."""
        ticket = secrets.token_urlsafe(18)
        self._runs[ticket] = run
        while len(self._runs) > _TICKETS:
            self._runs.popitem(last=False)
        return ticket

    def run_of(self, ticket: str) -> str:
        """Return the run, or refuse."""
        if ticket not in self._runs:
            raise NoSuchRun("this report is no longer open", "open it from the page 'Runs'")
        return self._runs[ticket]


@router.post("/runs/{name}/report")
def ticket(request: Request, name: str) -> dict[str, str]:
    """Return the address at which a run's report can be opened."""
    _runs(request).path(name)
    return {"address": f"/report/{request.app.state.tickets.make(name)}"}


@report_router.get("/report/{ticket}")
def report(request: Request, ticket: str) -> Response:
    """Return a report; its own policy lets nothing in but its own scripts."""
    name = request.app.state.tickets.run_of(ticket)
    document = report_html(_runs(request).load(name), "the kept run")
    return HTMLResponse(document, headers={"Content-Security-Policy": REPORT_POLICY})


@router.get("/runs/{name}/report")
def report_file(request: Request, name: str) -> Response:
    """Return the report of a kept run, as a file."""
    document = report_html(_runs(request).load(name), "the kept run")
    return Response(document, media_type="text/html", headers=NO_SCRIPT)


@router.get("/guard")
def guard(
    request: Request,
    days: Annotated[float, Query(ge=1, le=3650)] = 7,
    outcomes: Annotated[str, Query(max_length=100)] = FLAGGED,
    skip: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> dict[str, Any]:
    """Return what the guard did in some days, with a list of decisions, as a page to draw."""
    log: GuardLog | None = request.app.state.proxy.guard.log
    if log is None:
        raise InputError("the guard keeps no log", "start it with --guard-log-days above 0")
    figures = log.figures(days, outcomes, skip)
    return {**page_view(guard_page(figures, log)), "listed": figures.listed, "size": LISTED}


@router.post("/table")
async def table(request: Request, name: Annotated[str, Query(max_length=300)]) -> dict[str, Any]:
    """Read an uploaded table, for its columns to be chosen from."""
    return await asyncio.to_thread(read_upload, name, await request.body())


@router.get("/rulebook")
def rulebook() -> Response:
    """Return our rulebook as YAML."""
    return PlainTextResponse(rulebook_text())


@router.get("/rules")
def rules() -> list[dict[str, Any]]:
    """List the rules of our rulebook."""
    book = shipped_rulebook()
    return [{**to_plain(rule), "theme": book.themes.get(rule.text, "")} for rule in book.rules]
