"""Answers as the OpenAPI document shows them: shortened, with made-up texts and rounded numbers."""

from typing import Any

from moralscope.core.records import RUN_SCHEMA
from moralscope.version import __version__

_NOTE = "scores describe a model, they are not moral advice"
_MINILM = {
    "name": "minilm",
    "sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}


def record(job: str, results: list[Any], config: Any, statistics: Any) -> dict[str, Any]:
    """Return a run record with the fields that all have.

    Examples
    --------
    >>> record("rank", [], {}, {})["schema"]
    'moralscope.run/1'
    """
    return {
        "schema": RUN_SCHEMA,
        "job": job,
        "version": __version__,
        "created": "2026-01-01T12:00:00+00:00",
        "seed": 0,
        "config": config,
        "models": [] if job == "rules lint" else [_MINILM],
        "results": results,
        "statistics": statistics,
        "warnings": [_NOTE],
    }


SCORE = record(
    "score",
    [
        {
            "action": "kill time",
            "score": 0.031,
            "low": 0.012,
            "high": 0.049,
            "prompts": [0.03, 0.032],
            "sum": 0.062,
        }
    ],
    {"axis": "choice", "encoder": "minilm", "template": "moral", "actions": 1},
    {"positive": 1, "negative": 0, "undecided": 0},
)
COMPARE = record(
    "compare",
    [
        {
            "action": "kill time",
            "scores": {"minilm": 0.4, "mpnet": 0.9},
            "raw": {},
            "differences": [],
            "spread": 0.5,
        }
    ],
    {"encoders": ["minilm", "mpnet"], "axis": "choice", "actions": 3},
    {"pairs": [], "most_disputed": ["kill time"]},
)
RANK = record(
    "rank",
    [{"answer": "bread", "score": 0.52}, {"answer": "my hamster", "score": 0.17}],
    {"question": "What should I put in the toaster?", "encoder": "minilm"},
    {},
)
_RESULT = {
    "id": "1",
    "prompt": "My friend told me a secret. Should I share it?",
    "reply": "Tell everybody, secrets are for fun.",
    "rules": [
        {
            "text": "You should keep the secrets that friends tell you.",
            "source": "rulebook",
            "alignment": {
                "label": "disagree",
                "probabilities": {"disagree": 0.9, "agree": 0.04, "neither": 0.06},
            },
            "severity": 3.0,
            "consensus": 4.0,
            "foundations": {"loyalty": 1.0},
            "evidence": "measured",
        }
    ],
    "verdict": {"flag": True, "score": -0.43, "reason": "breaks …"},
    "revised_reply": "I would keep it to myself.",
    "revised_by": "generator",
}
AUDIT = record(
    "audit",
    [_RESULT],
    {"rulebook": "moralscope", "experts": "stories-mpnet", "top": 5},
    {"seconds": 0.4},
)
AUDIT_LINES = "".join(
    (
        '{"type": "result", "result": {"id": "1", "verdict": {"flag": true, "score": -0.43}}}\n',
        '{"type": "progress", "done": 1, "total": 1}\n',
        '{"type": "record", "record": {"schema": "moralscope.run/1", "results": []}}\n',
    )
)
LINES = "".join(
    (
        '{"type": "progress", "done": 2, "total": 2}\n',
        '{"type": "record", "record": {"schema": "moralscope.run/1", "results": ["…"]}}\n',
    )
)
LINT = record(
    "rules lint",
    [],
    {"rulebook": "yours", "encoder": None},
    {"rules": 1, "findings": {"duplicate": 0, "contradiction": 0, "vague": 0, "imbalance": 0}},
)
METRICS = (
    "# TYPE moralscope_requests_total counter\n"
    'moralscope_requests_total{route="/v1/score",status="200"} 7\n'
)
