"""The journal of a long run: finished blocks on disk, one line each, safe against a kill.

The first line holds the run's settings; a journal is continued with the same settings only. A
last line that was cut off in the middle is dropped and its block is run again. Results are read
back from the file one block at a time, so that a long run does not fill the memory.
"""

import json
import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, overload

from filelock import FileLock, Timeout

from moralscope.core.decode import decode
from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.records import to_plain

SCHEMA = "moralscope.journal/1"


def journal_path(out: Path) -> Path:
    """Return where the journal of a run record lies: beside it.

    Examples
    --------
    >>> journal_path(Path("run.json")).name
    'run.json.journal'
    """
    return out.with_name(f"{out.name}.journal")


@dataclass(frozen=True, slots=True)
class JournalHead:
    """The first line of a journal."""

    schema: str
    settings: dict[str, Any]


class Journal(Sequence[dict[str, Any]]):
    """Results in the order they were appended, on disk; a sequence of plain mappings."""

    def __init__(
        self, path: Path | None, settings: Mapping[str, Any], *, fresh: bool = False
    ) -> None:
        self.path = path
        self.notes: list[dict[str, Any]] = []  # what blocks hold beside their results
        self._starts: list[int] = []  # place of each block's first result
        self._offsets: list[int] = []  # place of each block in the file
        self._count = 0
        self._read: tuple[int, list[dict[str, Any]]] | None = None
        self._settings = json.loads(json.dumps(to_plain(settings)))
        self._lock = _locked(path)
        self._file = _opened(path, fresh)
        try:
            if not self._load():
                self._write(json.dumps({"schema": SCHEMA, "settings": self._settings}))
        except BaseException:
            self.close()
            raise

    def append(self, block: Mapping[str, Any]) -> None:
        """Add a block with its `results`; it is on the disk when this returns."""
        plain = to_plain(block)
        self._note(plain, self._write(json.dumps(plain, allow_nan=False)))

    @contextmanager
    def told_on_interrupt(self, what: str) -> Iterator[None]:
        """Say of Ctrl-C what is kept; a journal without a file keeps nothing."""
        try:
            yield
        except KeyboardInterrupt:
            if self.path is None or not len(self):
                raise
            problem = f"interrupted; {len(self):,} {what} are kept in {self.path}"
            raise KeyboardInterrupt(problem, "run the same command again to continue") from None

    def close(self, *, remove: bool = False) -> None:
        """Let go of the file; remove it when the run record has been written."""
        self._file.close()
        if remove and self.path is not None:
            self.path.unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.release()
            if remove:
                Path(self._lock.lock_file).unlink(missing_ok=True)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(self._count))]
        at = index + self._count if index < 0 else index
        if not 0 <= at < self._count:
            raise IndexError(index)
        block = bisect_right(self._starts, at) - 1
        if self._read is None or self._read[0] != block:
            self._file.seek(self._offsets[block])
            self._read = (block, json.loads(self._file.readline())["results"])
        return self._read[1][at - self._starts[block]]

    def _load(self) -> bool:
        """Take over what an earlier run left; drop everything from the first broken line on."""
        head = self._file.readline()
        if not head.endswith(b"\n"):  # nothing, or not even the first line was finished
            self._file.truncate(0)
            return False
        other_file = f"{self.path} is not a journal of a run"
        before = decode(JournalHead, _parsed(head), other_file, remedy="choose another --out")
        if before.schema != SCHEMA:
            raise InputError(other_file, "choose another --out")
        keys = dict.fromkeys([*before.settings, *self._settings])
        other = [key for key in keys if before.settings.get(key) != self._settings.get(key)]
        if other:
            # A value that is short is named.
            values = {key: before.settings.get(key) for key in other}
            named = [
                f"{key} {value}" if isinstance(value, str | int | float) else key
                for key, value in values.items()
            ]
            short = ", ".join(text if len(text) < 80 else text.split()[0] for text in named)
            raise InputError(
                f"{self.path} belongs to a run with other settings ({short})",
                "repeat them, choose another --out, or start over with --no-resume",
            )
        offset = self._file.tell()
        for line in iter(self._file.readline, b""):
            block = _parsed(line) if line.endswith(b"\n") else None
            if not isinstance(block, dict) or not isinstance(block.get("results"), list):
                break
            self._note(block, offset)
            offset = self._file.tell()
        self._file.truncate(offset)
        return True

    def _note(self, block: Mapping[str, Any], offset: int) -> None:
        self._starts.append(self._count)
        self._offsets.append(offset)
        self._count += len(block["results"])
        self.notes.append({key: value for key, value in block.items() if key != "results"})

    def _write(self, line: str) -> int:
        try:
            offset = self._file.seek(0, os.SEEK_END)
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise MoralscopeError(
                f"{self.path or 'a temporary file'} could not be written ({error.strerror})",
                "free some space and run the same command again: finished blocks are kept",
            ) from error
        return offset


def _opened(path: Path | None, fresh: bool) -> IO[bytes]:
    if path is None:
        return tempfile.TemporaryFile()
    try:
        return path.open("w+b" if fresh or not path.exists() else "r+b")
    except OSError as error:
        raise InputError(
            f"{path} cannot be opened ({error.strerror})", "choose another --out"
        ) from error


def _locked(path: Path | None) -> FileLock | None:
    if path is None:
        return None
    lock = FileLock(f"{path}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(
            f"another run is writing {path}", "wait for it or choose another --out"
        ) from None
    except OSError as error:
        raise InputError(
            f"{path} cannot be locked ({error.strerror})", "choose another --out"
        ) from error
    return lock


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
