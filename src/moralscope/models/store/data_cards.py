"""Data sets that users bring: whose they are, where they go, and which files were measured.

Reads the cards (``data.toml``) and looks at files below MORALSCOPE_DATA; ships and fetches nothing.
"""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from moralscope.core.errors import ChecksumMismatch, InputError, StoreError
from moralscope.core.registry import look_up
from moralscope.models.store._entries import PinnedFile, is_pinned, read_entries

CARDS = Path(__file__).with_name("data.toml")
VARIABLE = "MORALSCOPE_DATA"
VERIFIED, OTHER, ABSENT = "verified", "other content", "absent"


def data_file(relative: str) -> Path | None:
    """Return the file below MORALSCOPE_DATA, or None when it is not there."""
    root = os.environ.get(VARIABLE)
    path = Path(root) / relative if root else None
    return path if path and path.is_file() else None


@dataclass(frozen=True, slots=True)
class DataCard:
    """One data set: what it is, where a user gets it, under which terms, and its files."""

    name: str
    about: str
    source: str
    licence: str
    citation: str
    notes: str
    folder: str
    files: tuple[PinnedFile, ...]  # none where the authors hand the data out themselves

    def __post_init__(self) -> None:
        for key in ("about", "source", "licence", "citation", "notes"):
            if not getattr(self, key):
                raise ValueError(f"has no text under '{key}'")
        if not re.fullmatch(r"[a-z0-9_-]+", self.folder):
            raise ValueError("has an unsafe folder (one plain name is safe)")

    def path(self) -> Path | None:
        """Return the set's folder below MORALSCOPE_DATA, whether or not it is there."""
        root = os.environ.get(VARIABLE)
        return Path(root).expanduser() / self.folder if root else None

    def present_files(self) -> list[PinnedFile]:
        """Return the pinned files that are there; their content is not read."""
        folder = self.path()
        return [file for file in self.files if folder and (folder / file.path).is_file()]

    def states(self) -> dict[str, str]:
        """Return for each pinned file whether it is verified, of other content, or absent."""
        states = {file.path: ABSENT for file in self.files}
        folder = self.path()
        for file in self.present_files():
            states[file.path] = OTHER
            with suppress(OSError):
                if folder and is_pinned(folder / file.path, file):
                    states[file.path] = VERIFIED
        return states


def load_data_cards(path: Path = CARDS) -> dict[str, DataCard]:
    """Return the data cards by name."""
    return read_entries(DataCard, path, "data cards", "correct the card")


def data_card(name: str) -> DataCard:
    """Return one card by name."""
    return look_up("data set", name, load_data_cards())


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
    """Return every data card; a set is present when all its pinned files are there."""
    return [_status(card) for card in load_data_cards().values()]


def where_data(name: str) -> DataStatus:
    """Return one data card: where the set comes from and where its files go."""
    return _status(data_card(name))


def verify_data(names: Sequence[str]) -> list[DataStatus]:
    """Check every pinned file of the named sets (of all that are there, if none is named).

    A file that is not the pinned one is an error; so is a named set that is absent.
    """
    cards = [data_card(name) for name in names]
    cards = cards or [card for card in load_data_cards().values() if card.present_files()]
    if not cards:
        raise StoreError(f"no data set is below {VARIABLE}", "see 'moralscope data list'")
    statuses = []
    for card in cards:
        if not card.files:
            raise InputError(f"{card.name} has no pinned files", card.notes)
        states = card.states()
        other = [path for path, state in states.items() if state == OTHER]
        absent = [path for path, state in states.items() if state == ABSENT]
        if other:
            raise ChecksumMismatch(
                f"{card.path()}/{other[0]} is not the file that the card of {card.name} names"
                + (f" ({len(other):,} such files)" if len(other) > 1 else ""),
                f"results may differ; the official source is {card.source}",
            )
        if names and len(absent) == len(states):
            raise StoreError(f"{card.name} is not below {VARIABLE}", f"get it from {card.source}")
        some = f", {len(absent):,} of {len(states):,} absent" if absent else ""
        statuses.append(_status(card, f"verified{some}"))
    return statuses


def _status(card: DataCard, state: str | None = None) -> DataStatus:
    folder = card.path()
    here = len(card.present_files())
    if state is None and 0 < here < len(card.files):
        state = f"{here} of {len(card.files)} files"
    elif state is None:
        present = here if card.files else folder and folder.is_dir()
        state = "present" if present else "absent"
    path = str(folder) if folder else f"${VARIABLE}/{card.folder}"
    counted = {"folder": path, "files": len(card.files), "state": state}
    return DataStatus(**{**asdict(card), **counted})
