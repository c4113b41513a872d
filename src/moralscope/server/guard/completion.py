"""A chat completion of the server behind, read field by field: what is not known is not kept.

A streamed completion is put together first, so that whole and streamed ones are judged and written
by the same code. `clean` goes over every text after decoding and joining: what it takes out cannot
hide in an escape or between two chunks.
"""

import asyncio
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moralscope.rules.conversations.acts import ToolCall
from moralscope.rules.texts.sanitize import sentences
from moralscope.server.guard import ALTERNATIVES
from moralscope.server.guard.sse import read_events

Json = dict[str, Any]
Clean = Callable[[str], str]
MOST_CHOICES = 128  # as many as OpenAI gives
_WAIT = 64  # a reply is judged again once it has grown by this part of its length
_TOKEN = re.compile(r"[A-Za-z0-9_.:/@+=-]{1,200}")  # a name, an id: no prose
_BLANK = (b"\n\n", b"\r\n\r\n", b"\r\r")  # ends an event
_TEXT_PARTS = ("text", "output_text", "input_text")
_THOUGHTS = ("reasoning_content", "reasoning")  # vLLM and DeepSeek; Ollama and OpenRouter
_REASONS = ("stop", "length", "tool_calls", "function_call", "content_filter", "abort", "error")
_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")
_DETAILS = {
    "prompt_tokens_details": ("cached_tokens", "audio_tokens"),
    "completion_tokens_details": (
        "reasoning_tokens",
        "audio_tokens",
        "accepted_prediction_tokens",
        "rejected_prediction_tokens",
    ),
}


class NoCompletionError(ValueError):
    """What came is no chat completion."""


class CutOffError(NoCompletionError):
    """What came is the beginning of a chat completion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionChoice:
    """One reply. `text`, `refusal` and the transcript of `audio` can be judged, the rest cannot."""

    index: int
    text: str = ""
    refusal: str = ""
    thoughts: Mapping[str, str] = field(default_factory=dict)
    tool_calls: tuple[Json, ...] = ()
    function_call: Json | None = None
    audio: Json | None = None
    parts: tuple[Any, ...] = ()  # of the content, and no text
    logprobs: Json | None = None  # of tokens that spell the text or the refusal, byte by byte
    dropped: tuple[str, ...] = ()  # names of what came and is not kept
    finish: str | None = None

    @property
    def said(self) -> str:
        """Everything of it that a person reads or hears, as one text."""
        heard = (self.audio or {}).get("transcript", "")
        return "\n".join(filter(None, (self.text, self.refusal, heard)))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tools that it calls."""
        inner = [call.get("function") for call in self.tool_calls] + [self.function_call]
        return tuple(
            ToolCall(str(call.get("name", "")), str(call.get("arguments", "")))
            for call in inner
            if isinstance(call, dict)
        )

    @property
    def unjudged(self) -> tuple[str, ...]:
        """Names of the parts that an audit of texts cannot judge."""
        known = {
            "reasoning": self.thoughts,
            "tool_calls": self.tool_calls,
            "function_call": self.function_call,
            "audio": self.audio,
            "content_parts": self.parts,
            ALTERNATIVES: any(
                row["top_logprobs"] for rows in (self.logprobs or {}).values() for row in rows
            ),
        }
        return tuple(name for name, value in known.items() if value)


@dataclass(frozen=True, slots=True)
class Completion:
    """What the server behind answered; `head` holds id, created, model and the like."""

    head: Json
    choices: tuple[CompletionChoice, ...]
    usage: Json | None = None


def read_completion(body: Any, clean: Clean) -> Completion:
    """Read a whole completion."""
    assembly = _Assembly("\n")
    assembly.add(body, "message")
    return assembly.completion(clean)


def read_chunks(chunks: Iterable[Any], clean: Clean, *, is_ended: bool, wanted: int) -> Completion:
    """Put a streamed completion together; one that was cut off is refused.

    `is_ended` says that the stream came to its own end; else every one of the `wanted` choices must
    have come to its end.
    """
    assembly = _Assembly("")
    for chunk in chunks:
        assembly.add(chunk, "delta")
    finished = [choice for choice in assembly.choices.values() if choice.finish]
    if not is_ended and len(finished) < max(wanted, len(assembly.choices)):
        raise CutOffError("a choice without an end")
    return assembly.completion(clean)


