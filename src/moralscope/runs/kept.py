"""Kept runs: one run record a file in the folder `runs` of MORALSCOPE_HOME, as `--out` writes it.

Beside the record a file holds `page`, the notes of the page. Names are made here; one that somebody
asks for is checked before any path is made of it.
"""

import contextlib
import json
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.records import to_plain
from moralscope.io.files import csv_bytes, escape_cell, read_run, write_whole
from moralscope.io.run_records import check_record, text
from moralscope.models.store import home_folder
from moralscope.runs.titles import (
    MAX_TITLE,
    SHOWN,
    PageNotes,
    Remark,
    notes_of,
    run_figures,
    title_of,
)

MOST_RUNS = 500  # that are kept
_TAG, _TAGS = 40, 12  # characters of a tag, tags of a run
_STALE = 600  # seconds: no file takes as long to write
_NAME = re.compile(r"[0-9]{8}-[0-9]{12}-[0-9a-f]{8}")


class NoSuchRun(InputError):
    """There is no run of that name, or no longer."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """A kept run in one line; `about` names what it used."""

    id: str
    job: str
    title: str
    created: str
    about: str
    results: int
    kilobytes: float
    remarks: int = 0  # of people, on its verdicts
    labels: int = 0  # rules that people called broken or not
    tags: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  # that can be followed over runs


class Runs:
    """The kept runs of a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lines: dict[tuple[str, int], RunLine] = {}

    @property
    def folder(self) -> Path:
        """Where the files lie; MORALSCOPE_HOME is asked at every use."""
        return self._folder or home_folder() / "runs"

    def save(self, record: Any, notes: PageNotes | None = None) -> RunLine:
        """Keep a record in its plain form; what is no run record is refused."""
        check_record(record)
        if len(self._files()) >= MOST_RUNS:
            raise InputError(f"{MOST_RUNS} runs are kept already", "delete some on the page 'Runs'")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MoralscopeError(
                f"the run could not be kept ({error.strerror})", "check MORALSCOPE_HOME"
            ) from None
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S%f")
        path = self.folder / f"{stamp}-{secrets.token_hex(4)}.json"
        return self._write(path, to_plain(record), notes)

    def sweep(self) -> None:
        """Remove what a server that was killed had half written: texts that nobody would find."""
        for path in self.folder.glob(".*.json.*.part"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()

    def listed(self) -> list[RunLine]:
        """Return all runs, the newest first; a file that is no run record is left out."""
        lines = []
        for path in reversed(self._files()):
            with contextlib.suppress(InputError):
                lines.append(self._line(path))
        return lines

    def line(self, name: str) -> RunLine:
        """Return a kept run in one line."""
        return self._line(self.path(name))

    def load(self, name: str) -> dict[str, Any]:
        """Return a kept run in its plain form, as it was kept."""
        path = self.path(name)
        try:
            plain = read_run(path)
        except InputError as error:
            problem = error.problem.replace(str(path), "the kept run")
            raise InputError(problem, "delete it and run the job again") from None
        check_record(plain, "the kept run")
        return dict(plain)

    def rename(self, name: str, title: str) -> RunLine:
        """Give a run a title; an empty one brings back the title that its content gives."""
        return self._note(name, title=" ".join(title.split())[:MAX_TITLE])

    def tag(self, name: str, tags: Sequence[str]) -> RunLine:
        """Give a run tags in place of those it has."""
        words = (" ".join(tag.split())[:_TAG] for tag in tags)
        return self._note(name, tags=tuple(dict.fromkeys(filter(None, words)))[:_TAGS])

    def remark(self, name: str, remarks: Sequence[Remark]) -> RunLine:
        """Keep what somebody says of replies; it replaces what was said of them before."""
        plain = self.load(name)
        said = {remark.result: remark for remark in notes_of(plain).remarks}
        for remark in remarks:
            if not 0 <= remark.result < len(plain["results"]):
                raise InputError("the run has no such result", "reload the page")
            said[remark.result] = remark
        kept = [remark for remark in said.values() if not remark.is_empty]
        return self._note(name, plain, remarks=kept)

    def delete(self, name: str) -> None:
        """Remove a run for good."""
        self.path(name).unlink(missing_ok=True)

    def labels_csv(self, names: Sequence[str] = ()) -> bytes:
        """Return the labels that people chose, as a table that `rules learn --labels` reads."""
        rows = [["prompt", "reply", "rule", "broken", "note", "id"]]
        for name in names or [line.id for line in self.listed() if line.labels]:
            plain = self.load(name)
            for remark in notes_of(plain).remarks:
                row = plain["results"][remark.result]
                for label in remark.labels:
                    said = ("yes" if label.broken else "no", remark.note, f"{name}-{remark.result}")
                    cells = (row["prompt"], row["reply"], label.rule, *said)
                    rows.append([escape_cell(str(cell)) for cell in cells])
        return csv_bytes(rows)

    def path(self, name: str) -> Path:
        """Return the file of a run, or refuse."""
        path = self.folder / f"{name}.json"
        if not _NAME.fullmatch(name) or not path.is_file():
            raise NoSuchRun("there is no such run", "it may have been deleted: see 'Runs'")
        return path

    def _note(self, name: str, plain: Any = None, **changes: Any) -> RunLine:
        plain = plain or self.load(name)
        return self._write(self.path(name), plain, replace(notes_of(plain), **changes))

    def _write(self, path: Path, plain: Any, notes: PageNotes | None) -> RunLine:
        plain = {**plain, "page": to_plain(notes)} if notes else plain
        write_whole(path, [json.dumps(plain, allow_nan=False).encode()], private=True)
        return self._line(path)

    def _files(self) -> Sequence[Path]:
        return sorted(p for p in self.folder.glob("*.json") if _NAME.fullmatch(p.stem))

    def _line(self, path: Path) -> RunLine:
        file = path.stat()
        key = (path.name, file.st_mtime_ns)
        if key not in self._lines:
            raw = read_run(path)
            plain, notes = check_record(raw, path.name), notes_of(raw)
            used = (text(plain["config"][name]) for name in SHOWN if plain["config"].get(name))
            self._lines[key] = RunLine(
                id=path.stem,
                job=plain["job"][:60],
                title=title_of(raw),
                created=text(plain.get("created") or "")[:40],
                about=" · ".join(dict.fromkeys(used))[:200],
                results=len(plain["results"]),
                kilobytes=round(file.st_size / 1000, 1),
                remarks=len(notes.remarks),
                labels=sum(len(remark.labels) for remark in notes.remarks),
                tags=tuple(notes.tags),
                figures=run_figures(plain),
            )
        return self._lines[key]
