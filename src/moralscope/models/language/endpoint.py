"""An endpoint as a generator: a company's, or Ollama, llama.cpp and vLLM on one's desk.

One request a prompt, several at a time. The key is read from an environment variable for each
call, goes into one header and is kept out of everything that is said or written. What a distant
server does with seeds is its own affair.

Not with OpenAI's own client: tries count garbage too and pauses are the user's to choose, a whole
answer has a time limit and a limit of bytes, nothing is redirected (the key would go along), and
nothing is said of person, project and machine.
"""

import asyncio
import json
import os
import random
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import urlsplit

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.records import Candidate, Decoding, ModelRef, Usage
from moralscope.models.language.decoding import Talk, as_messages, check_request, sentence_end
from moralscope.models.language.dialects import refused_field, split_endpoint
from moralscope.models.language.http_client import (
    client_settings,
    is_local,
    is_packed,
    without_secret,
)

Result = TypeVar("Result")
_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504, 529}
_LONGEST_PAUSE = 60.0
_MAX_ANSWER = 8_000_000  # bytes
_SHORTEST_KEY = 8  # shorter ones ("none", "EMPTY") are no secrets, and words of replies


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """Where an endpoint is and how patient to be with it."""

    base_url: str | None = None  # by default the dialect's variable, else its maker's own
    key_variable: str | None = None
    """The environment variable that holds the key, by default the dialect's; unset means that no
    key is sent."""
    concurrency: int = 8
    timeout: float = 120.0  # seconds for one whole answer
    retries: int = 5
    backoff: float = 0.5
    """Seconds of the first pause; each further one is twice as long, with jitter."""
    log_probabilities: bool = True
    input_price: float | None = None
    output_price: float | None = None
    """What a million tokens cost, in any currency; `Usage.cost` is counted with them."""
    samples: int = 20  # replies drawn for a question whose answers have no log-probabilities
    max_requests: int | None = None
    """Requests after which a language model stops asking; None: as many as it takes."""


class EndpointError(MoralscopeError):
    """The endpoint did not answer, or not with what was asked."""


