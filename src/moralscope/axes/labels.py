"""Lists to fit a direction on: actions, and which of them are labelled good or bad.

Plain text holds actions alone; CSV and JSONL may have a `label` beside the `action`.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.actions import read_actions

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
    suffix = path.suffix.lower()
    with path.open(encoding="utf-8-sig", newline="") as stream:
        if suffix in {".jsonl", ".ndjson"}:
            for line, text in enumerate(stream, 1):
                if text.strip():
                    row = json.loads(text)
                    label = row.get("label")
                    yield line, row["action"].strip(), "" if label is None else str(label).strip()
        elif suffix == ".csv":
            reader = csv.reader(stream)
            header = [name.strip().lower() for name in next(reader, [])]
            if "label" not in header:
                return
            for cells in reader:
                row = dict(zip(header, cells, strict=False))
                if row.get("action", "").strip():
                    yield reader.line_num, row["action"].strip(), row.get("label", "").strip()


def _side(label: str, path: Path, line: int) -> bool:
    word = label.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    if word not in _GOOD | _BAD:
        raise InputError(f"{path} line {line} has the label {label[:40]!r}", _REMEDY)
    return word in _GOOD
