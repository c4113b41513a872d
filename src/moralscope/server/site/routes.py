"""What the pages ask for beside `/v1`: kept runs, figures, uploads, our rulebook, chains.

The same doors as `/v1`: the token where there is one, and no page of another site.
"""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query
from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from moralscope.core.records import RunRecord, to_plain
from moralscope.server.api.access import allowed
from moralscope.server.api.schemas import Asked, Experts, Seed
from moralscope.server.api.work import Report, Tell, Work
from moralscope.server.site.files import read_upload, rulebook_text
from moralscope.server.site.runs import Runs, figure_svg
from moralscope.server.site.stories import ChainAsked, Storyteller

router = APIRouter(prefix="/api/site", include_in_schema=False, dependencies=[Depends(allowed)])
Sentence = Annotated[str, StringConstraints(min_length=1, max_length=600, strip_whitespace=True)]
Record = Annotated[dict[str, Any], Body()]
NO_SCRIPT = {"Content-Disposition": "attachment"}  # a file to keep, never a page of ours


class ChainRequest(Asked):
    """A story and a chain."""

    situation: Sentence
    intention: Sentence
    norm: Sentence
    recipe: Annotated[str, StringConstraints(max_length=60)] = "action-ranking"
    target: Annotated[str, StringConstraints(pattern="^(both|moral|immoral)$")] = "both"
    generator: Annotated[str, StringConstraints(max_length=60)] = "stories"
    experts: Experts = "mpnet"
    count: Annotated[int, Field(ge=1, le=10)] = 4
    seed: Seed = 0


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
def figure(record: Record) -> Response:
    """Draw the figure of a run as SVG, as a file."""
    return Response(figure_svg(record), media_type="image/svg+xml", headers=NO_SCRIPT)


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
    teller: Storyteller = request.app.state.storyteller
    asked = ChainAsked(**body.model_dump())

    def job(report: Report, tell: Tell | None) -> RunRecord:
        return teller.run(asked, report, tell)

    return await work.answer(request, job)
