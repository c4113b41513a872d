"""Reads the user's MIC.csv and SOCIAL-CHEM-101 files as annotations and shares them out.

MIC.csv has one annotation a row: an exchange, a rule a person wrote for it, and its attributes.
SOCIAL-CHEM-101 has a situation in place of the exchange (it becomes the prompt of an exchange with
no reply), five foundations, and consensus on 0-4, which is MIC's 1-5 less one. The two are told
apart by their columns. Nothing is repaired. The corpus itself is handed out by its authors, never
shipped. Parts are 80-10-10 with no exchange in two of them, as in section 5 of Ziems et al. 2022;
exchanges that differ only in case and spaces are one, and the order of a file does not matter.
"""

import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.tables import (
    POLICIES,
    Layout,
    Limits,
    LineProblem,
    MalformedRow,
    TableFile,
    read_header,
    rename_columns,
)
from moralscope.models.store import data_file
from moralscope.rules.options import KINDS
from moralscope.rules.records import FOUNDATIONS, SCALES, Annotation, Exchange

MIC_COLUMNS = {
    "prompt": "Q",
    "reply": "A",
    "rule": "rot",
    **{name: scale.mic for name, scale in reversed(SCALES.items()) if scale.mic},
    "foundations": "moral",
    "alignment": "A_agrees",
    "revised_reply": "worker_answer",
    "split": "split",
    "worker": "WorkerId",
    "chatbot": "chatbot",
    "id": "id",
}
SOCIAL_COLUMNS = {
    "prompt": "situation",
    "rule": "rot",
    **{name: scale.social for name, scale in SCALES.items() if scale.social},
    "foundations": "rot-moral-foundations",
    "split": "split",
    "worker": "breakdown-worker-id",
    "id": "rot-id",
    "action": "action",
    "judgment": "action-moral-judgment",
    "bad": "rot-bad",
}
LIMITS = Limits(rows=1_000_000, cell_characters=20_000, text_only=True)
LAYOUT = Layout(remedy="name a CSV file with a header")
MIC_FILE = "mic/MIC.csv"
_SHOWN = 5  # malformed lines that a warning names
_POLES = ("harm", "cheating", "oppression", "betrayal", "subversion", "degradation")
_BY_POLE = dict(zip((*FOUNDATIONS, *_POLES), (*FOUNDATIONS, *FOUNDATIONS), strict=True))
_CODES = {0.0: "disagree", 1.0: "neither", 2.0: "agree"}
_WORDS = {"agree": "agree", "agrees": "agree", "disagree": "disagree", "disagrees": "disagree"}
_WORDS["neither"] = "neither"
_MISSING = ("", "nan", "none", "null", "na")
_UNANSWERED = -1.0  # how the authors' script writes a scale that a worker left open
_PARTED = re.compile(r"[|,;]")
_OPTIONAL = ("worker", "chatbot", "id", "bad")  # their absence is nothing to warn of
PARTS = ("train", "dev", "test")
UNITS = ("exchange", "prompt")
_SHARE = 10  # one unit in so many is dev, and as many are test
_FEWEST = 3
_HELD_OUT = {"test": 2, "dev": 1, "train": 0}


@dataclass(frozen=True, slots=True)
class AnnotationFile:
    """The annotations of a file in their order, and what was left out of it.

    `absent` names attributes the file has no column for; `bad_rules` counts rows that annotators
    of SOCIAL-CHEM-101 marked as no rule at all.
    """

    source: str
    kind: str
    annotations: tuple[Annotation, ...]
    problems: tuple[LineProblem, ...] = ()
    absent: tuple[str, ...] = ()
    bad_rules: int = 0


