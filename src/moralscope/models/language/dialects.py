"""How servers are spoken to: OpenAI's chat completions, Ollama's, and Anthropic's messages.

A dialect says where a server is, which key it wants, and how a request and an answer are written.
The rest of the code knows chat completions only. Requests follow what the makers document; servers
that refuse a field (vLLM with few log-probabilities, llama.cpp with several choices, OpenAI's
reasoning models) are asked again without it.
"""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from moralscope.core.errors import InputError

# What a server may refuse and we can do without, and the words of a refusal.
_REFUSALS = {
    "top_logprobs": r"logprobs",
    "logprobs": r"logprobs",
    "max_tokens": r"max_completion_tokens",
    "n": r"['\"`]n['\"`]|\bn must\b|one completion choice",
    "seed": r"\bseed\b",
    "top_p": r"\btop_p\b",
    "temperature": r"\btemperature\b",
}
_OLLAMA_PORT = 11434


@dataclass(frozen=True, slots=True)
class Dialect:
    """OpenAI's chat completions, which vLLM, llama.cpp and many others speak too."""

    name: str = "openai"
    url: str = "https://api.openai.com/v1"
    url_variable: str = "OPENAI_BASE_URL"
    key_variable: str = "OPENAI_API_KEY"
    path: str = "/chat/completions"
    has_log_probabilities: bool = True

    def base_url(self, address: str | None) -> str:
        """Return where the server is: the address, else the environment's, else the maker's."""
        return (address or os.environ.get(self.url_variable) or self.url).rstrip("/")

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def request(self, body: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
        """Return a chat completion's body without the fields that this server refused."""
        request = {name: value for name, value in body.items() if name not in refused}
        if "max_tokens" in refused:
            request["max_completion_tokens"] = body["max_tokens"]
        return request

    def completion(self, answer: Any) -> Any:
        """Return an answer in the shape of a chat completion."""
        return answer


class OllamaDialect(Dialect):
    """Ollama's chat completions, at OLLAMA_HOST as Ollama's own client reads it."""

    def base_url(self, address: str | None) -> str:
        """Return where Ollama listens; a host without a port means port 11434."""
        if address:
            return address.rstrip("/")
        host = os.environ.get(self.url_variable, "").strip().rstrip("/")
        if not host:
            return self.url
        scheme, _, rest = host.rpartition("://")
        rest = rest.removesuffix("/v1").replace("0.0.0.0", "127.0.0.1")  # noqa: S104
        port = "" if re.search(r":\d+$", rest) or scheme == "https" else f":{_OLLAMA_PORT}"
        return f"{scheme or 'http'}://{rest}{port}/v1"


class AnthropicDialect(Dialect):
    """Anthropic's messages: one reply a request, no seeds and no log-probabilities."""

    def base_url(self, address: str | None) -> str:
        """Return where the server is; Anthropic's own client leaves /v1 out of its variable."""
        return f"{Dialect.base_url(self, address).removesuffix('/v1')}/v1"

    def headers(self, key: str) -> dict[str, str]:
        """Return the headers that carry the key and the version of the interface."""
        version = {"anthropic-version": "2023-06-01"}
        return {"x-api-key": key, **version} if key else version

    def request(self, body: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
        """Return the body of a message; newer models take one of temperature and top_p."""
        request = {name: body[name] for name in ("model", "messages", "max_tokens")}
        sampling = "top_p" if body["top_p"] < 1 and body["temperature"] == 1 else "temperature"
        if sampling not in refused:
            request[sampling] = min(1.0, body[sampling])
        return request

    def completion(self, answer: Any) -> Any:
        """Return a message in the shape of a chat completion."""
        content = answer.get("content") if isinstance(answer, dict) else None
        if not isinstance(content, list):
            return None
        blocks = [block for block in content if isinstance(block, dict)]
        texts = [str(block.get("text")) for block in blocks if block.get("type") == "text"]
        length = answer.get("stop_reason") == "max_tokens"
        used = answer.get("usage")
        used = used if isinstance(used, dict) else {}
        return {
            "choices": [
                {
                    "message": {"role": "assistant", "content": "".join(texts)},
                    "finish_reason": "length" if length else "stop",
                }
            ],
            "usage": {
                "prompt_tokens": used.get("input_tokens"),
                "completion_tokens": used.get("output_tokens"),
            },
        }


OPENAI = Dialect()
_DIALECTS: Mapping[str, Dialect] = {
    "openai:": OPENAI,
    "ollama:": OllamaDialect(
        name="ollama",
        url=f"http://127.0.0.1:{_OLLAMA_PORT}/v1",
        url_variable="OLLAMA_HOST",
        key_variable="OLLAMA_API_KEY",
    ),
    "anthropic:": AnthropicDialect(
        name="anthropic",
        url="https://api.anthropic.com",
        url_variable="ANTHROPIC_BASE_URL",
        key_variable="ANTHROPIC_API_KEY",
        path="/messages",
        has_log_probabilities=False,
    ),
}


def split_endpoint(name: str) -> tuple[Dialect, str]:
    """Return how the endpoint that a name means is spoken to, and its model.

    Examples
    --------
    >>> dialect, model = split_endpoint("ollama:qwen3:4b")
    >>> dialect.name, model
    ('ollama', 'qwen3:4b')
    """
    kind, _, model = name.partition(":")
    if not model.strip():
        raise InputError("the endpoint's model has no name", f"write {kind}:MODEL")
    return _DIALECTS[f"{kind}:"], model


def refused_field(body: Mapping[str, Any], said: str) -> str | None:
    """Return the field of a request that a refusal names and that we can do without.

    Examples
    --------
    >>> refused_field({"n": 5, "seed": 1}, "Only one completion choice is allowed")
    'n'
    """
    fields = (name for name, words in _REFUSALS.items() if name in body and re.search(words, said))
    return next(fields, None)
