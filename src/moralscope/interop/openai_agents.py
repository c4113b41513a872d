"""OpenAI Agents SDK: an output guardrail that trips where the audit flags what an agent says.

Agent(name="Support", output_guardrails=[moral_guardrail(rulebook="rules.yaml")])
"""

import asyncio
from typing import Any

from moralscope.core.extras import require_extra
from moralscope.core.records import to_plain
from moralscope.interop.replies import audit_options, audited


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
        is_typed = hasattr(output, "model_dump_json")
        said = str(output.model_dump_json() if is_typed else output)
        row = await asyncio.to_thread(audited, context.turn_input or "", said, chosen)
        return GuardrailFunctionOutput(to_plain(row.verdict), row.verdict.flag)

    return OutputGuardrail(moralscope_audit, name="moralscope")
