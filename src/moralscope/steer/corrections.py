"""A user's corrections: "eat meat: fine", "eat meat, +1", or a CSV with action and label.

A label names a side of the axis and how far; a number is the wanted score itself. What is wrong is
said by line; an action with two different labels is refused.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.io.actions import check_actions
from moralscope.io.documents import read_document
from moralscope.io.tables import Layout, Table

# In standard deviations of the actions that the axis was fitted on.
LABELS = {
    "good": 1.0,
    "right": 1.0,
    "fine": 0.5,
    "okay": 0.5,
    "ok": 0.5,
    "neutral": 0.0,
    "bad": -1.0,
    "wrong": -1.0,
}
_MAX_SCORE = 10.0
_EXAMPLE = "write 'eat meat: fine' or 'eat meat, +1'"


@dataclass(frozen=True, slots=True)
class Correction:
    """What an action should score; under a label, more of the same side is right too."""

    action: str
    label: str
    target: float

    @property
    def one_sided(self) -> bool:
        """A label other than neutral is met by anything beyond its target."""
        return self.label in LABELS and self.target != 0

    def gap_target(self, score: float) -> float:
        """Return the score to aim for, given the present one.

        Examples
        --------
        >>> fine = Correction("eat meat", "fine", 0.5)
        >>> fine.gap_target(-0.3), fine.gap_target(0.9)
        (0.5, 0.9)
        """
        beyond = self.one_sided and score * self.target > 0 and abs(score) > abs(self.target)
        return score if beyond else self.target

    def is_met(self, score: float) -> bool:
        """Say whether a score is on the wanted side, or near the wanted number."""
        return score * self.target > 0 if self.one_sided else abs(score - self.target) <= 0.25


def parse_corrections(texts: Sequence[str]) -> list[Correction]:
    """Parse corrections given by hand.

    Examples
    --------
    >>> [(c.action, c.target) for c in parse_corrections(["eat meat: fine", "lie, -2"])]
    [('eat meat', 0.5), ('lie', -2.0)]
    """
    rows = [(place, *_split(text, "correction", place)) for place, text in enumerate(texts, 1)]
    return _checked(rows, "correction")


def read_corrections(path: Path) -> list[Correction]:
    """Read a CSV with columns action and label, or lines such as "eat meat: fine"."""
    document = read_document(path, "corrections", _EXAMPLE)
    source = f"{path} line"
    if path.suffix.lower() != ".csv":
        lines = [
            (place, line)
            for place, line in enumerate(document.content.splitlines(), 1)
            if line.strip()
        ]
        return _checked([(place, *_split(line, source, place)) for place, line in lines], source)
    layout = Layout(order=("action", "label"))
    table = Table(document.content, name=str(path), kind=".csv", layout=layout)
    found = table.strict_rows(layout.order, "give action,label")
    rows = [(line, cells["action"].strip(), cells["label"].strip()) for line, cells in found]
    return _checked([row for row in rows if any(row[1:])], source)


def _split(text: str, source: str, place: int) -> tuple[str, str]:
    cut = max(text.rfind(":"), text.rfind(","))
    if cut < 0:
        raise InputError(f"{source} {place} ({text.strip()[:60]!r}) has no label", _EXAMPLE)
    return text[:cut].strip(), text[cut + 1 :].strip()


def _checked(rows: Iterable[tuple[int, str, str]], source: str) -> list[Correction]:
    found: dict[str, tuple[int, Correction]] = {}
    for place, action, label in rows:
        if not action:
            raise InputError(f"{source} {place} names no action", _EXAMPLE)
        check_actions([action])
        correction = Correction(action, label.lower(), _target(label, source, place))
        before, known = found.setdefault(action, (place, correction))
        if known.target != correction.target:
            raise InputError(
                f"{source} {place} calls '{action[:60]}' {label}, "
                f"{source} {before} calls it {known.label}",
                "give each action one label",
            )
    if not found:
        raise InputError("no corrections were given", _EXAMPLE)
    return [correction for _, correction in found.values()]


def _target(label: str, source: str, place: int) -> float:
    if label.lower() in LABELS:
        return LABELS[label.lower()]
    try:
        value = float(label)
    except ValueError:
        raise UnknownName(
            f"{source} {place} has the unknown label {label[:40]!r}",
            f"{did_you_mean(label, LABELS)}, or a score such as +1",
        ) from None
    if not math.isfinite(value) or abs(value) > _MAX_SCORE:
        raise InputError(
            f"{source} {place} wants the score {label[:40]}",
            f"give a score from {-_MAX_SCORE:g} to {_MAX_SCORE:g}",
        )
    return value
