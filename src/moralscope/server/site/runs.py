"""Runs that the page keeps: one run record a file, in the folder `runs` of MORALSCOPE_HOME.

A file is what `--out` would have written, so the command line can draw it too. Names are made
here; a name that somebody asks for is checked before any path is made of it.
"""

import json
import re
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.records import to_plain
from moralscope.io.files import write_whole
from moralscope.io.record_view import check_plain, text
from moralscope.io.run_records import read_run
from moralscope.models.store import home_folder
from moralscope.reports import report_html, write_figure

MOST = 500  # runs that are kept
_NAME = re.compile(r"[0-9]{8}-[0-9]{12}-[0-9a-f]{8}")
_SHOWN = ("axis", "encoder", "encoders", "recipe", "generator", "rulebook", "experts")


class NoSuchRun(InputError):
    """There is no run of that name, or no longer."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """A kept run in one line; `about` names what it used."""

    id: str
    job: str
    created: str
    about: str
    results: int
    kilobytes: float


class Runs:
    """The kept runs of a folder.

    Examples
    --------
    >>> import tempfile
    >>> record = {"schema": "moralscope.run/1", "job": "score", "config": {"axis": "choice"},
    ...           "results": [{"action": "kill time", "score": 0.1}]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = Runs(Path(folder, "runs"))
    ...     kept = runs.save(record)
    ...     [(line.job, line.about, line.results) for line in runs.listed()]
    [('score', 'choice', 1)]
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lines: dict[tuple[str, int], RunLine] = {}

    @property
    def folder(self) -> Path:
        """Where the files lie; MORALSCOPE_HOME is asked at every use."""
        return self._folder or home_folder() / "runs"

    def save(self, record: Any) -> RunLine:
        """Keep a record in its plain form; what is no run record is refused."""
        check_plain(record)
        if len(self._files()) >= MOST:
            raise InputError(f"{MOST} runs are kept already", "delete some on the page 'Runs'")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MoralscopeError(
                f"the run could not be kept ({error.strerror})", "check MORALSCOPE_HOME"
            ) from None
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S%f")
        path = self.folder / f"{stamp}-{secrets.token_hex(4)}.json"
        write_whole(path, [json.dumps(to_plain(record), allow_nan=False).encode()])
        return self._line(path)

    def listed(self) -> list[RunLine]:
        """Return all runs, the newest first; a file that is no run record is left out."""
        found = []
        for path in reversed(self._files()):
            try:
                found.append(self._line(path))
            except InputError:
                continue
        return found

    def load(self, name: str) -> Mapping[str, Any]:
        """Return a kept run in its plain form, as it was kept."""
        path = self._path(name)
        try:
            plain = read_run(path)
        except InputError as error:
            problem = error.problem.replace(str(path), "the kept run")
            raise InputError(problem, "delete it and run the job again") from None
        check_plain(plain, "the kept run")
        found: Mapping[str, Any] = plain
        return found

    def delete(self, name: str) -> None:
        """Remove a run for good."""
        self._path(name).unlink(missing_ok=True)

    def report(self, name: str) -> str:
        """Return the HTML report of a run."""
        return report_html(self.load(name), "the kept run")

    def _path(self, name: str) -> Path:
        path = self.folder / f"{name}.json"
        if not _NAME.fullmatch(name) or not path.is_file():
            raise NoSuchRun("there is no such run", "it may have been deleted: see 'Runs'")
        return path

    def _files(self) -> Sequence[Path]:
        return sorted(p for p in self.folder.glob("*.json") if _NAME.fullmatch(p.stem))

    def _line(self, path: Path) -> RunLine:
        size = path.stat().st_size
        key = (path.name, size)
        if key not in self._lines:
            plain = check_plain(read_run(path), path.name)
            config = plain["config"]
            used = (text(config[name]) for name in _SHOWN if config.get(name))
            self._lines[key] = RunLine(
                path.stem,
                plain["job"][:60],
                text(plain.get("created") or "")[:40],
                " · ".join(dict.fromkeys(used))[:200],
                len(plain["results"]),
                round(size / 1000, 1),
            )
        return self._lines[key]


def figure_svg(record: Any) -> bytes:
    """Return the static figure of a plain run record as SVG.

    Examples
    --------
    >>> record = {"schema": "moralscope.run/1", "job": "score", "config": {},
    ...           "results": [{"action": "kill time", "score": 0.1}]}
    >>> b"<svg" in figure_svg(record)
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "figure.svg")
        write_figure(record, path)
        return path.read_bytes()
