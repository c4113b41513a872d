"""Rule files as rows of cells with their line: YAML, CSV or plain lines; nothing is executed.

YAML is read without tags, anchors and aliases, and only as deep as a rulebook goes. What the cells
mean is `rulebook`'s business.
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import yaml

from moralscope.core.errors import InputError
from moralscope.io.documents import YamlProblem, compose
from moralscope.io.documents import line_of as _line

MAX_BYTES = 5_000_000
MAX_RULES = 20_000
KEYS = frozenset(
    {"id", "text", "foundations", "severity", "consensus", "theme", "scope", "examples"}
)
_LISTS = frozenset({"foundations", "examples"})
_HEAD = frozenset({"name", "about", "rules"})
_DEPTH = 4  # a mapping of a list of mappings of lists
_FORMS = (".yaml", ".yml", ".csv", ".txt")

Cell = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One rule's cells, and the line where it starts."""

    line: int
    cells: dict[str, Cell]


def read_text(path: Path) -> str:
    """Read a rulebook file within bounds; what is wrong with it is said in one line."""
    remedy = f"give a rulebook as {', '.join(_FORMS)}"
    if path.suffix.lower() not in _FORMS:
        raise InputError(f"rulebook {path} is neither YAML nor CSV nor plain lines", remedy)
    try:
        if not path.is_file():
            raise InputError(f"rulebook {path} is not a file", remedy)
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(f"rulebook {path} has {size:,} bytes", f"at most {MAX_BYTES:,}")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"rulebook {path} cannot be read ({error.strerror})", remedy) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"rulebook {path} line {line} is not valid UTF-8"
        raise InputError(problem, "save the file as UTF-8") from error


def rows_of(text: str, source: str) -> tuple[str, list[Row]]:
    r"""Return the name that the file gives itself, or "", and its rows.

    Examples
    --------
    >>> rows_of("text,foundations\nIt's rude to stare.,care|fairness\n", "a.csv")[1][0].cells
    {'text': "It's rude to stare.", 'foundations': ('care', 'fairness')}
    """
    if source.lower().endswith(".csv"):
        return "", _csv_rows(text, source)
    if source.lower().endswith(".txt"):
        lines = enumerate(text.split("\n"), 1)
        return "", [Row(n, {"text": line}) for n, line in lines if line.strip() and line[0] != "#"]
    return _yaml_rows(text, source)


def _csv_rows(text: str, source: str) -> list[Row]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    rows = []
    try:
        names = [(name or "").strip().lower() for name in reader.fieldnames or ()]
        reader.fieldnames = names
        if "text" not in names or not set(names) <= KEYS or len(set(names)) < len(names):
            what = f"has the columns {', '.join(names)[:120] or 'of no header'}"
            raise wrong(source, 1, what)
        for cells in reader:
            if None in cells or None in cells.values():
                raise wrong(source, reader.line_num, "has not as many cells as the header")
            rows.append(Row(reader.line_num, {key: _cell(key, cells[key]) for key in names}))
    except csv.Error as error:
        raise wrong(source, max(1, reader.line_num), f"is not CSV ({error})") from error
    return rows


def _cell(key: str, value: str) -> Cell:
    if key not in _LISTS:
        return value
    return tuple(part.strip() for part in value.split("|") if part.strip())


def _yaml_rows(text: str, source: str) -> tuple[str, list[Row]]:
    try:
        root = compose(text, _DEPTH)
    except YamlProblem as problem:
        raise wrong(source, problem.line, problem.what) from problem
    head = {"rules": root} if isinstance(root, yaml.SequenceNode) else _mapping(root, source, _HEAD)
    nodes = head.get("rules")
    if not isinstance(nodes, yaml.SequenceNode):
        raise wrong(source, _line(nodes or root), "has no list of rules under 'rules:'")
    rows = []
    for node in nodes.value:
        cells = _mapping(node, source, KEYS)
        rows.append(Row(_line(node), {key: _value(each, source) for key, each in cells.items()}))
    name = _value(head["name"], source) if "name" in head else ""
    return str(name), rows


def _mapping(node: yaml.Node | None, source: str, known: frozenset[str]) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise wrong(source, _line(node), f"needs a mapping with {', '.join(sorted(known))}")
    fields: dict[str, yaml.Node] = {}
    for key_node, value in node.value:
        key = str(key_node.value)
        if key not in known:
            raise wrong(source, _line(key_node), f"has an unknown key {key[:40]!r}")
        if key in fields:
            raise wrong(source, _line(key_node), f"has the key {key!r} twice")
        fields[key] = value
    return fields


def _value(node: yaml.Node, source: str) -> Cell:
    if isinstance(node, yaml.SequenceNode):
        if not all(isinstance(each, yaml.ScalarNode) for each in node.value):
            raise wrong(source, _line(node), "needs a list of texts here")
        return tuple(str(each.value) for each in node.value)
    if not isinstance(node, yaml.ScalarNode):
        raise wrong(source, _line(node), "needs a text here (put quotes around text with : or {})")
    return str(node.value)


def wrong(source: str, line: int, what: str) -> InputError:
    """Say what is wrong with which line."""
    return InputError(
        f"rulebook {source} line {line} {what}", f"a rule may have {', '.join(sorted(KEYS))}"
    )
