"""The test sets: cards that say how a user's files are read (`data/sets.toml`), and their cases."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from moralscope.core.decode import decode
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.io.documents import read_document
from moralscope.io.tables import Layout, Limits, TableFile
from moralscope.models.store.data_cards import VARIABLE, data_card

TEXT, REPLY, CONVERSATION = SPOKEN = ("text", "reply", "conversation")
ACTION, CHOICE, NORM = ("action", "choice", "norm")
KINDS = (*SPOKEN, ACTION, CHOICE, NORM)
PRINTED_IN = "any-guardrail 0.7.7"  # its _benchmark_data.py, harness ag0.7.4
PRINTED_ON = "2026-11-19"  # when it was read
_MAX_BYTES = 500_000_000


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """What others print of a model on a set: not measured here, and on their own rows."""

    model: str
    figure: str
    value: float
    source: str = PRINTED_IN
    date: str = PRINTED_ON


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCard:
    """How a public test set is read; `data/sets.toml` says what each field means."""

    name: str
    title: str
    data: str
    files: tuple[str, ...]
    kind: str
    text: tuple[str, ...]
    prompt: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    norm: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    bad: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    any: bool = False
    distinct: bool = False
    keep: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: str = ""
    part: str = ""
    credit: str
    seen: str
    published: tuple[PublishedFigure, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"has no kind '{self.kind}'")

    def is_bad(self, cells: Mapping[str, str]) -> bool:
        """Say whether a row is bad."""
        held = [_matches(cells.get(name, ""), values) for name, values in self.bad.items()]
        return any(held) if self.any else all(held)


@dataclass(frozen=True, slots=True)
class Case:
    """One row of a set: what is judged, and what people say of it.

    `other` is the worse action of a choice, whose `text` is the better one. Of a conversation the
    prompt and the text are what a judge of replies reads of it.
    """

    id: str
    text: str
    bad: bool
    prompt: str = ""
    other: str = ""
    norm: str = ""
    group: str = ""
    part: str = ""
    messages: str = ""
    """of a conversation, as JSON"""


@cache
def load_sets() -> dict[str, SetCard]:
    """Return the cards of all sets by name."""
    text = (Path(__file__).parent / "data" / "sets.toml").read_text("utf-8")
    return {
        name: decode(SetCard, {**row, "name": name}, f"sets: [{name}]", exact=True)
        for name, row in tomllib.loads(text).items()
    }


def set_card(name: str) -> SetCard:
    """Return the card of a set; an unknown name is refused with the nearest."""
    sets = load_sets()
    if name not in sets:
        raise UnknownName(f"there is no test set '{name}'", did_you_mean(name, sets))
    return sets[name]


def set_file(card: SetCard) -> Path:
    """Return the file of a set below MORALSCOPE_DATA."""
    folder = data_card(card.data).path()
    for pattern in card.files if folder else ():
        for path in sorted(folder.glob(pattern) if folder else ()):
            return path
    where = f"{folder} has no {card.files[0]}" if folder else f"{VARIABLE} is not set"
    raise InputError(
        f"the test set '{card.name}' is not here ({where})",
        f"'moralscope data where {card.data}' says where to get it and where to put it",
    )


def read_cases(card: SetCard, path: Path, limit: int | None = None) -> list[Case]:
    """Return the cases of a file; with `limit` so many of them, spread over the file."""
    cases: list[Case] = []
    texts: set[str] = set()
    for number, cells in enumerate(_rows(card, path), 1):
        if not all(_matches(cells.get(name, ""), values) for name, values in card.keep.items()):
            continue
        case = Case(
            id=str(number),
            text=_joined(cells, card.text),
            bad=card.is_bad(cells) if card.bad else False,
            prompt=_joined(cells, card.prompt),
            other=_joined(cells, card.other),
            norm=_joined(cells, card.norm),
            group=cells.get(card.group, "") or str(number),
            part=cells.get(card.part, ""),
            messages=cells.get("messages", "") if card.kind == CONVERSATION else "",
        )
        if case.text and not (card.distinct and case.text in texts):
            texts.add(case.text)
            cases.append(case)
    if not cases:
        raise InputError(f"{path} holds no case of '{card.name}'", "give the set's own file")
    if limit is None or limit >= len(cases):
        return cases
    # By a checksum of each text: the same rows whatever the order of the file, good and bad alike.
    drawn = sorted(cases, key=lambda case: crc32(f"{case.prompt}\n{case.text}".encode()))[:limit]
    return sorted(drawn, key=lambda case: int(case.id))


def _rows(card: SetCard, path: Path) -> Iterator[Mapping[str, str]]:
    """Yield the cells of every row as texts."""
    if path.suffix == ".json":
        remedy = f"see 'moralscope data where {card.data}'"
        rows = read_document(path, f"the set {card.name}", remedy, _MAX_BYTES).json_values()
        if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            raise InputError(f"{path} is not a list of rows", remedy)
    else:
        layout = Layout(order=card.header)
        rows = (row for _, row in TableFile(path, layout=layout, limits=Limits()).strict_rows(()))
    for row in rows:
        yield {name: _text(value) for name, value in _turns(row).items()}


def _turns(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of R-Judge with its messages, what the user asked first, what the agent did."""
    contents = row.get("contents")
    if isinstance(contents, str) and contents.startswith("["):
        contents = json.loads(contents)
    if not isinstance(contents, list):
        return row
    turns = [turn for part in contents for turn in (part if isinstance(part, list) else [part])]
    texts = [str(turn.get("action") or turn.get("content") or "").strip() for turn in turns]
    said = [
        (turn.get("role"), text.removeprefix("Final Answer:"))
        for turn, text in zip(turns, texts, strict=True)
    ]
    return {
        **row,
        "messages": json.dumps([{"role": role, "content": text} for role, text in said]),
        "user": next((text for role, text in said if role == "user"), ""),
        "agent": "\n".join(text for role, text in said if role == "agent" and text),
    }


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.strip() if isinstance(value, str) else str(value)


def _joined(cells: Mapping[str, str], names: Sequence[str]) -> str:
    return " ".join(cells[name] for name in names if cells.get(name))


def _matches(cell: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(cell, pattern) for pattern in patterns)
