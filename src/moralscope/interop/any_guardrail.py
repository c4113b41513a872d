"""any-guardrail: the audit as one of its guardrails.

guardrail = moral_guardrail(rulebook="rules.yaml")
guardrail.validate("What do I say?", "Lie to them.").valid
"""

from typing import Any

from moralscope.core.extras import require_extra
from moralscope.core.records import to_plain
from moralscope.interop.replies import audit_options, audited


def moral_guardrail(rulebook: str | None = None, **options: Any) -> Any:
    """Return a `Guardrail` of any-guardrail; `options` are any of an audit.

    `validate(text)` reads a text alone, `validate(prompt, reply)` a reply to its prompt. The score
    is theirs: from 0 (fine) to 1 (bad).
    """
    require_extra("any-guardrail", "a guardrail of any-guardrail")
    from any_guardrail.base import Guardrail, GuardrailOutput

    chosen = audit_options(rulebook, **options)

    class AuditGuardrail(Guardrail):  # type: ignore[misc, unused-ignore]
        """Audits replies."""

        model_id = f"moralscope/{chosen.experts}"

        def validate(self, input_text: str, output_text: str | None = None) -> Any:
            prompt, reply = ("", input_text) if output_text is None else (input_text, output_text)
            verdict = audited(prompt, reply, chosen).verdict
            return GuardrailOutput(
                valid=not verdict.flag,
                explanation=verdict.reason,
                score=(1 - verdict.score) / 2,
                raw=to_plain(verdict),
            )

    return AuditGuardrail()
