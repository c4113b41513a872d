"""Conversations written for moralscope, in minimal pairs: what teaches and measures their audit.

A scenario (`rules/data/conversations`) has one open turn; each of its versions makes a
conversation, so that a fine and a bad one differ by one turn or one argument. Whole scenarios are
held out: `train` teaches, `dev` chooses, `test` is looked at once.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from moralscope.core.decode import decode
from moralscope.io.documents import shipped_yaml
from moralscope.rules.conversations.acts import ToolCall
from moralscope.rules.conversations.conversation import (
    ASSISTANT,
    SYSTEM,
    TOOL,
    USER,
    Conversation,
    Turn,
)

_ROLES = {"s": SYSTEM, "u": USER, "harm": USER, "danger": USER, "r": TOOL}
_PARTS = (
    "test",
    "dev",
    "train",
    "train",
    "train",
    "test",
    "train",
    "train",
)  # by the id's checksum


@dataclass(frozen=True, slots=True)
class Scenario:
    """Turns as they are written, by the letters of their speakers."""

    id: str
    turns: tuple[Mapping[str, Any], ...]
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def part(self) -> str:
        """train, dev or test."""
        return _PARTS[sha256(self.id.encode()).digest()[0] % len(_PARTS)]


@dataclass(frozen=True, slots=True)
class WrittenConversation:
    """A conversation with what is known of it."""

    conversation: Conversation
    scenario: str
    part: str
    first: int | None
    """The turn that goes wrong."""
    answered: int | None
    """The turn that answers for it."""
    asks: tuple[int, ...]
    """The user's turns that ask for harm."""
    danger: tuple[int, ...]
    """The user's turns in which the user is in danger."""


@cache
def scenarios() -> list[Scenario]:
    """Return all scenarios, in the order of their files."""
    folder = resources.files("moralscope.rules") / "data" / "conversations"
    return [
        scenario
        for name in sorted(path.name for path in folder.iterdir())
        for scenario in decode(
            list[Scenario], shipped_yaml("moralscope.rules", f"conversations/{name}"), name
        )
    ]


@cache
def written_conversations() -> list[WrittenConversation]:
    """Return every conversation of every scenario."""
    return [row for scenario in scenarios() for row in _versions(scenario)]


def _versions(scenario: Scenario) -> Iterator[WrittenConversation]:
    """Yield the conversations of a scenario: one for each version of its open turn.

    Where a later turn has versions that answer for the bad one, bad ones come with and without it.
    """
    slots = {at: row["a"] for at, row in enumerate(scenario.turns) if _is_open(row.get("a"))}
    at = next(where for where, versions in slots.items() if "fine" in versions)
    after = next((where for where, versions in slots.items() if "sorry" in versions), None)
    for kind in ("fine", "bad"):
        for number, version in enumerate(slots[at][kind], 1):
            endings = ["plain", "sorry"] if after is not None and kind == "bad" else ["plain"]
            for ending in endings:
                chosen = {at: version}
                if after is not None:
                    chosen[after] = slots[after][ending][0]
                answered = after if ending == "sorry" else None
                yield WrittenConversation(
                    Conversation(
                        tuple(_turns(scenario, chosen)),
                        f"{scenario.id}-{kind}-{number}" + ("-sorry" if answered else ""),
                        scenario.tools,
                    ),
                    scenario.id,
                    scenario.part,
                    first=at if kind == "bad" else None,
                    answered=answered,
                    asks=tuple(i for i, row in enumerate(scenario.turns) if "harm" in row),
                    danger=tuple(i for i, row in enumerate(scenario.turns) if "danger" in row),
                )


def _is_open(turn: Any) -> bool:
    return isinstance(turn, Mapping) and bool({"fine", "sorry"} & turn.keys())


def _turns(scenario: Scenario, chosen: Mapping[int, Any]) -> Iterator[Turn]:
    for at, row in enumerate(scenario.turns):
        ((letter, value),) = row.items()
        value = chosen.get(at, value)
        if letter != "a":
            yield Turn(_ROLES[letter], str(value))
        elif isinstance(value, Mapping):
            calls = [ToolCall(name, json.dumps(some, default=str)) for name, some in value.items()]
            yield Turn(ASSISTANT, calls=tuple(calls))
        else:
            yield Turn(ASSISTANT, str(value))


def user_turns(part: str) -> list[tuple[str, str]]:
    """Return what users say with how it is meant (harm, danger, fine), of `train` or `test`.

    From `rules/data/user_turns.yaml`, every third line of which is held out, and the scenarios.
    """
    texts = []
    for kind, lines in shipped_yaml("moralscope.rules", "user_turns.yaml").items():
        texts += [
            (line, kind) for at, line in enumerate(lines) if (at % 3 == 2) == (part == "test")
        ]
    for scenario in scenarios():
        if (scenario.part == "test") == (part == "test"):
            for row in scenario.turns:
                ((letter, text),) = row.items()
                if letter in ("u", "harm", "danger"):
                    texts.append((str(text), "fine" if letter == "u" else letter))
    return texts
