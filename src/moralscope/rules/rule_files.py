"""Rule files as rows of cells with their line: YAML, CSV or plain lines; nothing is executed.

YAML is read without tags, anchors and aliases, and only as deep as a rulebook goes. What the cells
mean is `rulebook`'s business.
"""

from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.documents import Document, Node, read_document
from moralscope.io.tables import Layout, Table
from moralscope.rules.records import SCALES

MAX_BYTES = 5_000_000
MAX_RULES = 20_000
KEYS = frozenset({"id", "text", "foundations", *SCALES, "theme", "scope", "examples"})
_REMEDY = f"a rule may have {', '.join(sorted(KEYS))}"
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
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise InputError(f"rulebook {path} is not a file", remedy)
    return read_document(path, "rulebook", remedy, MAX_BYTES).content


def rows_of(text: str, source: str) -> tuple[str, list[Row]]:
    r"""Return the name that the file gives itself, or "", and its rows.

    Examples
    --------
    >>> rows_of("text,foundations\nIt's rude to stare.,care|fairness\n", "a.csv")[1][0].cells
    {'text': "It's rude to stare.", 'foundations': ('care', 'fairness')}
    """
    document = Document(text, f"rulebook {source}", _REMEDY)
    if source.lower().endswith(".csv"):
        return "", _csv_rows(document)
    if source.lower().endswith(".txt"):
        lines = enumerate(text.split("\n"), 1)
        return "", [Row(n, {"text": line}) for n, line in lines if line.strip() and line[0] != "#"]
    root = document.yaml_node(_DEPTH)
    head = {"rules": root} if root.is_list else root.fields(_HEAD)
    rows = []
    for node in head.get("rules", root).items("rules under 'rules:'"):
        cells = node.fields(KEYS)
        rows.append(Row(node.line, {key: _value(each) for key, each in cells.items()}))
    return str(_value(head["name"])) if "name" in head else "", rows


def _csv_rows(document: Document) -> list[Row]:
    table = Table(document.content, name=document.name, kind=".csv", layout=Layout(lower=True))
    rows = []
    for line, cells in table.strict_rows(("text",), _REMEDY):
        if not set(table.header) <= KEYS:
            what = f"has the columns {', '.join(table.header)[:120]}"
            raise document.wrong(1, what)
        rows.append(Row(line, {key: _cell(key, cell) for key, cell in cells.items()}))
    return rows


def _cell(key: str, value: str) -> Cell:
    if key not in _LISTS:
        return value
    return tuple(part.strip() for part in value.split("|") if part.strip())


def _value(node: Node) -> Cell:
    if node.is_list:
        return tuple(each.text() for each in node.items("texts"))
    return node.text()


def wrong(source: str, line: int, what: str) -> InputError:
    """Say what is wrong with which line."""
    return InputError(f"rulebook {source} line {line} {what}", _REMEDY)
