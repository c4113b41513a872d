"""Files written whole or not at all: run records, CSV, and cells that a spreadsheet cannot run."""

import contextlib
import csv
import errno
import io
import json
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError, MoralscopeError
from moralscope.core.protocols import Encoder
from moralscope.core.records import ModelRef, RunRecord, to_plain, values_of

_MAX_BYTES = 400_000_000  # of a run record
# A spreadsheet runs a cell that begins so as a formula; the full-width forms too.
_FORMULA = re.compile("^'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")


@contextlib.contextmanager
def half_file(
    path: Path,
    remedy: str = "free some space or choose another place",
    kind: type[MoralscopeError] = MoralscopeError,
) -> Iterator[Path]:
    """Give a place beside the file, to put into its place when written: no half file is left."""
    half = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        yield half
        half.replace(path)
    except OSError as error:
        raise kind(f"{path} could not be written ({error.strerror})", remedy) from error
    finally:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)


def write_whole(path: Path, parts: Iterable[bytes], *, private: bool = False) -> None:
    """Write a file whole or not at all, also on a full disk.

    A private file, of what people answered or asked, can be read by its owner only.
    """
    rights = 0o600 if private else 0o666  # less what the umask takes
    with half_file(path) as half:
        half.unlink(missing_ok=True)
        made = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, rights)
        with open(made, "wb") as stream:
            stream.writelines(parts)
            stream.flush()
            os.fsync(stream.fileno())


def file_size(path: Path) -> int:
    """Return the size of a regular file; others never end, or wait until somebody writes.

    Raises
    ------
    OSError
        It is not there, or it is a folder, a pipe or a device.
    """
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        kind = "a folder" if stat.S_ISDIR(state.st_mode) else "a pipe or a device"
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")
    return state.st_size


def read_tensors(
    path: Path, max_bytes: int, refused: InputError
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arrays and the metadata of a small safetensors file; nothing in it is executed.

    `refused` is raised where it is another kind of file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        if file_size(path) > max_bytes:
            raise InputError(f"{path} is too large for what it should hold", refused.remedy)
        with safe_open(path, framework="numpy") as stream:
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            return arrays, stream.metadata() or {}
    except OSError as error:
        reason = error.strerror or "is it a folder?"
        raise InputError(f"{path} cannot be read ({reason})", refused.remedy) from error
    except SafetensorError as error:
        raise refused from error


def csv_bytes(rows: Iterable[Iterable[Any]]) -> bytes:
    r"""Write rows as CSV.

    Examples
    --------
    >>> csv_bytes([["a", 1], ["b, c", None]])
    b'a,1\r\n"b, c",\r\n'
    """
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows(rows)
    return stream.getvalue().encode()


def escape_cell(text: str) -> str:
    """Keep a spreadsheet from running a text: an apostrophe goes before = + - @.

    Examples
    --------
    >>> escape_cell("=1+1"), escape_cell("Jo waits.")
    ("'=1+1", 'Jo waits.')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def model_refs(encoders: Sequence[Encoder]) -> list[ModelRef]:
    """Name the weights that a run used."""
    return [ModelRef(encoder.name, encoder.checksum) for encoder in encoders]


def record_lines(record: RunRecord) -> Iterator[str]:
    """Yield the record as JSON text, one result a line, without a copy of all results."""
    yield "{" + f'"schema": {json.dumps(record.schema)}'
    head = ("job", "version", "created", "seed", "config", "models")
    for name, value in values_of(record, *head).items():
        yield f',\n "{name}": {_json(value)}'
    yield ',\n "results": ['
    for number, result in enumerate(record.results):
        yield (",\n  " if number else "\n  ") + _json(result)
    yield "\n ]"
    for name, value in values_of(record, "statistics", "warnings").items():
        yield f',\n "{name}": {_json(value)}'
    yield "}\n"


def check_writable(path: Path) -> None:
    """Refuse a place that cannot be written before any work is done."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written", "give a file in a folder that exists")
    if not os.access(path.absolute().parent, os.W_OK):
        raise InputError(f"{path} cannot be written", "give a file in a folder you may write to")


def write_record(record: RunRecord, path: Path) -> None:
    """Write the record whole or not at all."""
    path = Path(path)  # people give texts, too
    check_writable(path)
    write_whole(path, (line.encode() for line in record_lines(record)))


def _json(value: Any) -> str:
    return json.dumps(to_plain(value), ensure_ascii=True, allow_nan=False)


def read_run(path: Path) -> Any:
    """Read a run record in its plain form; what is no JSON is refused in one line."""
    remedy = "give a run record saved with --out"
    try:
        size = file_size(path)
        if size > _MAX_BYTES:
            raise InputError(f"{path} is too large for a run record ({size / 1e6:,.0f} MB)", remedy)
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})", remedy) from error
    if not content.strip():
        raise InputError(f"{path} is empty", remedy)
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        what = "ends in the middle" if cut else "is not JSON"
        raise InputError(f"{path} {what} (line {error.lineno})", remedy) from None
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise InputError(f"{path} is not JSON", remedy) from None
