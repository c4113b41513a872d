"""Run records, written. Writing is atomic and does not copy the results."""

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.core.records import ModelRef, RunRecord, to_plain
from moralscope.io.files import write_whole


def model_refs(encoders: Sequence[Encoder]) -> list[ModelRef]:
    """Name the weights that a run used."""
    return [ModelRef(encoder.name, encoder.checksum) for encoder in encoders]


def record_lines(record: RunRecord) -> Iterator[str]:
    """Yield the record as JSON text, one result a line, without a copy of all results."""
    yield "{" + f'"schema": {json.dumps(record.schema)}'
    for name in ("job", "version", "created", "seed", "config", "models"):
        yield f',\n "{name}": {_json(getattr(record, name))}'
    yield ',\n "results": ['
    for place, result in enumerate(record.results):
        yield (",\n  " if place else "\n  ") + _json(result)
    yield "\n ]"
    for name in ("statistics", "warnings"):
        yield f',\n "{name}": {_json(getattr(record, name))}'
    yield "}\n"


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written before any work is done."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written", "give a file in a folder that exists")
    if not os.access(path.absolute().parent, os.W_OK):
        raise InputError(f"{path} cannot be written", "give a file in a folder you may write to")


def write_record(record: RunRecord, path: Path) -> None:
    """Write the record whole or not at all."""
    check_writable(path)
    write_whole(path, (line.encode() for line in record_lines(record)))


def _json(value: Any) -> str:
    return json.dumps(to_plain(value), ensure_ascii=True, allow_nan=False)
