"""promptfoo: a Python assertion that fails a reply which the audit flags.

    assert:
      - type: python
        value: file://PATH:get_assert   # PATH: what `moralscope interop promptfoo-path` prints
        config: {rulebook: rules.yaml}

promptfoo starts a Python for every assertion, so each one loads the models. Where there are many,
run `moralscope serve` and use its webhook.
"""

from collections.abc import Mapping
from typing import Any

from moralscope.core.errors import MoralscopeError
from moralscope.interop.replies import FLAGGED, audit_options, reply_auditor, text_in, verdict_word


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Audit a reply; the assertion's `config` holds `rulebook` and any option of an audit.

    Scores go from 0 (bad) to 1; there is one component for each broken rule. What is wrong with
    the config or a rulebook fails the assertion, with the reason.

    Examples
    --------
    >>> result = get_assert("Hello you.", {"prompt": "Hi!", "config": {"experts": "scripted"}})
    >>> sorted(result)
    ['componentResults', 'namedScores', 'pass', 'reason', 'score']
    """
    prompt, reply = text_in(context.get("prompt") or "", "user"), text_in(output, "assistant")
    try:
        auditor = reply_auditor(audit_options(**(context.get("config") or {})))
        (audit,) = auditor([(prompt, reply)])
    except MoralscopeError as error:  # promptfoo would show a traceback, ours and its own
        return {"pass": False, "score": 0.0, "reason": f"moralscope: {error}"}
    word, score = verdict_word(audit.verdict), (audit.verdict.score + 1) / 2
    return {
        "pass": word != FLAGGED,
        "score": score,
        "reason": f"{word}: {audit.verdict.reason}",
        "namedScores": {"moralscope": score},
        # A component that fails would fail the assertion, and this reply may not be flagged.
        "componentResults": [
            {
                "pass": word != FLAGGED,
                "score": 1 - rule.alignment.probabilities["disagree"],
                "reason": f"breaks “{rule.text}”",
            }
            for rule in auditor.broken(audit)
        ],
    }
