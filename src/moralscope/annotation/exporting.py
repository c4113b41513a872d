"""Answers as files: one row a person and item, under random ids; and the shapes others read.

`mic` is MIC.csv (Ziems et al. 2022), `stories` the JSONL of Moral Stories (accepted stories only),
`human` the yes/no counts of `score --human`, `people` what people told about themselves, `audit`
the log of who did what. Nothing here writes to disk.
"""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from moralscope.annotation.forms import load_form
from moralscope.annotation.groups import NOT_SAID, large_groups
from moralscope.annotation.options import SHAPES
from moralscope.annotation.records import (
    Answer,
    AnswerRow,
    AuditLine,
    FinalAnswer,
    PersonFacts,
    Project,
)
from moralscope.core.errors import InputError
from moralscope.core.records import grouped
from moralscope.io.files import csv_bytes, escape_cell

ROW_SCHEMA = "moralscope.annotations/1"
PEOPLE_SCHEMA = "moralscope.annotators/1"
AUDIT_SCHEMA = "moralscope.annotation-log/1"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # not tab and line ends
_ALIGNMENTS = {"disagree": 0, "neither": 1, "agree": 2}  # MIC's codes


def check_shape(project: Project, shape: str) -> None:
    """Refuse a shape that this project's task does not have."""
    task = SHAPES[shape].task
    if task and task != project.task:
        raise InputError(
            f"the shape '{shape}' is of the task '{task}', this project's is '{project.task}'",
            "choose jsonl, csv or parquet",
        )


def export_bytes(
    shape: str,
    project: Project,
    rows: Sequence[AnswerRow],
    finals: Mapping[str, FinalAnswer] | None = None,
) -> Iterator[bytes]:
    """Yield the bytes of an export; of `csv`, no spreadsheet runs a cell.

    `finals` are what leads decided, by item: in `jsonl`, `csv` and `parquet` they stand beside.
    """
    check_shape(project, shape)
    if shape == "jsonl":
        return map(_json_line, json_rows(project, rows, finals or {}))
    if shape == "stories":
        return map(_json_line, story_rows(project, rows))
    if shape == "csv":
        return _csv_bytes(flat_rows(rows, finals or {}), escape_cell)
    if shape in ("mic", "human"):
        return _csv_bytes(mic_rows(rows) if shape == "mic" else human_rows(rows), str)
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(flat_rows(rows, finals or {})), stream)
    return iter([stream.getvalue()])


def people_bytes(facts: Iterable[PersonFacts], smallest: int) -> Iterator[bytes]:
    """Yield a line for each person who told something about herself.

    A leaning that fewer than `smallest` people have is exported as `others`. Age, region and so on
    are in no line: together they would name people. `annotate statement` counts them.
    """
    rows = list(facts)
    groups = large_groups({one.person: one.leaning for one in rows}, smallest)
    shown = {who: name for name, people in groups.items() for who in people}
    for one in rows:
        leaning = None if shown[one.person] == NOT_SAID else shown[one.person]
        row = {"schema": PEOPLE_SCHEMA, "person": one.person, "leaning": leaning}
        yield _json_line({**row, "foundations": dict(one.foundations)})


def audit_bytes(lines: Iterable[AuditLine]) -> Iterator[bytes]:
    """Yield the audit log, the oldest line first, with random ids in place of names."""
    for one in lines:
        yield _json_line({"schema": AUDIT_SCHEMA, **asdict(one), "at": _utc(one.at)})


def json_rows(
    project: Project, rows: Iterable[AnswerRow], finals: Mapping[str, FinalAnswer]
) -> Iterator[dict[str, Any]]:
    """Yield answers whole: texts and answer as objects, and so the final one of an item decided."""
    for row in rows:
        final = finals.get(row.item)
        yield {
            "schema": ROW_SCHEMA,
            "project": project.name,
            "task": project.task,
            **_head(row),
            "texts": dict(row.texts),
            "answer": dict(row.answer),
            **({"final": {"answer": dict(final.answer), **_decided(final)}} if final else {}),
        }


