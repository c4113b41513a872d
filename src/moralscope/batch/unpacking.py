"""Compressed text unpacked beside the run, because blocks need places in a file to start from.

Space is looked at before and while it is written; a half file is never taken for a whole one.
"""

import contextlib
import os
import shutil
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.batch.finding import FoundFile, Lost, open_bytes, reason, shown
from moralscope.core.errors import InputError, MoralscopeError

if TYPE_CHECKING:
    from collections.abc import Sequence

_PIECE = 8 << 20
_LOOKED_AT = 4 << 20  # bytes from which the size of the whole is estimated
_SPARE = 64 << 20
_REMEDY = "free space or unpack the files elsewhere and give those"


def unpack(files: "Sequence[FoundFile]", folder: Path) -> dict[str, Path]:
    """Unpack what is compressed; return where each such file now lies, by its address.

    A file that was unpacked before and has not changed is taken as it is.
    """
    packed = [file for file in files if file.packing]
    places = {file.url: _place(file, folder) for file in packed}
    missing = [file for file in packed if not places[file.url].exists()]
    if missing:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritten(folder, error) from error
        _check_space(missing, folder)
    for file in missing:
        _unpack_one(file, places[file.url])
    return places


def _place(file: FoundFile, folder: Path) -> Path:
    name = f"{file.url}\0{file.bytes}\0{file.stamp}".encode()
    return folder / f"{blake2b(name, digest_size=12).hexdigest()}{file.kind}"


def _check_space(files: "Sequence[FoundFile]", folder: Path) -> None:
    needed = sum(int(file.bytes * _ratio(file)) for file in files)
    free = shutil.disk_usage(folder).free
    if needed + _SPARE > free:
        raise InputError(
            f"unpacking {len(files)} file{'s' * (len(files) > 1)} needs about {_size(needed)} and "
            f"{folder} has {_size(free)}",
            _REMEDY,
        )


def _ratio(file: FoundFile) -> float:
    """Return how much larger the start of a file gets."""
    with _opened(file) as (raw, stream):
        size = 0
        while size < _LOOKED_AT and (data := stream.read(1 << 18)):
            size += len(data)
        return float(size / max(1, min(raw.tell(), file.bytes)))


@contextlib.contextmanager
def _opened(file: FoundFile) -> Any:
    import pyarrow as pa

    try:
        with open_bytes(file.url) as raw:
            stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), file.packing)
            yield raw, stream
    except Lost as error:
        raise InputError(f"{shown(file.url)} cannot be read ({error})", "check it") from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = f"{shown(file.url)} is no whole {file.packing} file ({reason(error)})"
        raise InputError(
            problem, "fetch it again, or unpack what can be saved and give that"
        ) from error


def _unpack_one(file: FoundFile, place: Path) -> None:
    half = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        with _opened(file) as (_, stream), half.open("wb") as out:
            while data := stream.read(_PIECE):
                if shutil.disk_usage(place.parent).free < len(data) + _SPARE:
                    raise InputError(f"{place.parent} is full while unpacking", _REMEDY)
                out.write(data)
        half.replace(place)
    except OSError as error:
        raise _unwritten(place.parent, error) from error
    finally:
        half.unlink(missing_ok=True)


def _unwritten(folder: Path, error: OSError) -> MoralscopeError:
    return MoralscopeError(f"{folder} could not be written ({reason(error)})", _REMEDY)


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
