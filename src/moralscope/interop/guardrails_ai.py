"""guardrails-ai: a validator that runs on this machine, without their hub.

guard = Guard().use(moral_validator(rulebook="rules.yaml", on_fail="exception"))
"""

from typing import Any

from moralscope.core.extras import require_extra
from moralscope.interop.replies import audit_options, audited

NAME = "moralscope/audit"


def moral_validator(rulebook: str | None = None, *, on_fail: Any = None, **options: Any) -> Any:
    """Return a validator of replies; `options` are any of an audit, `on_fail` is theirs.

    The prompt may be given as metadata: `guard.validate(reply, metadata={"prompt": …})`.
    """
    require_extra("guardrails", "a validator of guardrails-ai")
    from guardrails.validator_base import FailResult, PassResult, Validator, register_validator

    chosen = audit_options(rulebook, **options)

    @register_validator(name=NAME, data_type="string")
    class MoralAudit(Validator):  # type: ignore[misc, unused-ignore]
        """Fails a reply that the audit flags."""

        def _validate(self, value: Any, metadata: dict[str, Any]) -> Any:
            verdict = audited(metadata.get("prompt") or "", str(value), chosen).verdict
            if not verdict.flag:
                return PassResult(metadata={"score": verdict.score})
            broken = ", ".join(verdict.broken)
            return FailResult(error_message=f"{verdict.reason} {broken}".strip(), fix_value="")

    return MoralAudit(on_fail=on_fail)