class _TryAgainError(Exception):
    """An answer that another try may better; `pause` is what the server asked for."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.pause = pause


class EndpointGenerator:
    """Replies of one model at one address; `name` is openai:MODEL or another dialect's."""

    def __init__(self, name: str, options: EndpointOptions, *, offline: bool = False) -> None:
        self._dialect, model = split_endpoint(name)
        url = self._dialect.base_url(options.base_url)
        self._key_variable = options.key_variable or self._dialect.key_variable
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError("the endpoint's address is not http(s)://host", "give its base URL")
        if parts.username or parts.password or parts.query or parts.fragment:
            problem = "the endpoint's address holds a secret or a query"
            raise InputError(problem, f"give the key through {self._key_variable}")
        if offline and not is_local(parts.hostname):
            problem = f"{parts.hostname} is not this machine and the network is switched off"
            raise InputError(problem, "unset MORALSCOPE_OFFLINE, or use a local server")
        if options.concurrency < 1 or options.timeout <= 0 or options.retries < 0:
            raise InputError("concurrency, time-out or retries is out of range", "raise it")
        self.name = name
        self.checksum = sha256(f"{url} {model}".encode()).hexdigest()
        self.refs: tuple[ModelRef, ...] = ()
        self.warnings: list[str] = []  # what a run should say about the answers, one line each
        self.usage = Usage()  # requests, tokens and cost so far
        self._model = model
        self._url = url
        self._refused_fields: set[str] = set()
        self._options = options
        self._lock = threading.Lock()

    def generate(
        self, prompts: Sequence[str], decoding: Decoding, seeds: Sequence[int]
    ) -> list[list[Candidate]]:
        """Return `decoding.count` candidates for each prompt, in the order given.

        Raises
        ------
        EndpointError
            The endpoint is down, too slow, or answers garbage, after all tries.
        """
        check_request(prompts, decoding, seeds)
        if decoding.strategy == "beam":
            raise InputError("an endpoint has no beam search", "use nucleus or greedy")
        if not prompts:
            return []

        async def one(client: Any, prompt: str, seed: int) -> list[Candidate]:
            candidates: list[Candidate] = []
            # Until there are enough: some servers answer with one choice whatever `n` says.
            while len(candidates) < decoding.count:
                rest = replace(decoding, count=decoding.count - len(candidates))
                candidates += await self._some(client, prompt, rest, seed + len(candidates))
            return candidates

        with self._lock:
            return self._gather(one, list(zip(prompts, seeds, strict=True)))

    def _gather(self, one: Callable[..., Awaitable[Result]], items: Sequence[Any]) -> list[Result]:
        """Return what `one` makes of a client and each item, several at a time.

        In a thread of its own: the caller may be inside an event loop already.
        """

        async def every() -> list[Result]:
            import httpx2

            gate = asyncio.Semaphore(self._options.concurrency)
            settings = client_settings(self._url, self._options.timeout)
            async with httpx2.AsyncClient(**settings) as client:

                async def gated(item: Any) -> Result:
                    async with gate:
                        return await one(client, *item)

                tasks = [asyncio.create_task(gated(item)) for item in items]
                try:
                    return list(await asyncio.gather(*tasks))
                finally:
                    for task in tasks:
                        task.cancel()

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, every()).result()

    async def _some(
        self, client: Any, prompt: str, decoding: Decoding, seed: int
    ) -> list[Candidate]:
        """Ask once, and return as many candidates as were wanted or fewer."""
        answer = await self._answer(client, self._body(prompt, decoding, seed))
        candidates = [_candidate(row, decoding) for row in answer["choices"][: decoding.count]]
        return [replace(row, text=self._unsaid(row.text)) for row in candidates]

    def _body(self, prompt: str, decoding: Decoding, seed: int) -> dict[str, Any]:
        greedy = decoding.strategy == "greedy"
        turns = json.loads(prompt) if isinstance(prompt, Talk) else [prompt]
        body: dict[str, Any] = {
            "model": self._model,
            "messages": as_messages([t.encode("utf-8", "replace").decode() for t in turns]),
            "n": decoding.count,
            "max_tokens": decoding.max_tokens,
            "temperature": 0 if greedy else decoding.temperature,
            "top_p": 1 if greedy else decoding.p,
            "seed": seed % 2**31,
        }
        if self._options.log_probabilities:
            body["logprobs"] = True
        return body

    async def _answer(self, client: Any, body: Mapping[str, Any]) -> dict[str, Any]:
        tries = self._options.retries + 1
        for number in range(tries):
            try:
                async with asyncio.timeout(self._options.timeout):
                    answer = await self._post(client, body)
            except TimeoutError:
                failure = _TryAgainError(f"no answer within {self._options.timeout:g} s")
            except _TryAgainError as error:
                failure = error
            else:
                self._count(answer, number)
                return answer
            if number + 1 < tries:
                asked = failure.pause or 0.0
                if asked > _LONGEST_PAUSE:
                    problem = f"{self._url} asks for a pause of {asked:,.0f} s"
                    raise EndpointError(problem, "come back later, or ask for less at a time")
                grown = min(self._options.backoff * 2.0**number, _LONGEST_PAUSE)
                await asyncio.sleep(max(grown * random.uniform(0.5, 1), asked))  # noqa: S311
        raise EndpointError(
            f"{self._url} failed {tries} times for '{self._model}' ({failure})",
            "check the address and the server, or allow more time or retries",
        )

    async def _post(self, client: Any, body: Mapping[str, Any]) -> dict[str, Any]:
        import httpx2

        headers = self._dialect.headers(self._key())
        request = self._dialect.request(body, self._refused_fields)
        data = bytearray()
        try:
            async with client.stream(
                "POST", f"{self._url}{self._dialect.path}", json=request, headers=headers
            ) as response:
                if is_packed(response.headers):
                    raise _TryAgainError("a packed answer, which was not asked for")
                async for part in response.aiter_raw():
                    data += part
                    if len(data) > _MAX_ANSWER:
                        raise _TryAgainError(f"an answer of more than {_MAX_ANSWER:,} bytes")
        except httpx2.InvalidURL as error:
            raise InputError(f"{self._url} is not a URL", "give http://host:port/v1") from error
        except httpx2.HTTPError as error:  # its own text may hold the request
            raise _TryAgainError(type(error).__name__) from None
        status = response.status_code
        if status in _AGAIN:
            raise _TryAgainError(
                f"status {status}", _retry_after(response.headers.get("retry-after", ""))
            )
        if status in (400, 422):
            field = refused_field(request, data[:4000].decode("utf-8", "replace"))
            if field is not None:  # each is refused once, so this ends
                self._refused_fields.add(field)
                return await self._post(client, body)
        if status != 200:  # also a redirection
            raise self._refused(status, bytes(data))
        return self._checked(bytes(data))

    def _checked(self, data: bytes) -> dict[str, Any]:
        try:
            answer = self._dialect.completion(json.loads(data))
        except (ValueError, RecursionError):
            raise _TryAgainError("an answer that is not JSON") from None
        choices = answer.get("choices") if isinstance(answer, dict) else None
        if not isinstance(choices, list) or not choices or not all(map(_is_choice, choices)):
            raise _TryAgainError("an answer of another shape than a reply")
        return dict(answer)

    def _refused(self, status: int, data: bytes) -> EndpointError:
        if status in (401, 403):  # servers print parts of the key here: say nothing of theirs
            remedy = f"set {self._key_variable} to a key that may use '{self._model}'"
            return EndpointError(f"{self._url} refused the key (status {status})", remedy)
        # The key goes before the text is cut: half a key is a secret too.
        said = " ".join(self._unsaid(data.decode("utf-8", "replace"))[:400].split())[:160]
        problem = f"{self._url} refused the request (status {status}: {said})"
        return EndpointError(problem, "check the model's name and what the server supports")

    def _unsaid(self, text: str) -> str:
        """Take the key out of what the server says: it ends up in records and logs."""
        key = self._key()
        return without_secret(key if len(key) >= _SHORTEST_KEY else "", text, "…")

    def _key(self) -> str:
        key = os.environ.get(self._key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            problem = f"{self._key_variable} holds characters that no key has"
            raise InputError(problem, "set it again")
        return key

    def _count(self, answer: Mapping[str, Any], retries: int) -> None:
        used = answer.get("usage")
        used = used if isinstance(used, dict) else {}
        numbers = (used.get(f"{kind}_tokens") for kind in ("prompt", "completion"))
        read, written = (n if isinstance(n, int) and n >= 0 else 0 for n in numbers)
        cost = self.usage.cost
        prices = self._options.input_price, self._options.output_price
        if prices != (None, None):
            cost = (cost or 0.0) + (read * (prices[0] or 0) + written * (prices[1] or 0)) / 1e6
        self.usage = Usage(
            requests=self.usage.requests + 1,
            retries=self.usage.retries + retries,
            input_tokens=self.usage.input_tokens + read,
            output_tokens=self.usage.output_tokens + written,
            cost=cost,
        )


def _is_choice(choice: object) -> bool:
    message = choice.get("message") if isinstance(choice, dict) else None
    return isinstance(message, dict) and isinstance(message.get("content"), str | None)


def _candidate(choice: Mapping[str, Any], decoding: Decoding) -> Candidate:
    text = choice["message"].get("content") or ""  # a message of tool calls alone has none
    finish = "length" if choice.get("finish_reason") == "length" else "stop"
    logprobs = choice.get("logprobs")
    rows = logprobs.get("content") if isinstance(logprobs, dict) else None
    pieces: list[tuple[str, float]] = []
    for row in rows if isinstance(rows, list) else []:
        token = row.get("token") if isinstance(row, dict) else None
        score = row.get("logprob") if isinstance(row, dict) else None
        if not isinstance(token, str) or not isinstance(score, int | float):
            pieces = []  # the server gives none that fit
            break
        pieces.append((token, min(0.0, max(float(score), -1e4))))  # also of infinities
    end = sentence_end(text) if decoding.sentence else None
    if end is None:
        return Candidate(text.strip(), tuple(score for _, score in pieces), finish)
    kept, length = [], 0
    for piece, score in pieces:
        if length >= end:
            break
        kept.append(score)
        length += len(piece)
    return Candidate(text[:end].strip(), tuple(kept), "sentence")


def _retry_after(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        return None