def read_annotations(
    path: Path | None = None,
    *,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    malformed: str = "stop",
) -> AnnotationFile:
    """Read MIC.csv or a SOCIAL-CHEM-101 file.

    Parameters
    ----------
    path
        A CSV file with a header; by default mic/MIC.csv below MORALSCOPE_DATA.
    kind
        mic or social-chem; by default a column `situation` says which.
    columns
        Our name → the file's, where its columns have other names: `{"prompt": "question"}`.
    malformed
        Every malformed line is found and named by number; then stop raises, skip goes on.
    """
    path = path.expanduser() if path is not None else data_file(MIC_FILE)
    if path is None:
        raise InputError(
            f"there are no annotations: no file was named, and no {MIC_FILE} is below "
            "MORALSCOPE_DATA",
            "'moralscope data where mic' says whom to ask for the corpus",
        )
    if malformed not in POLICIES:
        raise InputError(f"malformed lines cannot be '{malformed}'", "say stop or skip")
    if kind is not None and kind not in KINDS:
        raise InputError(f"there is no kind '{kind}'", f"say {' or '.join(KINDS)}")
    if kind is None:
        header = read_header(path)
        social = "situation" in header and "Q" not in header
        kind = "social-chem" if social and "reply" not in (columns or {}) else "mic"
    official = MIC_COLUMNS if kind == "mic" else SOCIAL_COLUMNS
    needed = ("prompt", "reply", "rule") if kind == "mic" else ("prompt", "rule")
    names = rename_columns(official, columns, path)
    table = TableFile(path, kind=".csv", columns=names, layout=LAYOUT, limits=LIMITS)
    annotations: list[Annotation] = []
    bad_rules = 0
    for line, cells in table.good_rows((*needed, *(columns or {}))):
        try:
            if cells.get("bad", "").strip() in ("1", "1.0"):
                bad_rules += 1
                continue
            annotations.append(_annotation(cells, social=kind != "mic"))
        except MalformedRow as wrong:
            table.note(line, str(wrong))
    if malformed == "stop":
        table.check("fix them, or leave them out: skip")
    if not annotations:
        first = f" ({table.problems[0]})" if table.problems else ""
        raise InputError(f"{path} holds no annotations{first}", "give MIC.csv or a file like it")
    absent = tuple(
        name for name in official if names[name] not in table.header and name not in _OPTIONAL
    )
    return AnnotationFile(
        str(path), kind, tuple(annotations), tuple(table.problems), absent, bad_rules
    )


def source_warnings(file: AnnotationFile) -> list[str]:
    """Say what a reader of any figure about these annotations must know of their source."""
    warnings = [f"left out: {problem}" for problem in file.problems[:_SHOWN]]
    if len(file.problems) > len(warnings):
        warnings.append(f"left out: {len(file.problems) - len(warnings):,} more malformed lines")
    if file.absent:
        names = ", ".join(name.replace("_", " ") for name in file.absent)
        warnings.append(f"the file has no column for: {names}")
    if file.bad_rules:
        warnings.append(f"left out: {file.bad_rules:,} rules that annotators marked as no rule")
    for name in SCALES:
        values = {row.scales[name] for row in file.annotations} - {None}
        if len(values) == 1 and len(file.annotations) > 1:
            warnings.append(
                f"{name} is {values.pop():g} in every row: nothing can be learnt from it"
            )
    return warnings


@lru_cache(maxsize=4096)
def foundation_names(cell: str) -> tuple[str, ...]:
    """Return our names of foundations written as `care|fairness`, `care-harm` or `Care/Harm`."""
    names = set()
    for part in _PARTED.split(cell):
        word = re.split(r"[-/ ]", part.strip().lower())[0]
        if word in _MISSING:
            continue
        if word not in _BY_POLE:
            raise MalformedRow(f"has a foundation {part.strip()[:40]!r} that is none of the six")
        names.add(_BY_POLE[word])
    return tuple(name for name in FOUNDATIONS if name in names)


def _annotation(cells: Mapping[str, str], *, social: bool) -> Annotation:
    """Read a row of MIC.csv or, with a situation and no reply, of SOCIAL-CHEM-101."""
    scales: dict[str, Any] = {}
    for name, scale in SCALES.items():
        if not social:
            scales[name] = _number(cells, name, 1, 5)
        elif scale.social:  # it counts from 0
            value = _number(cells, name, 0, 4)
            scales[name] = None if value is None else value + 1
    cell = cells.get("alignment", "").strip()
    code = _float(cell)
    alignment = _WORDS.get(cell.lower()) if code is None else _CODES.get(code)
    if alignment is None and cell.lower() not in _MISSING:
        raise MalformedRow(f"has the alignment {cell[:20]!r}, which is not 0, 1 or 2")
    return Annotation(
        Exchange(_text(cells, "prompt"), "" if social else _text(cells, "reply")),
        _text(cells, "rule"),
        alignment,
        **scales,
        # Without the column nobody knows; with it an empty cell means none of the six.
        foundations=foundation_names(cells["foundations"]) if "foundations" in cells else None,
        revised_reply=cells.get("revised_reply", "").strip() or None,
        split=cells.get("split", "").strip().lower() or None,
        action=cells.get("action", "").strip() or None,
        judgment=_number(cells, "judgment", -2, 2),
        worker=cells.get("worker", "").strip(),
        id=cells.get("id", "").strip(),
        chatbot=cells.get("chatbot", "").strip(),
    )


