"""LangChain and LangGraph: a runnable that passes replies on and stops those that are flagged.

chain = model | moral_guard(rulebook="rules.yaml")
"""

from collections.abc import Mapping
from typing import Any

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.extras import require_extra
from moralscope.interop.replies import audit_options, audited
from moralscope.rules.records import Verdict


class FlaggedReply(MoralscopeError):
    """A reply was flagged; `verdict` says why."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"the reply was flagged: {verdict.reason}", "do not send it")
        self.verdict = verdict


def moral_guard(
    rulebook: str | None = None, *, replacement: str | None = None, **options: Any
) -> Any:
    """Return a `Runnable` over replies: a text, a message, or a mapping with prompt and reply.

    A fine reply passes as it came. A flagged one raises `FlaggedReply`, or is replaced by the text
    in `replacement`. `options` are any of an audit.
    """
    require_extra("langchain", "a LangChain runnable")
    from langchain_core.runnables import RunnableLambda

    chosen = audit_options(rulebook, **options)

    def check(value: Any) -> Any:
        prompt, reply = _exchange(value)
        verdict = audited(prompt, reply, chosen).verdict
        if not verdict.flag:
            return value
        if replacement is None:
            raise FlaggedReply(verdict)
        if isinstance(value, Mapping):
            return {**value, "reply": replacement}
        is_message = hasattr(value, "model_copy")
        return value.model_copy(update={"content": replacement}) if is_message else replacement

    return RunnableLambda(check, name="moralscope")


def _exchange(value: Any) -> tuple[str, str]:
    """Return prompt and reply of what a chain hands on."""
    if isinstance(value, Mapping):
        if "reply" not in value:
            raise InputError("the mapping has no 'reply'", "hand on prompt and reply")
        return _content(value.get("prompt") or ""), _content(value["reply"])
    return "", _content(value)


def _content(value: Any) -> str:
    """Return the text of a message, of a prompt with messages, or of a text."""
    last = value.messages[-1] if hasattr(value, "messages") else value
    return str(last.text if hasattr(last, "content") else last)
