"""The guard proxy: OpenAI's chat completions, asked of another server, each reply audited.

A streamed reply is read to its end first, audited, and streamed out then: what was said cannot be
unsaid. With `--stream-hold sentences` its finished sentences are audited while it comes, and go out
until one is flagged; the whole is judged all the same, and the rest of it goes out or not. Errors
have OpenAI's shape, because its clients read them.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import resources
from typing import Any

from fastapi import APIRouter, Depends
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.models.batching import OutOfTime
from moralscope.rules.conversations.conversation import HISTORY, Conversation, lenient_conversation
from moralscope.server.connections import gone
from moralscope.server.errors import Refused
from moralscope.server.guard import GuardDecision, GuardedReply, last_prompt
from moralscope.server.guard.completion import CompletionChoice, Json, LiveReply, token_in
from moralscope.server.guard.upstream import Answer, UpstreamError, openai_error
from moralscope.server.guard.writing import events, own_head, pieces, whole
from moralscope.server.models import Readings, remembering
from moralscope.server.security import AccessToken, allowed, bearer

VERDICT = "X-Moralscope-Verdict"
EVIDENCE = "X-Moralscope-Evidence"
NOT_JUDGED = "X-Moralscope-Unjudged"
DROPPED = "X-Moralscope-Dropped"
_WORST = ("flagged", "abstained", "partly", "kept", "none")  # first
_V1, _PATH = "/v1/", "/v1/chat/completions"
_CODES = {401: "invalid_api_key", 404: "unknown_url", 413: "request_too_large", 500: "guard_failed"}
_STREAM = "text/event-stream"
_OPENAPI: Any = json.loads(resources.files(__package__).joinpath("openapi.json").read_text("utf-8"))
_ERRORS = (400, 401, 403, 404, 408, 413, 421, 422, 429, 500, 502, 503, 504)

router = APIRouter(prefix="/v1", tags=["guard"], dependencies=[Depends(allowed)])


@router.post(
    "/chat/completions",
    summary="Chat completions, guarded",
    openapi_extra=_OPENAPI["request"],
    responses={
        200: {
            "description": "The completion; each choice has a field 'moralscope'",
            "headers": {
                VERDICT: {"schema": {"enum": list(_WORST)}},
                NOT_JUDGED: {"description": "Parts that nobody judged, where there are any."},
                DROPPED: {"description": "Parts that were left out, where there are any."},
                EVIDENCE: {"description": "With --guard-evidence: where a flag's words are."},
            },
            "content": {
                "application/json": {"schema": {"type": "object"}, "example": _OPENAPI["answer"]},
                _STREAM: {"example": 'data: {"choices": […]}'},
            },
        },
        **dict.fromkeys(_ERRORS, _OPENAPI["error"]),
    },
)
async def complete(request: Request) -> Response:
    """Ask the server behind for a chat completion, audit the reply, and pass on what may go out."""
    try:
        body, prompt = _body(await request.body())
        steps = _steps(request, body, prompt)
        first = await anext(steps)
    except (UpstreamError, Refused, MoralscopeError) as error:
        return _failure(error)
    if isinstance(first, Response):
        await steps.aclose()
        return first
    return StreamingResponse(_following(first, steps), media_type=_STREAM)


def _failure(error: UpstreamError | Refused | MoralscopeError) -> JSONResponse:
    if isinstance(error, UpstreamError):
        return JSONResponse(error.body, error.status, headers=error.headers)
    if isinstance(error, Refused):
        wait = {"Retry-After": str(int(error.wait) + 1)} if error.wait else None
        said = openai_error(f"{error.problem}; {error.remedy}", "guard_error", "guard_busy")
        return JSONResponse(said, error.status, headers=wait)
    # a reply that cannot be judged does not go out
    status = 504 if isinstance(error, OutOfTime) else 503
    code = "guard_timeout" if status == 504 else "guard_failed"
    return JSONResponse(openai_error(str(error), "guard_error", code), status)


async def _following(first: str, steps: AsyncIterator[str | Response]) -> AsyncIterator[str]:
    """Yield the events of a stream that has begun: an error can only be said in one of them."""
    yield first
    try:
        async for event in steps:
            yield str(event)
    except (UpstreamError, Refused, MoralscopeError) as error:
        yield f"data: {bytes(_failure(error).body).decode()}\n\n"


@router.post("/responses", include_in_schema=False)
@router.post("/completions", include_in_schema=False)
async def refuse(request: Request) -> Response:
    """Refuse OpenAI's other ways to ask, as OpenAI refuses an address that it does not have."""
    message = (
        f"Unknown request URL: POST {request.url.path}. This guard judges chat completions: send "
        "messages to POST /v1/chat/completions."
    )
    return JSONResponse(openai_error(message, "invalid_request_error", "unknown_url"), 404)


def _body(data: bytes) -> tuple[Json, str]:
    """Return the request and the prompt in it."""
    try:
        body = json.loads(data)
        if not isinstance(body, dict):
            raise ValueError
        json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
        return body, last_prompt(body.get("messages"))
    except UnicodeEncodeError:
        message = "the request holds half a character (a lone surrogate); send whole characters"
    except (ValueError, RecursionError):
        message = "the request is not a JSON object, or holds NaN, which JSON doesn't have"
    except InputError as error:
        message = str(error)
    raise UpstreamError(400, openai_error(message, "invalid_request_error"))


def _authorization(request: Request) -> str:
    """Return what the client shows to the server behind; our own token stays here."""
    token: AccessToken | None = request.app.state.token
    if token is not None and token.fits(bearer(request)):
        return ""
    header: str = request.headers.get("authorization", "")
    if not (header.isascii() and header.isprintable()):
        message = "the Authorization header holds characters that no key has; send the key again"
        raise UpstreamError(400, openai_error(message, "invalid_request_error"))
    return header


