"""The guard proxy: OpenAI's chat completions, asked of another server, each reply audited.

A streamed reply is read to its end first, audited, and streamed out then: what was said cannot be
unsaid. Errors have OpenAI's shape, because its clients read them.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.server.errors import Refused, documented
from moralscope.server.guard import Guarded, last_prompt, text_of
from moralscope.server.guard.upstream import Answer, Json, UpstreamError, openai_error
from moralscope.server.security import Token, allowed, bearer

VERDICT = "X-Moralscope-Verdict"
FIELD = "moralscope"
_STREAM = "text/event-stream"
_REQUEST = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["messages"],
                    "properties": {
                        "model": {"type": "string"},
                        "messages": {"type": "array", "items": {"type": "object"}},
                        "stream": {"type": "boolean"},
                    },
                },
                "example": {
                    "model": "smollm2",
                    "messages": [{"role": "user", "content": "Should I keep a secret?"}],
                },
            }
        },
    }
}
_ERROR: dict[str, Any] = {
    "description": "An error in OpenAI's shape",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["error"],
                "properties": {"error": {"type": "object"}},
            },
            "example": openai_error(
                "it cannot be reached", "upstream_error", "upstream_unreachable"
            ),
        }
    },
}
_EXAMPLE = {
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Yes, keep it."},
            "finish_reason": "stop",
            FIELD: {"outcome": "passed", "verdict": {"flag": False, "score": 0.5, "reason": "…"}},
        }
    ],
}

router = APIRouter(prefix="/v1", tags=["guard"], dependencies=[Depends(allowed)])


@router.post(
    "/chat/completions",
    summary="Chat completions, guarded",
    openapi_extra=_REQUEST,
    responses={
        200: {
            "description": "The completion; each choice has a field 'moralscope'",
            "headers": {VERDICT: {"schema": {"enum": ["kept", "flagged", "abstained", "none"]}}},
            "content": {
                "application/json": {"schema": {"type": "object"}, "example": _EXAMPLE},
                _STREAM: {"schema": {"type": "string"}},
            },
        },
        **dict.fromkeys((400, 404, 422, 429, 500, 502, 503, 504), _ERROR),
        **documented(401, 403, 408, 413),
    },
)
async def complete(request: Request) -> Response:
    """Ask the server behind for a chat completion, audit the reply, and pass on what may go out."""
    try:
        body, prompt = _body(await request.body())
        token: Token | None = request.app.state.token
        is_ours = token is not None and token.fits(bearer(request))  # our token stays here
        theirs = "" if is_ours else request.headers.get("authorization", "")
        answer = await request.app.state.proxy.upstream.complete(body, theirs)
        if answer.chunks:
            return await _streamed(request, prompt, answer)
        return await _whole(request, prompt, answer)
    except UpstreamError as error:
        return JSONResponse(error.body, error.status, headers=error.headers)
    except Refused as error:
        wait = {"Retry-After": str(int(error.wait) + 1)} if error.wait else None
        body = openai_error(f"{error.problem}; {error.remedy}", "guard_error", "guard_busy")
        return JSONResponse(body, error.status, headers=wait)
    except MoralscopeError as error:  # a reply that cannot be judged does not go out
        return JSONResponse(openai_error(str(error), "guard_error", "guard_failed"), 503)


def _body(data: bytes) -> tuple[Json, str]:
    """Return the request and the prompt in it."""
    try:
        found = json.loads(data)
        if not isinstance(found, dict):
            raise ValueError
        return found, last_prompt(found.get("messages"))
    except (ValueError, RecursionError):
        message = "the request is no JSON object"
    except InputError as error:
        message = str(error)
    raise UpstreamError(400, openai_error(message, "invalid_request_error"))


async def _judge(request: Request, prompt: str, replies: Sequence[str]) -> list[Guarded]:
    guard = request.app.state.proxy.guard
    if not replies:
        return []
    found: list[Guarded] = await request.app.state.work.run(
        request, lambda report: guard(prompt, replies)
    )
    return found


async def _whole(request: Request, prompt: str, answer: Answer) -> Response:
    choices = [
        choice for choice in answer.body["choices"] if text_of(choice["message"].get("content"))
    ]
    texts = [text_of(choice["message"]["content"]) for choice in choices]
    found = await _judge(request, prompt, texts)
    for choice, each in zip(choices, found, strict=True):
        if each.is_changed:  # thoughts, calls and log-probabilities were those of another reply
            role = choice["message"].get("role", "assistant")
            choice["message"] = {"role": role, "content": each.text}
            choice["logprobs"] = None
        if each.outcome == "blocked":
            choice["finish_reason"] = "content_filter"
        choice[FIELD] = each.note
    return JSONResponse(answer.body, headers={**answer.headers, VERDICT: _verdict(found)})


async def _streamed(request: Request, prompt: str, answer: Answer) -> Response:
    texts: defaultdict[int, str] = defaultdict(str)
    for choice in (choice for chunk in answer.chunks for choice in chunk["choices"]):
        texts[choice.get("index", 0)] += (choice.get("delta") or {}).get("content") or ""
    places = [place for place, text in texts.items() if text]
    found = await _judge(request, prompt, [texts[place] for place in places])
    notes = dict(zip(places, found, strict=True))
    return StreamingResponse(
        _events(answer.chunks, notes),
        media_type=_STREAM,
        headers={**answer.headers, VERDICT: _verdict(found)},
    )


def _events(chunks: Sequence[Json], found: Mapping[int, Guarded]) -> Iterator[str]:
    """Write the chunks out; a changed reply stands whole where the first of it stood."""
    said: set[int] = set()
    for chunk in chunks:
        for choice in chunk["choices"]:
            place = choice.get("index", 0)
            each = found.get(place)
            delta = choice.get("delta") or {}
            if each is None:
                continue
            if each.is_changed:
                kept = {name: delta[name] for name in ("role",) if name in delta}
                if delta.get("content") and place not in said:
                    kept["content"] = each.text
                    said.add(place)
                choice["delta"], choice["logprobs"] = kept, None
            if choice.get("finish_reason"):
                choice[FIELD] = each.note
                if each.outcome == "blocked":
                    choice["finish_reason"] = "content_filter"
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


def _verdict(found: Sequence[Guarded]) -> str:
    """Return the worst verdict on any choice."""
    said = {each.verdict for each in found}
    return next((name for name in ("flagged", "abstained", "kept") if name in said), "none")
