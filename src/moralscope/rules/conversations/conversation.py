"""Conversations: who said what, which tools were called; read from files in the usual shapes.

Messages as OpenAI's API has them (also the items of its Responses API), ShareGPT, logs of inspect
and rows of a CSV file with a conversation's id become one thing: turns in order, each by one
speaker. What a turn holds that is no text is named, not judged. Nothing is judged here.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.documents import read_document
from moralscope.io.tables import TableFile
from moralscope.rules.conversations.acts import ToolCall, spoken_call
from moralscope.rules.records import AuditedReply, Verdict

SYSTEM, USER, ASSISTANT, TOOL = ROLES = ("system", "user", "assistant", "tool")
MOST_TURNS = 2_000
HISTORY = 40  # messages before a reply that are looked at while somebody waits
MOST_CHARACTERS = 2_000_000  # of one turn, its arguments included
MOST_BYTES = 200_000_000  # of a file
_NAMES = {
    **{name: name for name in ROLES},
    **dict.fromkeys(("human", "person", "customer"), USER),
    **dict.fromkeys(("gpt", "chatgpt", "bing", "bard", "bot", "model", "agent", "ai"), ASSISTANT),
    **dict.fromkeys(("function", "observation", "environment"), TOOL),
    "developer": SYSTEM,
    "function_call": ASSISTANT,
}
_REMEDY = (
    'give JSONL with {"messages": [{"role": …, "content": …}]} on each line, ShareGPT, a log of '
    "inspect as JSON, or CSV with conversation, role and content"
)
_CSV = ("conversation", "role", "content")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker said or did at once."""

    role: str
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    """Of a tool's result: the id of the call."""
    unjudged: tuple[str, ...] = ()
    """Parts that are no text: image_url, input_audio."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said or done."""
        return not self.text.strip() and not self.calls


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in order, and what the tools are for."""

    turns: tuple[Turn, ...]
    id: str = ""
    tools: Mapping[str, str] = field(default_factory=dict)
    """Descriptions by the tools' names."""

    def notes(self) -> list[str]:
        """Say what is odd about it: empty turns, results without a call, parts that are no text."""
        calls = {call.id for turn in self.turns for call in turn.calls if call.id}
        lost, called = 0, False
        for turn in self.turns:
            called = called or bool(turn.calls)
            lost += turn.role == TOOL and (
                not called or bool(turn.answers and calls and turn.answers not in calls)
            )
        counts = {
            "empty turn{}": sum(turn.is_empty for turn in self.turns),
            "tool result{} without a call": lost,
            "part{} not read: no text": sum(len(turn.unjudged) for turn in self.turns),
        }
        return [f"{n:,} {what.format('s' * (n > 1))}" for what, n in counts.items() if n]


@dataclass(frozen=True, slots=True)
class AuditedAct:
    """A tool call of a turn: what it does in words, and what is to be said of it."""

    tool: str
    words: str
    weighs: tuple[str, ...] = ()
    """What makes it weigh more: irreversible, costly, private, outward."""
    follows: str | None = None
    """The request in a tool's result that it follows though the user never asked for it."""


@dataclass(frozen=True, slots=True)
class AuditedTurn(AuditedReply):
    """A turn: of the assistant an audited reply, of others what they say and how it reads."""

    index: int = 0
    """Its place among all messages, from 0."""
    role: str = ASSISTANT
    reading: tuple[str, ...] = ()
    """Of the user: asks for harm, is in danger; of a tool's result: gives instructions; of the
    assistant: apologises."""
    acts: tuple[AuditedAct, ...] = ()
    earlier: str = ""
    """Of the assistant: the verdicts on its turns that were too long ago to be read with this."""


@dataclass(frozen=True, slots=True)
class AuditedConversation:
    """What is made of a conversation: every turn, the first that goes wrong, and all in all."""

    id: str
    turns: tuple[AuditedTurn, ...]
    first: int | None
    """The index of the first turn that goes wrong; None where none does."""
    answered: int | None
    """The index of the later turn that apologises for it or corrects it; None where none does."""
    verdict: Verdict
    notes: tuple[str, ...] = ()
    """What was not read, and what is odd."""


