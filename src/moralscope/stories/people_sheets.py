"""The files of a human evaluation pack: sheets for raters, a key that tells what they judged.

A sheet is CSV (for spreadsheets) and JSONL (for annotation software), one each a rater. Nothing on
it names a strategy. `key.json` does, carries its own checksum, and stays with the researcher.
Sheets come back from people: every cell is checked, and what is wrong is named with its line.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.documents import read_document
from moralscope.io.files import SHEET_SCHEMA, csv_bytes, escape_cell, restore_cell, write_whole
from moralscope.io.tables import Layout, Limits, Table

KEY_SCHEMA = "moralscope.pack/1"
KEY_FILE, SHEETS = "key.json", "sheets"
SUFFIXES = (".csv", ".jsonl")
_LIMITS = Limits(file_bytes=100_000_000)
_ANSWERS = {"1": 1, "yes": 1, "true": 1, "1.0": 1, "0": 0, "no": 0, "false": 0, "0.0": 0}
Ratings = Mapping[str, Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class PackItem:
    """One text to judge, the strategies that gave it, and what raters see beside it."""

    item: str
    id: str
    target: str | None
    strategies: tuple[str, ...]
    text: str
    context: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pack:
    """Everything of a pack: `criteria` are (name, question), `samples` counts story and target."""

    task: str
    criteria: tuple[tuple[str, str], ...]
    raters: tuple[str, ...]
    items: tuple[PackItem, ...]
    samples: int
    seed: int

    @property
    def name(self) -> str:
        """Twelve hex digits of what raters see: the same on every sheet and in the key."""
        items = [(item.item, item.text, dict(item.context)) for item in self.items]
        seen = (self.task, self.criteria, self.raters, items)
        return sha256(_canonical(seen)).hexdigest()[:12]

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies, sorted."""
        return tuple(sorted({name for item in self.items for name in item.strategies}))


def write_files(pack: Pack, folder: Path) -> None:
    """Write key, sheets and instructions into a folder that holds no pack yet."""
    key = folder / KEY_FILE
    if key.exists() or (folder / SHEETS).exists():
        raise InputError(f"{folder} already holds a pack", "choose another folder")
    try:
        (folder / SHEETS).mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror})", "choose another") from error
    write_whole(key, [_key_text(pack).encode()])  # first: no sheet is ever without its key
    for rater in pack.raters:
        rows = list(_rows(pack, rater))
        write_whole(folder / SHEETS / f"{rater}.csv", [_csv_sheet(pack, rows)])
        plain = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        write_whole(folder / SHEETS / f"{rater}.jsonl", (line.encode() for line in plain))
    lines = [
        f"Pack {pack.name}: {len(pack.items)} texts. Each of you has one sheet; work alone.",
        "Answer every question with 1 (yes) or 0 (no). Leave a cell empty if you cannot say.",
        "Change nothing else. Sort or filter the rows as you like, but whole rows only.",
        "An apostrophe before = + - @ is there to keep your spreadsheet from running the text.",
        "",
        *(f"{name}: {question}" for name, question in pack.criteria),
        "",
    ]
    write_whole(folder / SHEETS / "instructions.txt", ["\n".join(lines).encode()])