async def _steps(request: Request, body: Json, prompt: str) -> AsyncGenerator[str | Response, None]:
    """Yield the response once the reply was judged; or, where sentences went out before, events.

    The server behind is asked for as long as the client waits for it.
    """
    state, authorization = request.app.state, _authorization(request)
    guard, upstream = state.proxy.guard, state.proxy.upstream
    by_sentence = guard.options.stream_hold == "sentences" and body.get("stream")
    live = LiveReply(upstream.clean) if by_sentence and body.get("n") in (None, 1) else None
    if upstream.is_full:
        state.work.metrics.refused.inc()
    call: asyncio.Task[Answer] = upstream.start(body, authorization, live and live.add)
    leaving = asyncio.create_task(gone(request))
    model = token_in(body.get("model")) or "unknown"
    history = lenient_conversation(body.get("messages"), body.get("tools"), HISTORY)
    head, sent = own_head(model), None
    # A new sentence is read in its window, and no window before it again.
    judged = partial(_judged, request, prompt=prompt, history=history, readings={})
    try:
        while not call.done():
            growing = [asyncio.create_task(live.changed.wait())] if live else []
            await asyncio.wait({call, leaving, *growing}, return_when=asyncio.FIRST_COMPLETED)
            for task in growing:
                task.cancel()
            if leaving.done() and not call.done():
                said = openai_error("the client has gone", "guard_error", "client_gone")
                raise UpstreamError(499, said)  # nobody reads it; metrics count it
            choice = live.finished() if live and not call.done() else None
            if live is None or choice is None:
                continue
            with suppress(Refused):  # others wait: these words go out with the rest
                (decision,) = await judged(judge=guard.decide, choices=[choice])
                if not decision.is_changed:
                    for event in pieces(head, choice, decision, sent):
                        yield event
                    sent = choice
                elif decision.verdict == "flagged":
                    live.stop()
        answer = call.result()
        decisions = await judged(judge=guard, choices=answer.completion.choices)
        if sent is None:
            yield _response(body, answer, decisions, model)
            return
        if not answer.completion.choices[0].text.startswith(sent.text):  # taken back by the server
            raise UpstreamError(502, openai_error("the reply changed", "upstream_error"))
        usage = _with_usage(body, answer)
        for event in events(
            answer.completion, decisions, model, with_usage=usage, sent=sent, head=head
        ):
            yield event
    finally:
        call.cancel()
        leaving.cancel()


async def _judged(
    request: Request,
    *,
    judge: Callable[..., list[GuardDecision]],
    prompt: str,
    choices: Sequence[CompletionChoice],
    history: Conversation,
    readings: Readings,
) -> list[GuardDecision]:
    """Return what may go out for each choice; what was read of it before is in `readings`."""
    replies = [
        GuardedReply(choice.said, choice.unjudged, choice.dropped, choice.calls)
        for choice in choices
    ]
    judge = remembering(readings)(judge)
    decisions: list[GuardDecision] = await request.app.state.work.run(
        request, lambda report: judge(prompt, replies, history)
    )
    return decisions


def _with_usage(body: Json, answer: Answer) -> bool:
    options = body.get("stream_options")
    asked = isinstance(options, dict) and options.get("include_usage") is True
    return answer.is_stream or asked


def _response(
    body: Json, answer: Answer, decisions: Sequence[GuardDecision], model: str
) -> Response:
    verdicts = {decision.verdict for decision in decisions}
    headers = {**answer.headers, VERDICT: next(word for word in _WORST if word in verdicts)}
    if any(decision.is_changed for decision in decisions):
        headers.pop("x-request-id", None)  # a server can write words there
    for header, field in ((NOT_JUDGED, "unjudged"), (DROPPED, "dropped")):
        names = dict.fromkeys(name for decision in decisions for name in decision.note[field])
        if names:
            headers[header] = ", ".join(names)
    spans = [span for decision in decisions for span in decision.note.get("evidence", ())]
    if spans:
        turning = (f"{span['start']}-{span['end']}" for span in spans if span["turns"])
        headers[EVIDENCE] = ", ".join(turning)
    if not body.get("stream"):
        return JSONResponse(whole(answer.completion, decisions, model), headers=headers)
    usage = _with_usage(body, answer)
    written = events(answer.completion, decisions, model, with_usage=usage)
    return StreamingResponse(written, media_type=_STREAM, headers=headers)


class OpenAIErrors:
    """ASGI middleware: what is refused before the guard has it is said in OpenAI's shape, too.

    So is every address under /v1/ that does not exist: clients of OpenAI's API ask there.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a problem document that comes back is written anew."""
        if scope["type"] != "http" or not scope["path"].startswith(_V1):
            await self.app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def rewrite(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                kind = Headers(scope=message).get("content-type", "")
                is_ours = scope["path"] == _PATH or message["status"] == 404
                start = message if is_ours and kind == "application/problem+json" else None
            if start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if message["type"] == "http.response.body" and not message.get("more_body"):
                await _rewritten(start, json.loads(body))(scope, receive, send)

        await self.app(scope, receive, rewrite)


def _rewritten(start: Message, problem: Json) -> Response:
    """Return a problem document as an error of OpenAI's, under the same status and headers."""
    message = "; ".join(filter(None, (problem["detail"], problem["remedy"])))
    status = start["status"]
    kind = "guard_error" if status >= 500 else "invalid_request_error"
    response = JSONResponse(openai_error(message, kind, _CODES.get(status)), status)
    for name, value in Headers(scope=start).items():
        response.headers.setdefault(name, value)
    return response
