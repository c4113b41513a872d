"""NeMo Guardrails: an action for output rails that needs no call of a language model.

    rails = LLMRails(RailsConfig.from_path("config"))
    register(rails, rulebook="rules.yaml")

The flow calls it: `$flagged = execute moralscope_audit`.
"""

import asyncio
from typing import Any

from moralscope.interop.replies import audit_options, audited

ACTION = "moralscope_audit"


def register(rails: Any, rulebook: str | None = None, **options: Any) -> None:
    """Register the action with rails; `options` are any of an audit.

    It reads the user's and the bot's last message from the context and returns whether the reply is
    flagged.
    """
    chosen = audit_options(rulebook, **options)

    async def moralscope_audit(context: dict[str, Any] | None = None) -> bool:
        said = context or {}
        prompt, reply = said.get("user_message") or "", said.get("bot_message") or ""
        row = await asyncio.to_thread(audited, prompt, reply, chosen)
        return row.verdict.flag

    rails.register_action(moralscope_audit, name=ACTION)
