"""The data cards as jobs: list, where, verify."""

from collections.abc import Sequence
from dataclasses import dataclass

from moralscope.core.errors import ChecksumMismatch, InputError, StoreError
from moralscope.models.store import DataCard, data_card, load_data_cards

_VARIABLE = "MORALSCOPE_DATA"


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
        raise StoreError(f"no data set is below {_VARIABLE}", "see 'moralscope data list'")
    return [_verified(card, named=bool(names)) for card in cards]


def _verified(card: DataCard, *, named: bool) -> DataStatus:
    if not card.files:
        raise InputError(f"{card.name} has no pinned files", card.notes)
    states = card.states()
    other = [path for path, state in states.items() if state == "other content"]
    absent = [path for path, state in states.items() if state == "absent"]
    if other:
        raise ChecksumMismatch(
            f"{card.place()}/{other[0]} is not the file that the card of {card.name} names"
            + (f" ({len(other):,} such files)" if len(other) > 1 else ""),
            f"results may differ; the official source is {card.source}",
        )
    if absent and (named and len(absent) == len(states)):
        raise StoreError(f"{card.name} is not below {_VARIABLE}", f"get it from {card.source}")
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
        str(place) if place else f"${_VARIABLE}/{card.folder}",
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
