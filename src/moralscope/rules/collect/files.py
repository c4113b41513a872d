"""Prompts from files, and collected exchanges to files that `audit` reads unchanged."""

import io
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import to_plain, values_of
from moralscope.io.files import check_writable, csv_bytes, write_whole
from moralscope.io.tables import Layout, TableFile, is_table
from moralscope.rules.collect.chatbots import MAX_PROMPT, CollectedExchange, CollectPrompt
from moralscope.rules.texts.exchanges import open_exchanges

_REMEDY = "give one prompt per line (.txt), or CSV, JSONL or Parquet with the column prompt"
_LINES = Layout(lines_as="prompt", remedy=_REMEDY)
_FORMS = (".jsonl", ".csv", ".parquet")
_COLUMNS = ("id", "prompt", "reply", "chatbot", "keywords", "sufficient", "moral")


@dataclass(frozen=True, slots=True)
class PromptFile:
    """Prompts in their order, each text once; `left_out` counts the others by reason."""

    source: str
    prompts: Sequence[CollectPrompt]
    read: int
    left_out: Mapping[str, int] = field(default_factory=dict)


PROMPT_COLUMNS = ("prompt", "id", "answer")


def read_prompts(path: Path, columns: Mapping[str, str] | None = None) -> PromptFile:
    """Read prompts: one a line, or the column `prompt` of a table, with an `id` if there is one.

    Bad lines are refused by number. Empty prompts, repeated ones and those of more than 4,000
    characters are left out and counted.
    """
    if is_table(path):
        rows = list(_table_rows(path, columns or {}))
    else:
        lines = TableFile(path, layout=_LINES).strict_rows()
        rows = [(str(n), cells["prompt"], None) for n, cells in lines if cells["prompt"].strip()]
    kept: dict[str, CollectPrompt] = {}
    left_out: Counter[str] = Counter()
    for name, prompt, answer in rows:
        text = prompt.strip()
        if not text or len(text) > MAX_PROMPT or text in kept:
            why = "empty" if not text else "repeated" if text in kept else "too long"
            left_out[why] += 1
        else:
            kept[text] = CollectPrompt(text, name, answer)
    if not kept:
        raise InputError(f"{path} holds no prompt that can be asked", _REMEDY)
    name, count = Counter(prompt.id for prompt in kept.values()).most_common(1)[0]
    if count > 1:
        raise InputError(f"{path} has the id '{name[:60]}' {count} times", "name each prompt once")
    return PromptFile(str(path), list(kept.values()), len(rows), left_out)


def check_place(path: Path) -> None:
    """Refuse a place for exchanges that cannot be written, or a form that audit does not read."""
    if path.suffix.lower() not in _FORMS:
        raise InputError(f"{path} has no form that audit reads", "name it .jsonl, .csv or .parquet")
    check_writable(path)


def write_exchanges(rows: Sequence[CollectedExchange], path: Path) -> int:
    """Write the exchanges that were kept, whole or not at all; return how many."""
    check_place(path)
    kept = [row for row in rows if row.dropped is None]
    write_whole(path, _file_bytes(kept, path.suffix.lower()))
    return len(kept)


Row = tuple[str, str, str | None]  # id, prompt, top answer


def _table_rows(path: Path, columns: Mapping[str, str]) -> Iterator[Row]:
    """Read as a file of exchanges is read: the prompt stands in the reply's place too.

    With `answer` among the columns, the top answer of the thread stands there.
    """
    prompt = columns.get("prompt", "prompt")
    answer = columns.get("answer")
    names = {"prompt": prompt, "reply": answer or prompt, "id": columns.get("id", "id")}
    try:
        for row in open_exchanges(path, names):
            text = row.prompt.encode("utf-8", "replace").decode()
            yield row.id, text, row.reply if answer else None
    except InputError as error:
        remedy = _REMEDY if "reply" in error.remedy else error.remedy
        raise InputError(error.problem, remedy) from error


def _file_bytes(rows: Sequence[CollectedExchange], form: str) -> Iterator[bytes]:
    """Yield the rows as a JSONL, CSV or Parquet file."""
    plain: list[dict[str, Any]] = []
    for row in rows:
        plain.append({**to_plain(values_of(row, *_COLUMNS)), "keywords": "|".join(row.keywords)})
    if form == ".jsonl":
        for cells in plain:
            yield json.dumps(cells).encode() + b"\n"
    elif form == ".csv":
        yield csv_bytes([_COLUMNS, *(cells.values() for cells in plain)])
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        numbers = {"sufficient", "moral"}
        kinds = [(name, pa.float64() if name in numbers else pa.string()) for name in _COLUMNS]
        written = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(plain, schema=pa.schema(kinds)), written)
        yield written.getvalue()
