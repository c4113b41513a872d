"""The output folder of a run: finished parts, and everything else under `_run/`.

A part is written under `_run/`, brought to the disk and renamed into its place: whoever reads the
folder as a Parquet dataset sees finished parts only, at any time, after any death. Its checksum is
kept before it has its name, so that a part that somebody changed is never taken for one of ours.
One run at a time holds a folder. Knows nothing of how rows are computed.
"""

import contextlib
import errno
import heapq
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from moralscope.batch.files import FoundFile, file_sha256, shown
from moralscope.batch.types import FailedRow
from moralscope.core.decode import decode
from moralscope.core.errors import InputError, MoralscopeError

SCHEMA = "moralscope.corpus/1"
ROW = "_row"  # number of a row in the whole corpus: sorting by it restores the order
INNER = "_run"
GO_ON = "free some space, then continue with --resume"
_ALLOW = "make it writable, then continue with --resume"
_PART = re.compile(r"part-(\d{6,})\.parquet")
_MANIFEST, _PLAN, _PROGRESS, _FAILED, _PARTS = (
    "manifest.json",
    "plan.sqlite",
    "progress.json",
    "failed.jsonl",
    "parts.jsonl",
)
_COMPARED = 60  # characters of a setting shown in a message


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file as it was when the run began."""

    name: str
    bytes: int
    stamp: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Part:
    """A finished part: its rows, the rows of its block that failed, and the checksums of both."""

    number: int
    rows: int
    failed: int
    sha256: str
    failed_sha256: str = ""  # of its dead letters, where it has any

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return part_name(self.number)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run is and what it wrote: `_run/manifest.json`."""

    identity: Mapping[str, Any]
    """all that it holds, as plain values: what must be the same when a run is continued"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    hash_inputs: bool = False
    inputs: list[InputFile] = field(default_factory=list)
    parts: list[Part] | None = None
    """of a finished run"""


def part_name(number: int) -> str:
    """Return the file name of a part.

    Examples
    --------
    >>> part_name(12)
    'part-000012.parquet'
    """
    return f"part-{number:06d}.parquet"


def numbered_parts(folder: Path) -> list[tuple[int, Path]]:
    """Return the finished parts of a run with their numbers, in order."""
    names = [(_PART.fullmatch(path.name), path) for path in folder.iterdir()]
    return sorted((int(match[1]), path) for match, path in names if match)


def part_schema(read: pa.Schema, writes: pa.Schema) -> pa.Schema:
    """Return the columns of every part: those read, those computed, the row's number."""
    ours = {*writes.names, ROW}
    taken = ours | set(read.names)
    fields = []
    for part in read:
        name = part.name
        if name in ours:
            while name in taken:
                name = f"input_{name}"
            taken.add(name)
        fields.append(part.with_name(name))
    return pa.schema([*fields, *writes, pa.field(ROW, pa.int64(), nullable=False)])


