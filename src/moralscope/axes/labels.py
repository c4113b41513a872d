"""Lists to fit a direction on: actions, and which of them are labelled good or bad.

Plain text holds actions alone; CSV and JSONL may have a `label` beside the `action`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.actions import read_actions
from moralscope.io.tables import Layout, Table

_GOOD = {"good", "do", "positive", "yes", "fine", "1", "+1"}
_BAD = {"bad", "don't", "dont", "negative", "no", "wrong", "0", "-1"}
_REMEDY = "write good or bad under 'label'"


@dataclass(frozen=True, slots=True)
class LabelledActions:
    """All actions of a list, and those labelled good and bad."""

    actions: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]


def read_labelled(path: Path, *, all_labelled: bool) -> LabelledActions:
    r"""Read a list; with `all_labelled` an action without a label is refused, with its line.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.csv"
    ...     _ = file.write_text("action,label\nhelp,good\nkill,bad\n")
    ...     read_labelled(file, all_labelled=True).bad
    ('kill',)
    """
    actions = tuple(read_actions(path).actions)
    sides: dict[bool, list[str]] = {True: [], False: []}
    for line, action, label in _labels(path):
        if label:
            sides[_side(label, path, line)].append(action)
        elif all_labelled:
            raise InputError(f"{path} line {line} has no label", _REMEDY)
    if all_labelled and not any(sides.values()):
        raise InputError(f"{path} has no labels", "add a column 'label' with good or bad in it")
    return LabelledActions(actions, tuple(sides[True]), tuple(sides[False]))


def _labels(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, action and label of a file that `read_actions` has accepted."""
    table = Table(path, layout=Layout(lines_as="action", lower=True))
    for line, cells in table.rows():
        if isinstance(cells, str) or not table.header or not cells["action"].strip():
            continue  # plain lines have no labels
        label = cells.get("label")
        if label is not None or table.typed:
            yield line, cells["action"].strip(), "" if label is None else str(label).strip()


def _side(label: str, path: Path, line: int) -> bool:
    word = label.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if word not in _GOOD | _BAD:
        raise InputError(f"{path} line {line} has the label {label[:40]!r}", _REMEDY)
    return word in _GOOD
