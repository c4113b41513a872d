"""Data cards: which data sets moralscope reads, whose they are, and which files were measured.

Reads the cards (``data.toml``) and looks at files below MORALSCOPE_DATA; fetches nothing.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.models.store._catalogue import record_of
from moralscope.models.store._entries import PinnedFile
from moralscope.models.store._files import is_pinned

CARDS = Path(__file__).with_name("data.toml")
VARIABLE = "MORALSCOPE_DATA"
VERIFIED, OTHER, ABSENT = "verified", "other content", "absent"


@dataclass(frozen=True, slots=True)
class DataCard:
    """One data set: what it is, where a user gets it, under which terms, and its files.

    `files` is empty where the authors hand the data out themselves.
    """

    name: str
    about: str
    source: str
    licence: str
    citation: str
    notes: str
    folder: str
    files: tuple[PinnedFile, ...]

    def place(self) -> Path | None:
        """Return the set's folder below MORALSCOPE_DATA, whether or not it is there."""
        root = os.environ.get(VARIABLE)
        return Path(root).expanduser() / self.folder if root else None

    def states(self) -> dict[str, str]:
        """Return for each pinned file whether it is verified, of other content, or absent."""
        place = self.place()
        return {file.path: _state(place, file) for file in self.files}


def load_data_cards(path: Path = CARDS) -> dict[str, DataCard]:
    """Return the data cards by name.

    Examples
    --------
    >>> load_data_cards()["moral-stories"].licence
    'MIT'
    """
    with path.open("rb") as source:
        tables = tomllib.load(source)
    return {name: _card(name, table) for name, table in tables.items()}


def data_card(name: str) -> DataCard:
    """Return one card by name."""
    cards = load_data_cards()
    if name not in cards:
        raise UnknownName(f"there is no data set '{name}'", did_you_mean(name, cards))
    return cards[name]


def _card(name: str, table: Mapping[str, Any]) -> DataCard:
    where = f"[{name}]"
    known = {field.name for field in fields(DataCard)} - {"name"}
    for key in table:
        if key not in known:
            raise InputError(f"{where} has an unknown key '{key}'", did_you_mean(key, known))
    for key in known - {"files"}:
        if not isinstance(table.get(key), str) or not table[key]:
            raise InputError(f"data cards: {where} has no text under '{key}'", "correct the card")
    if not re.fullmatch(r"[a-z0-9_-]+", table["folder"]):
        raise InputError(f"data cards: {where} has an unsafe folder", "name one plain folder")
    if not isinstance(table.get("files"), list):
        raise InputError(f"data cards: {where} has no list of files", "correct the card")
    files = tuple(record_of(PinnedFile, row, f"{where} files") for row in table["files"])
    return DataCard(**{**table, "name": name, "files": files})


def _state(place: Path | None, file: PinnedFile) -> str:
    path = place / file.path if place else None
    if path is None or not path.is_file():
        return ABSENT
    try:
        return VERIFIED if is_pinned(path, file) else OTHER
    except OSError:
        return OTHER