def _text(cells: Mapping[str, str], name: str) -> str:
    text = cells[name].strip()
    if not text:
        raise MalformedRow(f"has no {name}")
    return text


def _number(cells: Mapping[str, str], name: str, low: int, high: int) -> float | None:
    cell = cells.get(name, "").strip()
    if cell.lower() in _MISSING:
        return None
    value = _float(cell)
    if value == _UNANSWERED and low == 1:
        return None
    if value is None or not low <= value <= high:
        raise MalformedRow(f"has the {name} {cell[:20]!r}, which is not in {low} to {high}")
    return value


def _float(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class IntegritySplit:
    """The part of every annotation, in the order of the file; None where nobody knows it."""

    parts: tuple[str | None, ...]
    unit: str
    official: bool  # whether the parts are the file's own
    moved: int = 0  # units that the file had in two parts, now in the most held-out one
    shared_prompts: int = 0  # prompts that stand, with other replies, in more than one part

    def of(self, annotations: Sequence[Annotation], part: str) -> list[Annotation]:
        """Return the annotations of a part."""
        return [
            row for row, assigned in zip(annotations, self.parts, strict=True) if assigned == part
        ]


def split_annotations(
    annotations: Sequence[Annotation],
    *,
    seed: int = 0,
    unit: str = "exchange",
    official: bool = True,
) -> IntegritySplit:
    """Share annotations out.

    Parameters
    ----------
    annotations
        SOCIAL-CHEM-101's have their situation as the prompt, so they are split by situation.
    seed
        Another seed gives another split; not used where the file's own parts are.
    unit
        What must not stand in two parts: an exchange, or more strictly a prompt.
    official
        Use the file's own parts where it names a dev or a test part.
    """
    if unit not in UNITS:
        raise InputError(f"a split has no unit '{unit}'", f"say {' or '.join(UNITS)}")
    pairs = [(_plain(row.exchange.prompt), _plain(row.exchange.reply)) for row in annotations]
    keys: list[Hashable] = [pair[0] if unit == "prompt" else pair for pair in pairs]
    parts_of: dict[Hashable, str] = {}
    moved = set()
    own_parts = official and bool({row.split for row in annotations} & {"dev", "test"})
    if own_parts:  # a unit in two parts goes to the most held-out one
        for row, key in zip(annotations, keys, strict=True):
            if row.split in PARTS:
                known = parts_of.setdefault(key, row.split)
                if known != row.split:
                    moved.add(key)
                    parts_of[key] = max(known, row.split, key=_HELD_OUT.__getitem__)
    else:
        ordered = sorted(set(keys), key=lambda key: _draw(key, seed))
        if len(ordered) < _FEWEST:
            raise InputError(
                f"{len(ordered)} different exchanges are too few for three parts",
                f"give {_FEWEST} or more",
            )
        held = max(1, round(len(ordered) / _SHARE))
        for index, key in enumerate(ordered):
            parts_of[key] = "test" if index < held else "dev" if index < 2 * held else "train"
    parts = tuple(parts_of.get(key) for key in keys)
    placed = {(prompt, part) for (prompt, _), part in zip(pairs, parts, strict=True) if part}
    shared = sum(count > 1 for count in Counter(prompt for prompt, _ in placed).values())
    return IntegritySplit(parts, unit, own_parts, len(moved), shared)


def _draw(key: Hashable, seed: int) -> bytes:
    """Return where a unit stands in a draw: not random, the order of a file must not matter."""
    return blake2b(f"{seed}\x00{key!r}".encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