class LiveReply:
    """The text of a streamed reply while it comes, up to the end of its last finished sentence."""

    def __init__(self, clean: Clean) -> None:
        self.changed = asyncio.Event()
        self._assembly, self._clean = _Assembly(""), clean
        self._rest, self._length = b"", 0
        self._is_over = False

    def add(self, data: bytes) -> None:
        """Read the events that are complete; what is no completion is left to who reads it all."""
        if self._is_over:
            return
        self._rest += data
        ends = [self._rest.rfind(blank) + len(blank) for blank in _BLANK if blank in self._rest]
        events, self._rest = self._rest[: max(ends, default=0)], self._rest[max(ends, default=0) :]
        try:
            for _, text in read_events(events):
                if text.strip() != "[DONE]":
                    self._assembly.add(json.loads(text), "delta")
        except (ValueError, RecursionError):
            self.stop()
        self.changed.set()

    def stop(self) -> None:
        """Have nothing more to say before the end."""
        self._is_over = True

    def finished(self) -> CompletionChoice | None:
        """Return the finished sentences once there are more of them.

        Thoughts, calls, refusals and parts that are no text wait for the whole reply.
        """
        self.changed.clear()
        some = self._assembly.choices.get(0)
        if self._is_over or some is None:
            return None
        choice = some.choice(0, self._clean)
        if choice.said != choice.text or choice.calls or choice.parts:
            self.stop()
            return None
        new = f"{choice.text[self._length :]}x"  # a sentence before a blank is finished
        text = choice.text[: self._length + new.rfind(sentences(new)[-1])]
        # A long text waits for a little more, so that it is not cleaned again for every sentence.
        if len(text) <= self._length + self._length // _WAIT:
            return None
        self._length, rest, rows = len(text), len(text.encode()), list[Json]()
        for row in (choice.logprobs or {}).get("content", ()):
            rest -= len(row["token"].encode() if row["bytes"] is None else row["bytes"])
            if rest < 0:
                break
            rows.append(row)
        return CompletionChoice(index=0, text=text, logprobs={"content": rows} if rows else None)


class _Assembly:
    """Choices and head of a completion as its chunks come; a whole one is a single chunk."""

    def __init__(self, between: str) -> None:
        self.choices: dict[int, _ChoiceAssembly] = {}
        self._between = between
        self._head: Json = {}
        self._usage: Json | None = None

    def add(self, chunk: Any, name: str) -> None:
        choices = chunk.get("choices") if isinstance(chunk, dict) else None
        if not isinstance(choices, list) or len(choices) > MOST_CHOICES:
            raise NoCompletionError("no list of choices")
        self._head = {**_head(chunk), **self._head}
        self._usage = _usage(chunk.get("usage")) or self._usage
        for number, choice in enumerate(choices):
            message = choice.get(name) if isinstance(choice, dict) else None
            if not isinstance(message, dict):
                if name == "message" or not isinstance(choice, dict) or message is not None:
                    raise NoCompletionError(f"a choice without a {name}")
                message = {}
            index = choice.get("index", number if name == "message" else 0)
            if not isinstance(index, int) or not 0 <= index < MOST_CHOICES:
                raise NoCompletionError("a choice without a place")
            known = self.choices.setdefault(index, _ChoiceAssembly(self._between))
            known.add(message)
            known.end(choice)

    def completion(self, clean: Clean) -> Completion:
        if not self.choices:
            raise NoCompletionError("no choice")
        head = {name: value for name, value in self._head.items() if _is_same(value, clean)}
        ordered = sorted(self.choices.items())
        return Completion(head, tuple(some.choice(i, clean) for i, some in ordered), self._usage)


class _ChoiceAssembly:
    """One choice as its pieces come."""

    def __init__(self, between: str) -> None:
        self.finish: str | None = None
        self._between = between
        self._texts: defaultdict[str, list[str]] = defaultdict(list)
        self._calls: dict[int, Json] = {}
        self._function: Json = {}
        self._audio: Json = {}
        self._expires: int | None = None
        self._parts: list[Any] = []
        self._logprobs: defaultdict[str, list[Json]] = defaultdict(list)

    def add(self, message: Json) -> None:
        content = message.get("content")
        if not isinstance(content, str | list | None):
            raise NoCompletionError("a content that is not text")
        parts: list[Any] = content if isinstance(content, list) else [content]
        for part in parts:
            kind = part.get("type") if isinstance(part, dict) else None
            field = "text" if kind in _TEXT_PARTS else kind if kind == "refusal" else None
            text = part.get(field) if field else part
            if isinstance(text, str):
                self._texts["refusal" if field == "refusal" else "content"].append(text)
            elif part is not None:
                self._parts.append(part)
        for name in ("refusal", *_THOUGHTS):
            if isinstance(message.get(name), str):
                self._texts[name].append(message[name])
        _add_texts(self._function, message.get("function_call"), ("name", "arguments"))
        audio = message.get("audio")
        _add_texts(self._audio, audio, ("id", "data", "transcript"))
        if isinstance(audio, dict) and "expires_at" in audio:  # one chunk of many says it
            self._expires = _number(audio["expires_at"])
        for call in _dicts(message.get("tool_calls")):
            index = call.get("index")
            if not isinstance(index, int):  # Ollama sends every call whole, without a place
                index = len(self._calls)
            if index not in self._calls and len(self._calls) >= MOST_CHOICES:
                raise NoCompletionError("too many calls")
            known = self._calls.setdefault(index, {"texts": {}, "function": {}})
            if isinstance(call.get("id"), str) and call["id"]:
                known["texts"]["id"] = [call["id"]]
            _add_texts(known["function"], call.get("function"), ("name", "arguments"))

    def end(self, choice: Json) -> None:
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish = reason if reason in _REASONS else "stop"
        logprobs: Any = choice.get("logprobs")
        for name in ("content", "refusal") if isinstance(logprobs, dict) else ():
            for token in _dicts(logprobs.get(name)):
                others = [_alternative(other) for other in _dicts(token.get("top_logprobs"))]
                self._logprobs[name].append({**_alternative(token), "top_logprobs": others})

    def choice(self, index: int, clean: Clean) -> CompletionChoice:
        texts = {
            name: clean(self._between.join(filter(None, pieces)))
            for name, pieces in self._texts.items()
        }
        audio = _joined(self._audio, clean)
        calls = [
            {
                **_joined(call["texts"], clean),
                "type": "function",
                "function": _joined(call["function"], clean),
            }
            for _, call in sorted(self._calls.items())
        ]
        logprobs, dropped = _spelling(self._logprobs, texts, clean)
        return CompletionChoice(
            index=index,
            text=texts.get("content", ""),
            refusal=texts.get("refusal", ""),
            thoughts={name: texts[name] for name in _THOUGHTS if texts.get(name)},
            tool_calls=tuple(calls),
            function_call=_joined(self._function, clean) or None,
            audio={**audio, "expires_at": self._expires} if audio else None,
            parts=tuple(clean_json(part, clean) for part in self._parts),
            logprobs=logprobs,
            dropped=dropped,
            finish=self.finish,
        )


