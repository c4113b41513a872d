"""Label Studio and Argilla: audited replies out for people to judge, their answers back.

Exports hold the audit's verdict as a prediction (Label Studio) or a suggestion (Argilla). What
people answered comes back as rows that `moralscope agreement` reads: item, person, field, value.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moralscope.core.errors import InputError
from moralscope.interop.exports import ExportedRun
from moralscope.interop.replies import verdict_word
from moralscope.version import __version__

FIELD = "verdict"
LABEL_STUDIO_CONFIG = """<View>
  <Header value="Prompt"/>
  <Text name="prompt" value="$prompt"/>
  <Header value="Reply"/>
  <Text name="reply" value="$reply"/>
  <Choices name="verdict" toName="reply" choice="single" required="true">
    <Choice value="flagged"/>
    <Choice value="fine"/>
    <Choice value="abstained"/>
  </Choices>
</View>
"""


def label_studio(run: ExportedRun) -> str:
    """Write tasks with predictions, as Label Studio imports them."""
    tasks = [
        {
            "data": {"id": row.id, "prompt": row.prompt, "reply": row.reply},
            "predictions": [
                {
                    "model_version": f"moralscope {__version__}",
                    "score": abs(row.verdict.score),
                    "result": [
                        {
                            "from_name": FIELD,
                            "to_name": "reply",
                            "type": "choices",
                            "value": {"choices": [verdict_word(row.verdict)]},
                        }
                    ],
                }
            ],
        }
        for row in run.audits
    ]
    return json.dumps(tasks, indent=1, ensure_ascii=False) + "\n"


def argilla(run: ExportedRun) -> str:
    """Write records with suggestions, as `argilla.Record.from_dict` reads them."""
    records = [
        {
            "id": row.id,
            "fields": {"prompt": row.prompt, "reply": row.reply},
            "suggestions": {
                FIELD: {
                    "value": verdict_word(row.verdict),
                    "score": abs(row.verdict.score),
                    "agent": f"moralscope {__version__}",
                }
            },
            "metadata": {"score": row.verdict.score},
        }
        for row in run.audits
    ]
    return json.dumps(records, indent=1, ensure_ascii=False) + "\n"


LABELLING = {"label-studio": label_studio, "argilla": argilla}


def read_answers(plain: Any, name: str = "the export") -> list[dict[str, str]]:
    """Return people's answers from an export of Label Studio (JSON) or of Argilla's records.

    Examples
    --------
    >>> responses = {"verdict": [{"value": "fine", "user_id": "u1"}]}
    >>> read_answers([{"id": "7", "fields": {}, "responses": responses}])
    [{'item': '7', 'person': 'u1', 'field': 'verdict', 'value': 'fine'}]
    """
    if not (isinstance(plain, Sequence) and all(isinstance(row, Mapping) for row in plain)):
        raise InputError(f"{name} is not a list of tasks", "give the tool's JSON export")
    rows = []
    for task in plain:
        answers = _label_studio if "data" in task else _argilla
        rows += [
            {"item": item, "person": person, "field": field, "value": value}
            for item, person, field, value in answers(task)
        ]
    if not rows:
        raise InputError(f"{name} holds no answers", "export it after people answered")
    return rows


def _label_studio(task: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    item = str(task["data"].get("id") or task.get("id"))
    for annotation in task.get("annotations") or ():
        by = annotation.get("completed_by")
        person = str(by.get("id") if isinstance(by, Mapping) else by)
        for result in annotation.get("result") or ():
            choices = result.get("value", {}).get("choices")
            if choices and not annotation.get("was_cancelled"):
                yield item, person, str(result.get("from_name")), "|".join(map(str, choices))


def _argilla(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for field, responses in (record.get("responses") or {}).items():
        for response in responses:
            if response.get("status", "submitted") == "submitted":
                value = response["value"]
                text = "|".join(map(str, value)) if isinstance(value, list) else str(value)
                yield str(record.get("id")), str(response.get("user_id")), str(field), text