def read_key(path: Path) -> Pack:
    """Read a key; one that was changed since it was written is refused."""
    remedy = "give the key.json that was written with the sheets"
    try:
        found = read_document(path, "", remedy, _LIMITS.file_bytes or 0).json_values()
        body = {name: value for name, value in found.items() if name != "sha256"}
        if found["schema"] != KEY_SCHEMA:
            raise InputError(f"{path} has the schema '{found['schema']}'", remedy)
        if sha256(_canonical(body)).hexdigest() != found["sha256"]:
            raise InputError(f"{path} was changed after it was written", remedy)
        items = tuple(
            PackItem(**{**item, "strategies": tuple(item["strategies"])}) for item in body["items"]
        )
        criteria = tuple((name, question) for name, question in body["criteria"])
        return Pack(
            body["task"], criteria, tuple(body["raters"]), items, body["samples"], body["seed"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path} is no key of a pack", remedy) from None


def read_sheets(paths: Sequence[Path], pack: Pack) -> Ratings:
    """Return rater → item → criterion → 0 or 1; an unanswered question is left out.

    Where a rater has two files (CSV and JSONL), the one without answers is passed over.
    """
    if not paths:
        raise InputError("there are no sheets", f"give the {' or '.join(SUFFIXES)} files of raters")
    found: dict[str, tuple[Path, dict[str, dict[str, int]]]] = {}
    for path in paths:
        rater, answers = _read_sheet(path, pack)
        if not any(answers.values()):
            found.setdefault(rater, (path, answers))
            continue
        first = found.get(rater)
        if first and any(first[1].values()) and first[1] != answers:
            raise InputError(
                f"{first[0]} and {path} are both the sheet of {rater} and differ", "keep one"
            )
        found[rater] = path, answers
    if not any(any(answers.values()) for _, answers in found.values()):
        raise InputError("the sheets hold no ratings", "write 1 (yes) or 0 (no) into them")
    return {rater: found[rater][1] for rater in pack.raters if rater in found}


def shuffled(items: Sequence[PackItem], salt: str) -> list[PackItem]:
    """Return items in an order that `salt` alone decides, however they came."""
    return sorted(items, key=lambda item: salted(salt, item.id, str(item.target), item.text))


def salted(*parts: str) -> bytes:
    """Return a hash to sort by: random in effect, the same everywhere."""
    return sha256("\0".join(parts).encode("utf-8", "backslashreplace")).digest()


def _rows(pack: Pack, rater: str) -> Iterator[dict[str, Any]]:
    """Yield a rater's items in an order of her own."""
    for item in shuffled(pack.items, f"{pack.seed}\0{pack.name}\0{rater}"):
        yield {
            "schema": SHEET_SCHEMA,
            "pack": pack.name,
            "rater": rater,
            "task": pack.task,
            "item": item.item,
            "context": dict(item.context),
            "text": item.text,
            "questions": dict(pack.criteria),
            "ratings": {name: None for name, _ in pack.criteria},
        }


def _csv_sheet(pack: Pack, rows: Sequence[Mapping[str, Any]]) -> bytes:
    criteria = [name for name, _ in pack.criteria]
    # "story_norm" is what the rater reads, "norm" the question she answers.
    context = [f"story_{name}" for name in rows[0]["context"]]
    lines = [["pack", "rater", "item", *context, "text", *criteria]]
    for row in rows:
        cells = [row["pack"], row["rater"], row["item"], *row["context"].values(), row["text"]]
        lines.append([*map(escape_cell, cells), *("" for _ in criteria)])
    return csv_bytes(lines, "utf-8-sig")


def _key_text(pack: Pack) -> str:
    body = {
        "schema": KEY_SCHEMA,
        "pack": pack.name,
        "task": pack.task,
        "criteria": pack.criteria,
        "raters": pack.raters,
        "samples": pack.samples,
        "seed": pack.seed,
        "items": [
            {name: getattr(item, name) for name in PackItem.__slots__} for item in pack.items
        ],
    }
    return json.dumps({**body, "sha256": sha256(_canonical(body)).hexdigest()}, indent=1) + "\n"


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _read_sheet(path: Path, pack: Pack) -> tuple[str, dict[str, dict[str, int]]]:
    """Return whose sheet it is and item → criterion → answer."""
    rows = _csv_rows(path, pack) if path.suffix.lower() == ".csv" else _jsonl_rows(path)
    texts = {item.item: item.text for item in pack.items}
    raters: set[str] = set()
    answers: dict[str, dict[str, int]] = {}
    for line, row in rows:
        _check_row(path, line, row, pack, texts)
        if row["item"] in answers:
            raise _wrong(path, line, f"repeats '{row['item']}'", "keep one of them")
        raters.add(row["rater"])
        answers[row["item"]] = {
            name: answer
            for name, _ in pack.criteria
            if (answer := _answer(row["ratings"].get(name), name, path, line)) is not None
        }
    if not answers:
        raise InputError(f"{path} is an empty sheet", "give the sheet that the rater filled in")
    if len(raters) > 1:
        raise InputError(
            f"{path} mixes the sheets of {' and '.join(sorted(raters))}", "give each its own file"
        )
    rater = raters.pop()
    if path.stem != rater and path.stem in pack.raters:
        raise InputError(
            f"{path} holds the sheet of {rater}", "two raters' files were swapped: rename them back"
        )
    return rater, answers


def _check_row(
    path: Path, line: int, row: Mapping[str, Any], pack: Pack, texts: Mapping[str, str]
) -> None:
    if row["pack"] != pack.name:
        what = f"belongs to pack '{str(row['pack'])[:20]}', the key is of '{pack.name}'"
        raise _wrong(path, line, what, "give the key that was written with this sheet")
    if row["rater"] not in pack.raters:
        what = f"has rater '{str(row['rater'])[:20]}'"
        raise _wrong(path, line, what, f"the pack's are {', '.join(pack.raters)}")
    if row["item"] not in texts:
        raise _wrong(path, line, f"has unknown item '{str(row['item'])[:20]}'", "restore the cell")
    if " ".join(str(row["text"]).split()) != texts[row["item"]]:
        what = f"has another text than '{row['item']}'"
        raise _wrong(path, line, what, "restore it; sort whole rows, not single columns")


def _csv_rows(path: Path, pack: Pack) -> Iterator[tuple[int, dict[str, Any]]]:
    table = Table(path, kind=".csv", layout=Layout(delimiters=",;\t"), limits=_LIMITS)
    needed = ("pack", "rater", "item", "text", *(name for name, _ in pack.criteria))
    for line, row in table.strict_rows(needed, "restore the row"):
        cells = {name: restore_cell(row[name].strip()) for name in needed}
        ratings = {name: cells.pop(name) for name, _ in pack.criteria}
        yield line, {**cells, "ratings": ratings}


def _jsonl_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, row in Table(path, kind=".jsonl", limits=_LIMITS).strict_rows((), "restore it"):
        if row.get("schema", SHEET_SCHEMA) != SHEET_SCHEMA:
            raise _wrong(path, line, f"has the schema '{row['schema']}'", SHEET_SCHEMA)
        found = {name: row.get(name) for name in ("pack", "rater", "item", "text", "ratings")}
        if not isinstance(found["ratings"], dict) or not isinstance(found["item"], str):
            raise _wrong(path, line, "is no row of a sheet", "restore it")
        yield line, found


def _answer(cell: Any, name: str, path: Path, line: int) -> int | None:
    text = "" if cell is None else str(cell).strip().lower()
    if not text:
        return None
    if text not in _ANSWERS:
        raise _wrong(path, line, f"has {name} = '{text[:20]}'", "write 1 (yes), 0 (no) or nothing")
    return _ANSWERS[text]


def _wrong(path: Path, line: int, what: str, remedy: str) -> InputError:
    return InputError(f"{path} line {line} {what}", remedy)
