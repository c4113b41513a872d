"""What other tools ask of a guard over HTTP: promptfoo's webhook, LiteLLM's guardrail.

The guard is that of `serve` (its --rulebook, --guard-action, …); it needs no chatbot behind it.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from moralscope.core.errors import InputError
from moralscope.server.api.schemas import MAX_EXCHANGES, MAX_TEXT, Long, shown
from moralscope.server.errors import documented
from moralscope.server.guard import GuardDecision, GuardedReply, last_prompt
from moralscope.server.security import allowed

_PROMPTS = 10_000  # calls whose prompts are remembered until their reply comes

router = APIRouter(
    tags=["hooks"],
    dependencies=[Depends(allowed)],
    responses=documented(400, 401, 403, 408, 413, 422, 429, 500, 504),
)


def _answer(**example: Any) -> dict[int | str, dict[str, Any]]:
    """Document an answer by an example."""
    return {200: {"content": {"application/json": {"example": example}}}}


class _Given(BaseModel):
    """A body that another tool defines: what it says besides is not read."""

    model_config = ConfigDict(extra="ignore")


class PromptfooContext(_Given):
    """What the reply is to."""

    prompt: Any = ""


class PromptfooRequest(_Given):
    """What promptfoo posts for an assertion of type `webhook`."""

    model_config = shown("PromptfooRequest")
    output: Any
    context: PromptfooContext = PromptfooContext()


class PromptfooResult(BaseModel):
    """Whether the reply passes, a score from 0 (bad) to 1, and why."""

    pass_: bool = Field(alias="pass")
    score: float
    reason: str


@router.post(
    "/v1/hooks/promptfoo",
    summary="An assertion of promptfoo (webhook)",
    responses=_answer(**{"pass": False, "score": 0.1, "reason": "flagged: breaks “…”"}),
)
async def promptfoo(request: Request, body: PromptfooRequest) -> PromptfooResult:
    """Audit one reply; it passes unless the guard flags it."""
    output = body.output if isinstance(body.output, str) else json.dumps(body.output)
    (guarded,) = await _judge(request, _prompt(body.context.prompt), [GuardedReply(output)])
    said = guarded.note.get("verdict") or {"score": 0.0, "reason": "there is no reply to judge"}
    return PromptfooResult.model_validate(
        {
            "pass": guarded.outcome == "passed",
            "score": (said["score"] + 1) / 2,
            "reason": f"{guarded.verdict}: {said['reason']}",
        }
    )


def _prompt(prompt: Any) -> str:
    """Return the prompt of a test: its text, or what was said last where it is a chat."""
    text = prompt if isinstance(prompt, str) else json.dumps(prompt)
    try:
        return last_prompt(json.loads(text)) if text.lstrip().startswith("[") else text
    except (ValueError, InputError):
        return text


class LitellmRequest(_Given):
    """What LiteLLM's `generic_guardrail_api` posts."""

    model_config = shown("LitellmRequest")
    input_type: Literal["request", "response"]
    texts: Annotated[list[Long], Field(max_length=MAX_EXCHANGES)] | None = None
    structured_messages: list[Any] | None = None
    tool_calls: list[Any] | None = None
    litellm_call_id: str | None = None


class LitellmAnswer(BaseModel):
    """What becomes of the texts: nothing, others in their place, or none of them goes out."""

    action: Literal["NONE", "BLOCKED", "GUARDRAIL_INTERVENED"]
    blocked_reason: str | None = None
    texts: list[str] | None = None


class Prompts:
    """Prompts by call, from the request until the response: LiteLLM's response does not name it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, call: str | None, prompt: str) -> None:
        """Remember a prompt; of too many the oldest is forgotten."""
        with self._lock:
            if call:
                self._kept[call] = prompt[:MAX_TEXT]
            while len(self._kept) > _PROMPTS:
                self._kept.popitem(last=False)

    def take(self, call: str | None) -> str:
        """Return the prompt of a call once; nothing where the request was not seen."""
        with self._lock:
            return self._kept.pop(call or "", "")


@router.post(
    "/beta/litellm_basic_guardrail_api",
    summary="A guardrail of LiteLLM",
    responses=_answer(action="BLOCKED", blocked_reason="This reply was withheld: …", texts=[]),
)
async def litellm(request: Request, body: LitellmRequest) -> LitellmAnswer:
    """Audit replies as `serve --guard-action` says: block, revise, or only look (annotate).

    Requests pass; their prompt is remembered until the reply comes (mode: [pre_call, post_call]).
    """
    prompts: Prompts = request.app.state.prompts
    unjudged = ("tool_calls",) if body.tool_calls else ()
    if body.input_type == "request":
        said = last_prompt(body.structured_messages or [])
        prompts.keep(body.litellm_call_id, said or "\n".join(body.texts or ()))
        return LitellmAnswer(action="NONE")
    texts = body.texts or ([""] if unjudged else [])
    replies = [GuardedReply(text, unjudged) for text in texts]
    decisions = await _judge(request, prompts.take(body.litellm_call_id), replies)
    blocked = [decision for decision in decisions if decision.outcome == "blocked"]
    if blocked:
        return LitellmAnswer(action="BLOCKED", blocked_reason=blocked[0].text)
    if any(decision.is_changed for decision in decisions):
        return LitellmAnswer(action="GUARDRAIL_INTERVENED", texts=[one.text for one in decisions])
    return LitellmAnswer(action="NONE")


async def _judge(
    request: Request, prompt: str, replies: Sequence[GuardedReply]
) -> list[GuardDecision]:
    guard = request.app.state.proxy.guard
    if not replies:
        return []
    if max(len(reply.text) for reply in replies) > MAX_TEXT or len(prompt) > MAX_TEXT:
        raise InputError(f"a text has more than {MAX_TEXT:,} characters", "send a shorter one")
    guarded: list[GuardDecision] = await request.app.state.work.run(
        request, lambda report: guard(prompt, replies)
    )
    return guarded