def clean_json(value: Any, clean: Clean) -> Any:
    """Return a JSON value with every text in it cleaned, names included.

    Examples
    --------
    >>> clean_json({"a": ["b", 1, 1e999]}, str.upper)
    {'A': ['B', 1, None]}
    """
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): clean_json(inner, clean) for name, inner in value.items()}
    if isinstance(value, list):
        return [clean_json(item, clean) for item in value]
    return value if isinstance(value, bool) or value is None else _number(value)


def token_in(value: Any) -> str | None:
    """Return a text that can be a name or an id, else None: prose is neither.

    Examples
    --------
    >>> token_in("chatcmpl-12"), token_in("I will steal it.")
    ('chatcmpl-12', None)
    """
    return value if isinstance(value, str) and _TOKEN.fullmatch(value) else None


def _head(chunk: Json) -> Json:
    names = ("id", "model", "system_fingerprint", "service_tier")
    head: Json = {name: token_in(chunk.get(name)) for name in names}
    head["created"] = _number(chunk.get("created"))
    return {name: value for name, value in head.items() if value is not None}


def _is_same(value: Any, clean: Clean) -> bool:
    return not isinstance(value, str) or clean(value) == value


def _usage(usage: Any) -> Json | None:
    """Return counts under known names: a name of theirs could say anything."""
    if not isinstance(usage, dict):
        return None
    counts = {name: _number(usage[name]) for name in _USAGE if name in usage}
    for name, inner in _DETAILS.items():
        details = usage.get(name)
        if isinstance(details, dict):
            counts[name] = {key: _number(details[key]) for key in inner if key in details}
    return counts or None


def _number(value: Any) -> Any:
    """Return a number that JSON can hold, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < 2**63 and math.isfinite(value) else None


def _dicts(values: Any) -> list[Json]:
    return (
        [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
    )


def _add_texts(to: Json, texts: Any, names: Sequence[str]) -> None:
    for name in names if isinstance(texts, dict) else ():
        if isinstance(texts.get(name), str):
            to.setdefault(name, []).append(texts[name])


def _joined(pieces: Mapping[str, Sequence[str]], clean: Clean) -> Json:
    return {name: clean("".join(some)) for name, some in pieces.items()}


def _alternative(token: Json) -> Json:
    """Return a token with its log-probability; it is called what its bytes spell."""
    text, data = token.get("token"), token.get("bytes")
    text = text if isinstance(text, str) else ""
    if isinstance(data, list) and all(isinstance(b, int) and 0 <= b < 256 for b in data):
        try:
            text = bytes(data).decode()
        except UnicodeDecodeError:  # a part of a letter: written as OpenAI's API does
            text = "bytes:" + "".join(f"\\x{byte:02x}" for byte in data)
    else:
        data = None
    return {"token": text, "logprob": _number(token.get("logprob")), "bytes": data}


def _spelling(
    tokens: Mapping[str, list[Json]], texts: Mapping[str, str], clean: Clean
) -> tuple[Json | None, tuple[str, ...]]:
    """Return the tokens, and what was left out of them: they go out where they spell the text.

    Tokens after the last letter are left out alone: some servers send the end-of-text token.
    """
    spelt: dict[str, list[Json]] = {}
    surplus = False
    for name, rows in tokens.items():
        rest, spelt[name] = texts.get(name, "").encode(), []
        for row in rows:
            data = row["token"].encode("utf-8", "replace")
            data = data if row["bytes"] is None else bytes(row["bytes"])
            surplus = surplus or not rest
            if not rest.startswith(data):
                break
            rest = rest[len(data) :]
            others = [other for other in row["top_logprobs"] if _is_same(other["token"], clean)]
            spelt[name].append({**row, "top_logprobs": others})
        if rest:
            return None, ("logprobs",)
    kept = {name: rows for name, rows in spelt.items() if rows}
    return kept or None, ("surplus_logprobs" if kept else "logprobs",) if surplus else ()
