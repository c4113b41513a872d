"""The server behind the guard: one address, asked for chat completions and for nothing else.

The client's key goes into one header of one request and nowhere else. What comes back is bounded
and checked; whatever goes wrong becomes an error in OpenAI's shape, so that clients understand it.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from moralscope.core.errors import InputError
from moralscope.server.security import Token

MAX_ANSWER = 8_000_000  # bytes
_HERE = ("localhost", "127.0.0.1", "::1")
_PASSED_ON = ("retry-after", "x-request-id", "openai-processing-ms")
_DONE = "[DONE]"
_UNSAID = b"[key]"
Json = dict[str, Any]


class UpstreamError(Exception):
    """No usable answer came; `body` says so in OpenAI's shape."""

    def __init__(self, status: int, body: Json, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, dict(headers or {})


def openai_error(message: str, kind: str, code: str | None = None) -> Json:
    """Return an error in OpenAI's shape.

    Examples
    --------
    >>> openai_error("it is down", "upstream_error", "unreachable")["error"]["code"]
    'unreachable'
    """
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _failed(status: int, message: str, code: str) -> UpstreamError:
    return UpstreamError(status, openai_error(message, "upstream_error", code))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server behind said: a completion, or the chunks of a streamed one."""

    body: Json
    chunks: tuple[Json, ...]
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

    Examples
    --------
    >>> Upstream("http://localhost:8080/v1/").url
    'http://localhost:8080/v1'
    """

    def __init__(self, url: str, *, key: Token | None = None, seconds: float = 120.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("--guard is not http(s)://host", "give its base URL, with /v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise InputError("--guard holds a secret or a query", "use --guard-key-from")
        if os.environ.get("MORALSCOPE_OFFLINE", "") not in ("", "0") and (
            parts.hostname not in _HERE
        ):
            problem = f"{parts.hostname} is not this machine and the network is switched off"
            raise InputError(problem, "unset MORALSCOPE_OFFLINE, or guard a local server")
        self.url = url.rstrip("/")
        self._key, self._seconds = key, seconds
        self._client: httpx2.AsyncClient | None = None

    async def close(self) -> None:
        """Close connections that are kept open."""
        if self._client is not None:
            await self._client.aclose()

    async def complete(self, body: Json, authorization: str) -> Answer:
        """Ask for a chat completion and wait for all of it."""
        try:
            async with asyncio.timeout(self._seconds):
                status, headers, data = await self._post(body, authorization)
        except TimeoutError:
            message = f"the server behind the guard gave no answer within {self._seconds:g} s"
            raise _failed(504, message, "upstream_timeout") from None
        except httpx2.TimeoutException:
            message = "the server behind the guard was too slow"
            raise _failed(504, message, "upstream_timeout") from None
        except httpx2.HTTPError as error:  # its text may hold the request: only its name is said
            message = f"the server behind the guard cannot be reached ({type(error).__name__})"
            raise _failed(502, message, "upstream_unreachable") from None
        kept = {name: headers[name] for name in _PASSED_ON if name in headers}
        if self._key is not None:  # the owner's key is not for clients, whatever the server says
            data = data.replace(self._key.value.encode(), _UNSAID)
            if status in (401, 403):  # servers print parts of the key here
                message = f"the server behind the guard refused the guard's key (status {status})"
                raise _failed(502, message, "upstream_refused")
        if status != 200:
            raise _refused(status, data, kept)
        if "text/event-stream" in headers.get("content-type", ""):
            chunks = read_chunks(data)
            return Answer(chunks[0], chunks, kept)
        return Answer(_completion(data), (), kept)

    async def _post(self, body: Json, authorization: str) -> tuple[int, Mapping[str, str], bytes]:
        if self._client is None:
            self._client = httpx2.AsyncClient(timeout=self._seconds, follow_redirects=False)
        given = f"Bearer {self._key.value}" if self._key else authorization
        headers = {"Authorization": given} if given else {}
        url = f"{self.url}/chat/completions"
        data = bytearray()
        async with self._client.stream("POST", url, json=body, headers=headers) as response:
            async for part in response.aiter_bytes():
                data += part
                if len(data) > MAX_ANSWER:
                    raise _failed(502, "the answer behind the guard is too long", "upstream_long")
        return response.status_code, response.headers, bytes(data)


def _refused(status: int, data: bytes, headers: Mapping[str, str]) -> UpstreamError:
    """Pass an error of the server behind on where it is one in OpenAI's shape."""
    if not 400 <= status < 600:
        return _failed(502, f"the server behind the guard answered {status}", "upstream_invalid")
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and isinstance(found.get("error"), dict | str):
        return UpstreamError(status, found, headers)
    message = f"the server behind the guard refused the request (status {status})"
    body = openai_error(message, "upstream_error", "upstream_refused")
    return UpstreamError(status, body, headers)


def _garbage() -> UpstreamError:
    message = "the server behind the guard answered with something that is no chat completion"
    return _failed(502, message, "upstream_invalid")


def _completion(data: bytes) -> Json:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise _garbage() from None
    choices = found.get("choices") if isinstance(found, dict) else None
    if not isinstance(choices, list) or not choices or not all(map(_is_choice, choices)):
        raise _garbage()
    return dict(found)


def _is_choice(choice: object) -> bool:
    message = choice.get("message") if isinstance(choice, dict) else None
    return isinstance(message, dict) and isinstance(message.get("content"), str | list | None)


def read_chunks(data: bytes) -> tuple[Json, ...]:
    r"""Return the chunks of a streamed completion.

    Examples
    --------
    >>> read_chunks(b'data: {"choices": []}\n\ndata: [DONE]\n\n')
    ({'choices': []},)
    """
    found: list[Json] = []
    try:
        for line in data.decode("utf-8").splitlines():
            name, _, value = line.partition(":")
            if name != "data" or value.strip() == _DONE:
                continue
            found.append(json.loads(value))
    except (ValueError, RecursionError):
        raise _garbage() from None
    for chunk in found:
        if isinstance(chunk, dict) and isinstance(chunk.get("error"), dict):
            raise UpstreamError(502, {"error": chunk["error"]})
    if not found or not all(map(_is_chunk, found)):
        raise _garbage()
    return tuple(found)


def _is_chunk(chunk: object) -> bool:
    choices = chunk.get("choices") if isinstance(chunk, dict) else None
    return isinstance(choices, list) and all(
        isinstance(choice, dict)
        and isinstance(choice.get("index", 0), int)
        and isinstance(choice.get("delta") or {}, dict)
        and isinstance((choice.get("delta") or {}).get("content"), str | None)
        for choice in choices
    )
