"""The server behind the guard: one address, asked for chat completions and for nothing else.

The client's key goes into one header of one request and nowhere else. What comes back is bounded
and read field by field, without the owner's key; whatever goes wrong becomes an error in OpenAI's
shape, so that clients understand it.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from moralscope.core.errors import InputError
from moralscope.models.language.http_client import (
    client_settings,
    is_local,
    is_packed,
    without_secret,
)
from moralscope.models.store import Store
from moralscope.server.errors import Refused
from moralscope.server.guard.completion import (
    Clean,
    Completion,
    CutOffError,
    Json,
    NoCompletionError,
    read_chunks,
    read_completion,
    token_in,
)
from moralscope.server.guard.sse import read_events
from moralscope.server.security import AccessToken

MAX_ANSWER = 8_000_000  # bytes
_MAX_MESSAGE = 1000  # characters of an error of theirs
_PASSED_ON = {
    "retry-after": re.compile(r"\d{1,6}(\.\d{1,6})?|[A-Za-z0-9 ,:]{20,40} GMT"),
    "x-request-id": re.compile(r"[A-Za-z0-9_.:-]{1,128}"),
    "openai-processing-ms": re.compile(r"\d{1,9}(\.\d{1,6})?"),
}
_DONE = "[DONE]"
_BUSY = 4.0  # seconds after which a client that was refused may ask again


class UpstreamError(Exception):
    """No usable answer came; `body` says so in OpenAI's shape."""

    def __init__(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, dict(headers or {})


def openai_error(message: str, kind: str, code: str | None = None) -> Json:
    """Return an error in OpenAI's shape."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _failed(status: int, message: str, code: str) -> UpstreamError:
    return UpstreamError(status, openai_error(message, "upstream_error", code))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server behind said, and the headers of it that go on."""

    completion: Completion
    is_stream: bool
    headers: Mapping[str, str]


class Upstream:
    """An OpenAI-compatible server.

    Parameters
    ----------
    url
        Its base URL, e.g. http://localhost:8080/v1.
    key
        A key that the server's owner gave; else the client's own is passed on.
    seconds
        How long one whole answer may take.
    most
        How many calls may be under way at a time; the next is refused at once.
    """

    def __init__(
        self, url: str, *, key: AccessToken | None = None, seconds: float = 120.0, most: int = 64
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("--guard is not http(s)://host", "give its base URL, with /v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InputError("--guard holds a secret or a query", "use --guard-key-from")
        if Store().offline and not is_local(parts.hostname):
            problem = f"{parts.hostname} is not this machine and the network is switched off"
            raise InputError(problem, "unset MORALSCOPE_OFFLINE, or guard a local server")
        self.url = url.rstrip("/")
        self._key, self._seconds = key, seconds
        self.calls, self.most = 0, most  # only the event loop touches them: the bound is exact
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close connections that are kept open."""
        if self._client is not None:
            await self._client.aclose()

    def clean(self, text: str) -> str:
        """Return a text without the owner's key, which is not for clients."""
        return without_secret(self._key.value if self._key else "", text)

    @property
    def is_full(self) -> bool:
        """Whether the next call would be refused."""
        return self.calls >= self.most

    def start(
        self, body: Json, authorization: str, hear: Callable[[bytes], None] | None = None
    ) -> "asyncio.Task[Answer]":
        """Ask for a chat completion; a call counts until it has ended, cancelled ones too.

        `hear` gets the bytes of a stream as they come.
        """
        if self.is_full:
            problem = f"too many requests wait for the server behind the guard ({self.calls})"
            raise Refused(429, problem, f"try again in {_BUSY + 1:g} s", _BUSY)
        self.calls += 1
        call = asyncio.create_task(self._complete(body, authorization, hear))
        call.add_done_callback(self._ended)
        return call

    def _ended(self, call: "asyncio.Task[Answer]") -> None:
        self.calls -= 1
        if not call.cancelled():
            call.exception()  # asked for, else asyncio logs that nobody did: a gone client

    async def _complete(
        self, body: Json, authorization: str, hear: Callable[[bytes], None] | None
    ) -> Answer:
        try:
            async with asyncio.timeout(self._seconds):
                status, headers, data = await self._post(body, authorization, hear)
        except (TimeoutError, httpx2.TimeoutException):
            message = f"the server behind the guard gave no answer within {self._seconds:g} s"
            raise _failed(504, message, "upstream_timeout") from None
        except httpx2.RemoteProtocolError:
            raise _cut() from None
        except httpx2.HTTPError as error:  # its text may hold the request: only its name is said
            message = f"the server behind the guard cannot be reached ({type(error).__name__})"
            raise _failed(502, message, "upstream_unreachable") from None
        cleaned = {name: self.clean(headers[name]) for name in _PASSED_ON if name in headers}
        kept = {name: text for name, text in cleaned.items() if _PASSED_ON[name].fullmatch(text)}
        if self._key is not None and status in (401, 403):  # servers print parts of the key here
            message = f"the server behind the guard refused the guard's key (status {status})"
            raise _failed(502, message, "upstream_refused")
        if status != 200:
            raise _refused(status, data, self.clean, kept)
        # In a thread: 8 MB of small events take seconds, in which nobody else would be answered.
        if _is_stream(headers):
            wanted = body["n"] if isinstance(body.get("n"), int) else 1
            completion = await asyncio.to_thread(read_stream, data, self.clean, wanted)
            return Answer(completion, True, kept)
        return Answer(await asyncio.to_thread(read_answer, data, self.clean), False, kept)

    async def _post(
        self, body: Json, authorization: str, hear: Callable[[bytes], None] | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        if self._client is None:
            room = httpx2.Limits(max_connections=self.most, max_keepalive_connections=20)
            settings = client_settings(self.url, self._seconds)
            self._client = httpx2.AsyncClient(**settings, limits=room)
        shown = f"Bearer {self._key.value}" if self._key else authorization
        headers = {"Content-Type": "application/json"}
        if shown:
            headers["Authorization"] = shown
        url = f"{self.url}/chat/completions"
        sent, data = json.dumps(body).encode(), bytearray()
        async with self._client.stream("POST", url, content=sent, headers=headers) as response:
            if is_packed(response.headers):
                message = "the server behind the guard sent a packed answer that was not asked for"
                raise _failed(502, message, "upstream_invalid")
            async for part in response.aiter_raw():
                data += part
                if len(data) > MAX_ANSWER:
                    raise _failed(502, "the answer behind the guard is too long", "upstream_long")
                if hear and response.status_code == 200 and _is_stream(response.headers):
                    hear(part)
        return response.status_code, response.headers, bytes(data)


def _is_stream(headers: Mapping[str, str]) -> bool:
    return "text/event-stream" in headers.get("content-type", "").lower()


def _refused(status: int, data: bytes, clean: Clean, headers: Mapping[str, str]) -> UpstreamError:
    """Pass an error of the server behind on where it is one in OpenAI's shape."""
    if not 400 <= status < 600:
        return _failed(502, f"the server behind the guard answered {status}", "upstream_invalid")
    try:
        body = _their_error(json.loads(data), clean)
    except (ValueError, RecursionError):
        body = None
    message = f"the server behind the guard refused the request (status {status})"
    known = body or openai_error(message, "upstream_error", "upstream_refused")
    return UpstreamError(status, known, headers)


def _their_error(document: Any, clean: Clean) -> Json | None:
    """Return an error of theirs, field by field; vLLM's own has no `error` around it."""
    if not isinstance(document, dict):
        return None
    error = document.get("error", document)
    error = {"message": error} if isinstance(error, str) else error
    if not isinstance(error, dict) or not {"error", "message"} & document.keys():
        return None
    message = error.get("message")
    message = message if isinstance(message, str) else "the server behind the guard failed"
    kind, param, code = (
        token_in(clean(str(error[name]))) if isinstance(error.get(name), str | int) else None
        for name in ("type", "param", "code")
    )
    body = openai_error(clean(message)[:_MAX_MESSAGE], kind or "upstream_error", code)
    body["error"]["param"] = param
    return body


def _garbage() -> UpstreamError:
    message = "the server behind the guard answered with something that is not a chat completion"
    return _failed(502, message, "upstream_invalid")


def _cut() -> UpstreamError:
    message = "the answer of the server behind the guard ended before it was complete"
    return _failed(502, message, "upstream_cut")


def read_answer(data: bytes, clean: Clean) -> Completion:
    """Read a completion that came whole."""
    try:
        return read_completion(json.loads(data), clean)
    except (ValueError, RecursionError):
        raise _garbage() from None


def read_stream(data: bytes, clean: Clean, wanted: int) -> Completion:
    r"""Put a streamed completion together."""
    chunks: list[Any] = []
    is_ended = False
    try:
        events = list(read_events(data))
        for number, (event, text) in enumerate(events, 1):
            if text.strip() == _DONE:
                is_ended = True
                break
            try:
                chunk = json.loads(text)
            except ValueError:
                raise CutOffError if number == len(events) else NoCompletionError from None
            if event == "error" or (isinstance(chunk, dict) and chunk.get("error")):
                error = _their_error(chunk, clean)
                raise UpstreamError(502, error) if error else NoCompletionError
            chunks.append(chunk)
        return read_chunks(chunks, clean, is_ended=is_ended, wanted=wanted)
    except CutOffError:
        raise _cut() from None
    except (ValueError, RecursionError):
        raise _garbage() from None
