"""Completions as they go out: built from what was read and decided, never from what came.

One completion is written whole or as the chunks of a stream, whichever the client asked for. The
first sentences of a stream may have gone out before: then the rest of it is written.
"""

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from moralscope.server.guard import ALTERNATIVES, THOUGHTS, GuardDecision
from moralscope.server.guard.completion import Completion, CompletionChoice, Json

FIELD = "moralscope"
_PIECE = 400  # characters of a text in one chunk
_TOKENS = 40  # log-probabilities in one chunk


def whole(completion: Completion, decisions: Sequence[GuardDecision], model: str) -> Json:
    """Return the completion as one document."""
    choices = []
    for choice, decision in zip(completion.choices, decisions, strict=True):
        choices.append(
            {
                "index": choice.index,
                "message": {"role": "assistant", **_message(choice, decision)},
                "logprobs": _logprobs(choice, decision),
                **_end(choice, decision),
            }
        )
    head = _head(completion, decisions, model)
    head |= {"object": "chat.completion", "choices": choices}
    return head if completion.usage is None else {**head, "usage": completion.usage}


def events(
    completion: Completion,
    decisions: Sequence[GuardDecision],
    model: str,
    *,
    with_usage: bool,
    sent: CompletionChoice | None = None,
    head: Json | None = None,
) -> Iterator[str]:
    """Yield the completion as server-sent events; `sent` has gone out under `head` before."""
    head = head or _head(completion, decisions, model)
    for choice, decision in zip(completion.choices, decisions, strict=True):
        was = sent if sent is not None and sent.index == choice.index else None
        yield from pieces(head, choice, decision, was)
        yield _event(head, [{"index": choice.index, "delta": {}, **_end(choice, decision)}])
    if with_usage and completion.usage is not None:
        yield _event(head, [], usage=completion.usage)
    yield "data: [DONE]\n\n"


def pieces(
    head: Json, choice: CompletionChoice, decision: GuardDecision, sent: CompletionChoice | None
) -> Iterator[str]:
    """Yield what a choice says and `sent` does not, as events."""
    if sent is None:
        yield _event(head, [_delta(choice, {"role": "assistant", "content": ""})])
    else:
        tokens = len((sent.logprobs or {}).get("content", ()))
        logprobs = choice.logprobs and {
            name: rows[tokens if name == "content" else 0 :]
            for name, rows in choice.logprobs.items()
        }
        choice = replace(choice, text=choice.text[len(sent.text) :], logprobs=logprobs)
    said = _message(choice, decision)
    if sent is not None and decision.is_changed:
        said["content"] = f"\n\n{said['content']}"
    for delta, logprobs in _deltas(said, _logprobs(choice, decision)):
        one = _delta(choice, delta)
        yield _event(head, [one if logprobs is None else {**one, "logprobs": logprobs}])


def _delta(choice: CompletionChoice, delta: Json) -> Json:
    return {"index": choice.index, "delta": delta, "finish_reason": None}


def _event(head: Json, choices: list[Json], **more: Any) -> str:
    chunk = {**head, "object": "chat.completion.chunk", "choices": choices, **more}
    return f"data: {json.dumps(chunk)}\n\n"


def own_head(model: str) -> Json:
    """Return an id, a time and the model's name that hold no word of the server behind."""
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}


def _head(completion: Completion, decisions: Sequence[GuardDecision], model: str) -> Json:
    """Return id, model and the like: ours where a reply was withheld, for theirs can hold words."""
    ours = own_head(model)
    if any(decision.is_changed for decision in decisions):
        return ours
    return {**ours, **completion.head}


def _logprobs(choice: CompletionChoice, decision: GuardDecision) -> Json | None:
    if decision.is_changed or choice.logprobs is None:
        return None
    if ALTERNATIVES not in decision.without:
        return choice.logprobs
    return {
        name: [{**row, "top_logprobs": []} for row in rows]
        for name, rows in choice.logprobs.items()
    }


def _end(choice: CompletionChoice, decision: GuardDecision) -> Json:
    reason = choice.finish or "stop"
    if decision.is_filtered:
        reason = "content_filter"
    return {"finish_reason": reason, FIELD: decision.note}


def _message(choice: CompletionChoice, decision: GuardDecision) -> Json:
    """Return what is said, without the role."""
    if decision.is_changed:  # all else belonged to the reply that does not go out
        return {"content": decision.text}
    parts = () if "content_parts" in decision.without else choice.parts
    text = [{"type": "text", "text": choice.text}] if choice.text else []
    content = [*text, *parts] if parts else choice.text or None
    thoughts = {} if THOUGHTS in decision.without else choice.thoughts
    message: Json = {**thoughts, "content": content}
    if choice.refusal:
        message["refusal"] = choice.refusal
    for name, value in (
        ("tool_calls", list(choice.tool_calls)),
        ("function_call", choice.function_call),
        ("audio", choice.audio),
    ):
        if value and name not in decision.without:
            message[name] = value
    return message


def _deltas(said: Mapping[str, Any], logprobs: Json | None) -> Iterator[tuple[Json, Json | None]]:
    """Yield the message in pieces, with the log-probabilities that go with some of them."""
    for name, value in said.items():
        if name == "tool_calls":
            for index, call in enumerate(value):
                yield {"tool_calls": [{"index": index, **call}]}, None
            continue
        if not isinstance(value, str):
            if value is not None:
                yield {name: value}, None
            continue
        rows = (logprobs or {}).get(name, [])
        pieces = [value[at : at + _PIECE] for at in range(0, len(value), _PIECE)]
        tokens = [rows[at : at + _TOKENS] for at in range(0, len(rows), _TOKENS)]
        for piece, some in zip_longest(pieces, tokens):
            yield {name: piece} if piece else {}, {name: some} if some else None