def flat_rows(
    rows: Sequence[AnswerRow], finals: Mapping[str, FinalAnswer] | None = None
) -> list[dict[str, Any]]:
    """Return answers as a table: texts under `text_NAME`, lists joined by |, yes and no as 1 and 0.

    Where leads decided something, `final_NAME` is the item's final answer.
    """
    texts = dict.fromkeys(name for row in rows for name in row.texts)
    forms = dict.fromkeys(row.form for row in rows)
    fields = {field.name: field for form in forms for field in load_form(form).fields}

    def answer_cells(answer: Answer, prefix: str = "") -> dict[str, Any]:
        return {
            prefix + name: None if answer.get(name) is None else field.kind.cell(answer[name])
            for name, field in fields.items()
        }

    table = []
    for row in rows:
        cells = _head(row)
        cells |= {f"text_{name}": row.texts.get(name) for name in texts}
        cells |= answer_cells(row.answer)
        if finals:
            final = finals.get(row.item)
            cells |= answer_cells(final.answer if final else {}, "final_")
            decided = _decided(final) if final else dict.fromkeys(("comment", "by", "at"))
            cells |= {f"final_{name}": value for name, value in decided.items()}
        table.append(cells)
    return table


def _decided(final: FinalAnswer) -> dict[str, Any]:
    return {"comment": final.comment, "by": final.lead, "at": _utc(final.created)}


def mic_rows(rows: Iterable[AnswerRow]) -> list[dict[str, Any]]:
    """Return rules of thumb in the columns of MIC.csv; who wrote them is a random id."""
    return [
        {
            "id": f"{row.item}-{row.person}",
            "Q": row.texts["prompt"],
            "A": row.texts["reply"],
            "rot": row.answer["rule"],
            "A_agrees": _ALIGNMENTS[row.answer["alignment"]],
            "rot-agree": row.answer["consensus"],
            "violation-severity": row.answer["severity"],
            "moral": "|".join(row.answer.get("foundations") or ()),
            "worker_answer": row.answer["revised_reply"],
            "WorkerId": row.person,
            "chatbot": row.texts.get("chatbot", ""),
            "split": "",
        }
        for row in rows
    ]


def human_rows(rows: Iterable[AnswerRow]) -> list[dict[str, Any]]:
    """Count yes and no for each action."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts.setdefault(row.texts["action"], [0, 0])[0 if row.answer["ok"] else 1] += 1
    return [{"action": action, "yes": yes, "no": no} for action, (yes, no) in counts.items()]


def story_rows(project: Project, rows: Sequence[AnswerRow]) -> Iterator[dict[str, Any]]:
    """Yield the stories that most of those who checked them found without fault."""
    checks = grouped((row.item, row) for row in rows if row.form != project.task)
    sentences = [field.name for field in load_form(project.task).fields if field.kind.exported]
    wanted = project.policies.validators_per_item
    for row in rows:
        if row.form != project.task:
            continue
        votes = checks.get(f"{row.submission}-r{row.revision}", [])
        good = sum(all(vote.answer.values()) for vote in votes)
        # A text that too few have checked is not accepted yet; without validators every text is.
        if not wanted or (len(votes) >= wanted and 2 * good > len(votes)):
            yield {"ID": row.submission, **{name: row.answer[name] for name in sentences}}


def _head(row: AnswerRow) -> dict[str, Any]:
    return {
        "item": row.item,
        "person": row.person,
        "form": row.form,
        "stage": row.stage,
        "submitted": _utc(row.submitted),
        "seconds": None if row.seconds is None else round(row.seconds, 1),
        "revision": row.revision,
        "submission": row.submission,
    }


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _json_line(row: Mapping[str, Any]) -> bytes:
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _csv_bytes(rows: Sequence[Mapping[str, Any]], escape: Callable[[str], str]) -> Iterator[bytes]:
    """Yield a table; control characters, which a terminal would obey, are marked in it."""

    def cell(value: Any) -> Any:
        return escape(_CONTROL.sub("�", value)) if isinstance(value, str) else value

    yield csv_bytes([map(cell, rows[0] if rows else ())])
    for row in rows:
        yield csv_bytes([map(cell, row.values())])