class RunFolder:
    """An output folder held by one run. Use it as a context: leaving it lets go of the folder.

    Parameters
    ----------
    path
        Made if it is not there; refused if it holds anything that no run wrote.
    resume
        Whether a run that is in it already may be continued.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path
        self.inner = path / INNER
        self._resume = resume
        self._lock = FileLock(self.inner / "lock")

    @property
    def plan(self) -> Path:
        """Return where the plan lies."""
        return self.inner / _PLAN

    def __enter__(self) -> Self:
        """Take hold of the folder; one that holds anything else is refused."""
        another = "give an empty or new folder as --out"
        try:
            names = sorted(path.name for path in self.path.iterdir()) if self.path.exists() else []
        except OSError as error:
            problem = f"{self.path} cannot be used as output ({error.strerror})"
            raise InputError(problem, another) from error
        for name in names:
            if name != INNER and not name.startswith(".") and not _PART.fullmatch(name):
                raise InputError(f"{self.path} has other things in it ({name[:80]})", another)
        with _writing(self.path):
            self.inner.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            problem = f"{self.path} is held by another run"
            raise InputError(problem, "wait for its end or give another --out") from None
        except (OSError, NotImplementedError) as error:
            problem = f"{self.path} cannot be locked ({error})"
            raise MoralscopeError(problem, "give a folder that can be written") from error
        try:
            for pattern in ("*.tmp", f"{_PLAN}.*"):  # left half done by a run that died
                for path in self.inner.glob(pattern):
                    path.unlink(missing_ok=True)
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Let go of the folder."""
        self._lock.release()

    def check(self, identity: Mapping[str, Any]) -> bool:
        """Say whether this very run is in the folder already; any other is refused."""
        manifest = self.manifest()
        if manifest is None:
            if any(numbered_parts(self.path)):
                problem = f"{self.path} has parts and no manifest"
                raise InputError(problem, "give an empty or new folder as --out")
            return False
        if not self._resume:
            problem = f"{self.path} has a run already"
            raise InputError(problem, "continue with --resume or give another --out")
        wanted = json.loads(json.dumps({"schema": SCHEMA, **identity}))
        different = _difference(wanted, manifest.identity)
        if different:
            problem = f"{self.path} holds another run ({different})"
            raise InputError(problem, "repeat its command with --resume or give another --out")
        return True

    def begin(self, identity: Mapping[str, Any], inputs: Sequence[FoundFile] = ()) -> None:
        """Write the manifest of a run that is planned, with the files that it reads."""
        listed = [
            InputFile(shown(file.url), file.bytes, file.stamp, file.sha256) for file in inputs
        ]
        self._put_manifest({"schema": SCHEMA, **identity, "inputs": [*map(asdict, listed)]})

    def manifest(self) -> Manifest | None:
        """Return the manifest, None before the run began."""
        path = self.inner / _MANIFEST
        try:
            plain = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read ({error})", "give another --out") from error
        if not isinstance(plain, dict):
            raise InputError(f"{path} is not a manifest", "give another --out")
        for part in plain.get("parts", ()):  # runs of 0.5 gave their parts a name and no number
            match = _PART.fullmatch(str(part.get("name")))
            part.setdefault("number", int(match[1]) if match else -1)
        whole = {**plain, "identity": plain}
        return decode(Manifest, whole, str(path), remedy="give another --out")

    def finished(self) -> dict[int, Part]:
        """Return the finished parts; one that is not as it was written is refused."""
        paths = numbered_parts(self.path)
        known = self.written()
        letters = self.letter_checksums()
        for number, path in paths:
            problem = part_problem(path, known.get(number), letters.get(number, ""))
            if problem:
                again = f"delete {path.name} and continue with --resume: it is computed again"
                raise InputError(problem, again)
        return {number: known[number] for number, _ in paths}

    def written(self) -> dict[int, Part]:
        """Return every part that was ever finished, as it was then."""
        manifest = self.manifest()
        parts = list(manifest.parts or ()) if manifest else []
        for line in _read_lines(self.inner / _PARTS):
            with contextlib.suppress(ValueError, InputError):  # cut off when the power went
                parts.append(decode(Part, json.loads(line)))
        return {part.number: part for part in parts}

    def write_part(self, number: int, table: pa.Table, failed: Sequence[FailedRow]) -> Part:
        """Write a part and its dead letters; it counts once it has its name."""
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        data = sink.getvalue()
        rows = [json.dumps({"part": number, **asdict(row)}, ensure_ascii=False) for row in failed]
        letters = [row.encode("utf-8", "backslashreplace") + b"\n" for row in rows]
        checksum = sha256(b"".join(letters)).hexdigest() if letters else ""
        part = Part(number, table.num_rows, len(failed), sha256(data).hexdigest(), checksum)
        with _writing(self.path):
            # Dead letters first: once the part has its name nobody computes its rows again.
            if failed:
                self._put(self._dead_letters(number), letters)
            else:  # of an earlier try
                self._dead_letters(number).unlink(missing_ok=True)
            with (self.inner / _PARTS).open("ab+") as stream:
                if stream.tell() and stream.seek(-1, os.SEEK_END) and stream.read(1) != b"\n":
                    stream.write(b"\n")  # the line before was cut off when the power went
                stream.write(json.dumps(asdict(part)).encode() + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            self._put(self.path / part_name(number), [data])
        return part

    def letter_checksums(self) -> dict[int, str]:
        """Return the checksum of the dead letters of every part that has some."""
        digests: dict[int, Any] = {}
        for line in _read_lines(self.inner / _FAILED):
            digests.setdefault(_part_of(line), sha256()).update(line)
        for path in self.inner.glob("failed-*.jsonl"):
            if path.stem[7:].isdecimal():
                digests[int(path.stem[7:])] = sha256(path.read_bytes())
        return {number: digest.hexdigest() for number, digest in digests.items()}

    def finish(self, parts: Sequence[Part]) -> None:
        """Merge the dead letters and write the manifest with all parts; repeatable."""
        manifest = self.manifest()
        letters = [part.number for part in parts if self._dead_letters(part.number).exists()]
        merged = self.inner / _FAILED
        # A part that was deleted to be computed again may have no failed rows now.
        replaced = {*letters, *(part.number for part in parts if not part.failed)}
        stale = any(_part_of(line) in replaced for line in _read_lines(merged))
        with _writing(self.path):
            if letters or stale or not merged.exists():
                old = (line for line in _read_lines(merged) if _part_of(line) not in replaced)
                new = (
                    line for number in letters for line in _read_lines(self._dead_letters(number))
                )
                self._put(merged, heapq.merge(old, new, key=_part_of))
            listed = [{"name": part.name, **asdict(part)} for part in parts]
            self._put_manifest({**(manifest.identity if manifest else {}), "parts": listed})
            for number in letters:
                self._dead_letters(number).unlink(missing_ok=True)

    def write_progress(self, progress: Mapping[str, Any]) -> None:
        """Replace the progress file; it is for looking at, so no disk is waited for."""
        half = self.inner / f"{_PROGRESS}.tmp"
        with _writing(self.path):
            half.write_text(json.dumps(progress) + "\n", "utf-8")
            half.replace(self.inner / _PROGRESS)

    def set_aside(self, number: int, data: bytes) -> Path:
        """Put results that wait for an earlier block on disk; gone with the next start."""
        path = self.inner / f"waiting-{number:06d}.tmp"
        with _writing(self.path):
            path.write_bytes(data)
        return path

    def check_space(self, needed: int) -> None:
        """Refuse a run whose output would not fit."""
        free = shutil.disk_usage(self.path).free
        if needed > free:
            problem = f"{self.path} has {size_text(free)} of free space and the run may need"
            remedy = "free some space or give an --out on another disk"
            raise MoralscopeError(f"{problem} {size_text(needed)}", remedy)

    def _dead_letters(self, number: int) -> Path:
        return self.inner / f"failed-{number:06d}.jsonl"

    def _put_manifest(self, value: Mapping[str, Any]) -> None:
        with _writing(self.path):
            text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
            self._put(self.inner / _MANIFEST, [text.encode("utf-8", "backslashreplace")])

    def _put(self, path: Path, chunks: Iterable[Any]) -> None:
        """Write under `_run/`, bring it to the disk, rename, bring the name to the disk."""
        # A rename is atomic, but without the first sync it may reach the disk before the content,
        # and without the second not at all: after a power cut a part would be empty, or gone.
        half = self.inner / f"{path.name}.tmp"
        try:
            with half.open("wb") as stream:
                for chunk in chunks:
                    stream.write(chunk)
                stream.flush()
                os.fsync(stream.fileno())
            half.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                half.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def part_problem(path: Path, known: Part | None, letters: str) -> str:
    """Say what is wrong with a part and its dead letters; nothing where they are as written."""
    if known is None:
        return f"{path} was not written by this run"
    try:
        digest = file_sha256(str(path))
    except OSError as error:
        return f"{path} cannot be read ({error.strerror or error})"
    if digest != known.sha256:
        return f"{path} is not as the run wrote it"
    if known.failed_sha256 and letters != known.failed_sha256:
        return f"the failed rows of {path.name} are not as the run wrote them"
    return ""


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"{path} could not be written ({error.strerror or error})"
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise MoralscopeError(problem, GO_ON if full else _ALLOW) from error


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to the disk, where a system can."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _difference(wanted: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Say the first thing that differs; nothing if all that was asked for is the same."""
    for name, value in wanted.items():
        earlier = before.get(name)
        if earlier == value:
            continue
        if isinstance(value, dict) and isinstance(earlier, dict):
            return _difference({**dict.fromkeys(earlier), **value}, earlier)
        if name == "fingerprint":
            return "the input files are not the same or have changed"
        return f"{name} was {_short(earlier)}, now {_short(value)}"
    return ""


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _COMPARED else f"{text[:_COMPARED]}…"


def _read_lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        with path.open("rb") as stream:
            yield from stream


def _part_of(line: bytes) -> int:
    return int(json.loads(line)["part"])


def size_text(count: int) -> str:
    """Write bytes so that a person can read them.

    Examples
    --------
    >>> size_text(3_500_000_000), size_text(12_000_000)
    ('3.5 GB', '12 MB')
    """
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
