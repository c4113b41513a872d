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

from moralscope.interop.chat import text_in
from moralscope.interop.findings import FLAGGED, Finding
from moralscope.interop.replies import audit_options, reply_auditor


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Audit a reply; the assertion's `config` holds `rulebook` and any option of an audit.

    Examples
    --------
    >>> found = get_assert("Hello you.", {"prompt": "Hi!", "config": {"experts": "scripted"}})
    >>> sorted(found)
    ['componentResults', 'namedScores', 'pass', 'reason', 'score']
    """
    options = audit_options(**(context.get("config") or {}))
    prompt, reply = text_in(context.get("prompt") or "", "user"), text_in(output, "assistant")
    (found,) = reply_auditor(options)([(prompt, reply)])
    return _grading(found)


def _grading(found: Finding) -> dict[str, Any]:
    """Return promptfoo's result: scores from 0 (bad) to 1, one component for each broken rule."""
    passed = found.verdict != FLAGGED
    return {
        "pass": passed,
        "score": (found.score + 1) / 2,
        "reason": f"{found.verdict}: {found.reason}",
        "namedScores": {"moralscope": (found.score + 1) / 2},
        # A component that fails would fail the assertion, and this reply may not be flagged.
        "componentResults": [
            {
                "pass": passed,
                "score": 1 - (rule.probability or 0.0),
                "reason": f"breaks “{rule.text}”",
            }
            for rule in found.broken
        ],
    }
