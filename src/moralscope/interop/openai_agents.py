"""OpenAI Agents SDK: guardrails that audit what an agent says, and each tool call before it runs.

Agent(name="Support", output_guardrails=[moral_guardrail(rulebook="rules.yaml")])
"""

import asyncio
from typing import Any

from moralscope.core.extras import require_extra
from moralscope.core.records import to_plain
from moralscope.interop.replies import audit_options, audited, reply_auditor
from moralscope.rules.conversations.acts import ToolCall
from moralscope.rules.conversations.conversation import (
    ASSISTANT,
    HISTORY,
    Turn,
    lenient_conversation,
)


def moral_guardrail(rulebook: str | None = None, **options: Any) -> Any:
    """Return an `OutputGuardrail`; `options` are any of an audit.

    What was said and done before, as far as the SDK hands it on, is the context: the output is
    judged as the last turn of that conversation. `output_info` of the result is the verdict.
    """
    require_extra("agents", "a guardrail of the OpenAI Agents SDK")
    from agents import GuardrailFunctionOutput, OutputGuardrail

    chosen = audit_options(rulebook, **options)

    async def moralscope_audit(context: Any, agent: Any, output: Any) -> Any:
        # A text, or the JSON of a typed output.
        said = str(output.model_dump_json() if hasattr(output, "model_dump_json") else output)
        row = await asyncio.to_thread(audited, context.turn_input or "", said, chosen)
        return GuardrailFunctionOutput(to_plain(row.verdict), row.verdict.flag)

    return OutputGuardrail(moralscope_audit, name="moralscope")


def moral_tool_guardrail(rulebook: str | None = None, *, stop: bool = False, **options: Any) -> Any:
    """Return a `ToolInputGuardrail`: a flagged call does not run, and the model is told so.

    With `stop` the run ends instead (`ToolInputGuardrailTripwireTriggered`). The call is judged as
    the next turn of the conversation; `conversation_hooks` let it see what tools returned before.
    """
    require_extra("agents", "a guardrail of the OpenAI Agents SDK")
    from agents import ToolGuardrailFunctionOutput, ToolInputGuardrail

    from moralscope.rules.conversations.audit import FOLLOWED

    auditor = reply_auditor(audit_options(rulebook, **options))

    async def moralscope_audit(data: Any) -> Any:
        tools = [vars(tool) for tool in data.agent.tools]  # their names and descriptions
        before = lenient_conversation(data.context.turn_input, tools, HISTORY)
        call = ToolCall(data.context.tool_name, data.context.tool_arguments)
        turn = Turn(ASSISTANT, calls=(call,))
        verdict = (await asyncio.to_thread(auditor.last_turn, before, turn)).verdict
        info = to_plain(verdict)
        if not verdict.flag:
            return ToolGuardrailFunctionOutput.allow(info)
        if stop:
            return ToolGuardrailFunctionOutput.raise_exception(info)
        # The reason may quote what a tool's result asks for: the model is not told it again. That
        # somebody else gave the order goes before a rule that the act breaks, too.
        why = (verdict.concern != FOLLOWED and verdict.lead) or verdict.concern or "it reads as bad"
        return ToolGuardrailFunctionOutput.reject_content(
            f"Not done: this call was flagged ({why}).", info
        )

    return ToolInputGuardrail(moralscope_audit, name="moralscope")


def conversation_hooks() -> Any:
    """Return `AgentHooks` that show guardrails what tools were called and returned in this run.

    The SDK itself hands guardrails only what the run began with.
    """
    require_extra("agents", "hooks of the OpenAI Agents SDK")
    from agents import AgentHooks

    class ConversationHooks(AgentHooks):
        async def on_llm_start(
            self, context: Any, agent: Any, system_prompt: Any, input_items: Any
        ) -> None:
            context.turn_input = list(input_items)

    return ConversationHooks()