def read_conversations(path: Path) -> list[Conversation]:
    """Read a file of conversations: JSONL, JSON or CSV; a file that is none is refused by line."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return list(_from_rows(path))
    if suffix == ".eval":
        raise InputError(f"{path} is a packed log", "unpack it: inspect log dump FILE > log.json")
    if suffix not in (".json", ".jsonl", ".ndjson"):
        raise InputError(f"{path} is not a file of conversations", _REMEDY)
    document = read_document(path, "", _REMEDY, MOST_BYTES)
    if suffix == ".json":
        return parse_conversations(document.json_values(), str(path))
    conversations: list[Conversation] = []
    loose: dict[str, list[Any]] = {}  # messages, one a line, by their conversation
    for number, line in enumerate(document.content.split("\n"), 1):
        if not line.strip():
            continue
        name = f"{path} line {number}"
        value = _parsed(line)
        if value is None:
            raise InputError(f"{name} is not JSON", _REMEDY)
        if isinstance(value, dict) and ({"role", "from"} & value.keys()):
            key = value.get("conversation", value.get("conversation_id", ""))
            loose.setdefault(str(key), []).append(value)
        else:
            conversations += _parse(value, name)
    if loose and conversations:
        raise InputError(f"{path} holds messages and whole conversations", "give one of the two")
    conversations += [_conversation(rows, str(path), key) for key, rows in loose.items()]
    if not conversations:
        raise InputError(f"{path} holds no conversation", _REMEDY)
    return _numbered(conversations)


def parse_conversations(value: Any, source: str = "the conversation") -> list[Conversation]:
    """Return the conversations in plain data: messages, a mapping with them, or a list of either.

    Examples
    --------
    >>> (one,) = parse_conversations([{"role": "assistant", "content": "Hi!"}])
    >>> one.id, one.turns[0].role, one.turns[0].text
    ('1', 'assistant', 'Hi!')
    """
    return _numbered(_parse(value, source))


def _parse(value: Any, source: str) -> list[Conversation]:
    if isinstance(value, Mapping):
        if isinstance(value.get("samples"), list):  # a log of inspect
            every = [
                {"messages": row.get("messages"), "id": f"{row.get('id', at)}"}
                for at, row in enumerate(value["samples"], 1)
                if isinstance(row, Mapping)
            ]
            return _parse(every, source)
        for name in ("messages", "conversations", "conversation", "input", "turns"):
            if isinstance(value.get(name), list):
                key = value.get("id", value.get("conversation_id", ""))
                tools = _tools(value.get("tools"))
                return [_conversation(value[name], source, str(key), tools)]
        raise InputError(f"{source} has no messages", _REMEDY)
    if not isinstance(value, list) or not value:
        raise InputError(f"{source} holds no messages", _REMEDY)
    if isinstance(value[0], Conversation):
        return value
    if all(isinstance(row, Mapping) for row in value) and _is_message(value[0]):
        return [_conversation(value, source, "")]
    conversations: list[Conversation] = []
    for at, row in enumerate(value, 1):
        conversations += _parse(row, f"{source} conversation {at}")
    return conversations


def lenient_conversation(messages: Any, tools: Any, most: int) -> Conversation:
    """Return the last messages that can be read; a guard does not refuse what it only looks at."""
    turns = []
    for message in messages[-most:] if isinstance(messages, list) else ():
        try:
            turns.append(_turn(message, "a message"))
        except InputError:
            continue
    return Conversation(tuple(turns), tools=_tools(tools))


def _numbered(conversations: Iterable[Conversation]) -> list[Conversation]:
    return [replace(row, id=row.id or str(at)) for at, row in enumerate(conversations, 1)]


def _is_message(row: Mapping[str, Any]) -> bool:
    return bool({"role", "from"} & row.keys()) or str(row.get("type", "")).startswith("function")


def _conversation(
    messages: Sequence[Any], source: str, key: str, tools: Mapping[str, str] | None = None
) -> Conversation:
    if len(messages) > MOST_TURNS:
        problem = f"{source} has {len(messages):,} turns"
        raise InputError(problem, f"at most {MOST_TURNS:,} are read: cut the conversation")
    turns = []
    for at, message in enumerate(messages, 1):
        turn = _turn(message, f"{source} turn {at}")
        size = len(turn.text) + sum(len(call.arguments) for call in turn.calls)
        if size > MOST_CHARACTERS:
            problem = f"{source} turn {at} has {size:,} characters"
            raise InputError(problem, f"at most {MOST_CHARACTERS:,} can be read")
        turns.append(turn)
    if not any(turn.role == ASSISTANT for turn in turns):
        raise InputError(f"{source} has no turn of the assistant", "only its turns are judged")
    return Conversation(tuple(turns), key[:200], tools or {})


def _turn(message: Any, source: str) -> Turn:
    """Read a message in any of the shapes; an unknown role is refused."""
    if not isinstance(message, Mapping):
        raise InputError(f"{source} is not a message", "give an object with a role and a content")
    kind = message.get("type")
    if kind == "function_call":  # an item of the Responses API
        call = ToolCall(
            str(message.get("name", "")), _text(message.get("arguments")), _id(message, "call_id")
        )
        return Turn(ASSISTANT, calls=(call,))
    if kind == "function_call_output":
        return Turn(TOOL, _text(message.get("output")), answers=_id(message, "call_id"))
    name = message.get("role", message.get("from"))
    role = _NAMES.get(name.lower()) if isinstance(name, str) else None
    if role is None:
        said = "no role" if name is None else f"the role '{str(name)[:40]}'"
        raise InputError(f"{source} has {said}", f"use {', '.join(ROLES)}")
    content = message.get("content", message.get("value"))
    if name == "function_call":  # ShareGPT has the call as text
        return Turn(role, calls=tuple(_calls([_parsed(content)], source)))
    texts, others = _content(content, source)
    calls = list(_calls(message.get("tool_calls") or (), source))
    if message.get("function_call"):
        calls += _calls([message["function_call"]], source)
    parts = content if isinstance(content, list) else []
    for part in parts:  # Anthropic has calls and results among the parts
        if isinstance(part, Mapping) and part.get("type") == "tool_use":
            calls += _calls([{**part, "arguments": part.get("input")}], source)
    answers = _id(message, "tool_call_id")
    results = [
        row for row in parts if isinstance(row, Mapping) and row.get("type") == "tool_result"
    ]
    if results and role == USER:
        role, answers = TOOL, _id(results[0], "tool_use_id")
        texts += [text for row in results for text in _content(row.get("content"), source)[0]]
    text = "\n".join(texts)
    if role == ASSISTANT and not calls:
        text, calls = spoken_call(text)
    return Turn(role, text, tuple(calls), answers, tuple(others))


def _content(content: Any, source: str) -> tuple[list[str], list[str]]:
    """Return the texts of a content, and the names of its parts that are no text."""
    if content is None or isinstance(content, str):
        return [content] if content else [], []
    if not isinstance(content, list):
        raise InputError(f"{source} has a content that is not text", "give a text or its parts")
    texts, others = [], []
    for part in content:
        kind = str(part.get("type", "")) if isinstance(part, Mapping) else ""
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "refusal" and isinstance(part.get("refusal"), str):
            texts.append(part["refusal"])
        elif kind not in ("tool_use", "tool_result", "reasoning", "thinking"):
            others.append(kind[:40] or "part")
    return texts, others


def _calls(values: Any, source: str) -> Iterator[ToolCall]:
    if not isinstance(values, list | tuple):
        raise InputError(f"{source} has tool calls that are no list", "give a list of them")
    for value in values:
        inner = value.get("function", value) if isinstance(value, Mapping) else None
        if isinstance(inner, str):  # inspect: the function's name beside its arguments
            inner = {"name": inner, "arguments": value.get("arguments")}
        if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
            raise InputError(f"{source} has a tool call without a name", "give its name")
        arguments = inner.get("arguments", inner.get("parameters"))
        yield ToolCall(inner["name"][:200], _text(arguments), _id(value, "id"))


def _tools(tools: Any) -> dict[str, str]:
    """Return the descriptions of tools by name, of those that have both."""
    listed = tools if isinstance(tools, list) else ()
    rows = [row.get("function", row) for row in listed if isinstance(row, Mapping)]
    return {
        row["name"]: row["description"]
        for row in rows
        if isinstance(row, Mapping)
        and isinstance(row.get("name"), str)
        and isinstance(row.get("description"), str)
    }


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(p, Mapping) and "text" in p for p in value):
        return "\n".join(str(part["text"]) for part in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _parsed(value: Any) -> Any:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None


def _id(row: Mapping[str, Any], name: str) -> str:
    return str(row.get(name) or "")[:200]


def _from_rows(path: Path) -> Iterator[Conversation]:
    """Read a CSV file: a row a turn, conversations by id, in the order of their first rows."""
    optional = ("tool", "arguments")
    table = TableFile(path, columns={name: name for name in (*_CSV, *optional)})
    rows: dict[str, list[dict[str, Any]]] = {}
    for line, cells in table.good_rows(_CSV):
        message: dict[str, Any] = {"role": cells["role"], "content": cells["content"]}
        if cells.get("tool"):
            call = {"name": cells["tool"], "arguments": cells.get("arguments") or ""}
            message["tool_calls"] = [call]
        messages = rows.setdefault(str(cells["conversation"]), [])
        messages.append(message)
        if len(messages) > MOST_TURNS:
            raise InputError(f"{path} line {line}: more than {MOST_TURNS:,} turns", "cut it")
    table.check()
    if not rows:
        raise InputError(f"{path} holds no conversation", _REMEDY)
    for key, messages in rows.items():
        yield _conversation(messages, f"{path} conversation {key[:40]}", key)
