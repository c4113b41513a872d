"""Data sets that users bring: whose they are, where they go, and which files were measured.

Reads the cards (``data.toml``) and looks at files below MORALSCOPE_DATA; ships and fetches nothing.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from moralscope.core.errors import ChecksumMismatch, InputError, StoreError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.models.store._entries import PinnedFile, record_of
from moralscope.models.store._files import is_pinned


def data_file(relative: str) -> Path | None:
    """Return the file below MORALSCOPE_DATA, or None when it is not there."""
    root = os.environ.get(VARIABLE)
    path = Path(root) / relative if root else None
    return path if path and path.is_file() else None


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
        return {file.path: _file_state(place, file) for file in self.files}


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


def _file_state(place: Path | None, file: PinnedFile) -> str:
    path = place / file.path if place else None
    if path is None or not path.is_file():
        return ABSENT
    try:
        return VERIFIED if is_pinned(path, file) else OTHER
    except OSError:
        return OTHER


@dataclass(frozen=True, slots=True)
class DataStatus:
    """One data card and what is known of its files on this machine."""

    name: str
    about: str
    source: str
    licence: str
    citation: str
    notes: str
    folder: str
    files: int
    state: str


def list_data() -> list[DataStatus]:
    """Return every data card; a set is present when all its pinned files are there.

    Examples
    --------
    >>> [status.name for status in list_data()][:2]
    ['moral-stories', 'ethics']
    """
    return [_status(card) for card in load_data_cards().values()]


def where_data(name: str) -> DataStatus:
    """Return one data card: where the set comes from and where its files go."""
    return _status(data_card(name))


def verify_data(names: Sequence[str]) -> list[DataStatus]:
    """Check every pinned file of the named sets (of all that are there, if none is named).

    A file that is not the pinned one is an error; so is a named set that is absent.
    """
    cards = [data_card(name) for name in names] or [
        card for card in load_data_cards().values() if _there(card)
    ]
    if not cards:
        raise StoreError(f"no data set is below {VARIABLE}", "see 'moralscope data list'")
    return [_verified(card, named=bool(names)) for card in cards]


def _verified(card: DataCard, *, named: bool) -> DataStatus:
    if not card.files:
        raise InputError(f"{card.name} has no pinned files", card.notes)
    states = card.states()
    other = [path for path, state in states.items() if state == OTHER]
    absent = [path for path, state in states.items() if state == ABSENT]
    if other:
        raise ChecksumMismatch(
            f"{card.place()}/{other[0]} is not the file that the card of {card.name} names"
            + (f" ({len(other):,} such files)" if len(other) > 1 else ""),
            f"results may differ; the official source is {card.source}",
        )
    if absent and (named and len(absent) == len(states)):
        raise StoreError(f"{card.name} is not below {VARIABLE}", f"get it from {card.source}")
    state = "verified" if not absent else f"verified, {len(absent):,} of {len(states):,} absent"
    return _status(card, state)


def _there(card: DataCard) -> bool:
    place = card.place()
    return bool(place and any((place / file.path).is_file() for file in card.files))


def _status(card: DataCard, state: str | None = None) -> DataStatus:
    place = card.place()
    return DataStatus(
        card.name,
        card.about,
        card.source,
        card.licence,
        card.citation,
        card.notes,
        str(place) if place else f"${VARIABLE}/{card.folder}",
        len(card.files),
        state or _state(card),
    )


def _state(card: DataCard) -> str:
    """Say whether the files are there; their content is `verify`'s business."""
    place = card.place()
    if not card.files:
        return "present" if place and place.is_dir() else "absent"
    here = sum(bool(place and (place / file.path).is_file()) for file in card.files)
    if here == len(card.files):
        return "present"
    return f"{here} of {len(card.files)} files" if here else "absent"
