"""Where the files of a corpus lie: paths, folders, globs and fsspec URLs, and how they are opened.

Looks at names, sizes and times; inside a file only where its checksum is asked for.
"""

import glob
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import IO, Any

from moralscope.core.errors import InputError, MissingExtra
from moralscope.io.tables import FORMS, SUFFIXES

PACKED = {".gz": "gzip", ".zst": "zstd"}
_READ = f"give {FORMS} (CSV and JSONL also as .gz or .zst)"
_DRIVERS = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs",
    "az": "adlfs", "adl": "adlfs", "http": "aiohttp requests", "https": "aiohttp requests",
    "hf": "huggingface_hub", "sftp": "paramiko", "ssh": "paramiko", "smb": "smbprotocol",
    "hdfs": "pyarrow", "webhdfs": "requests", "oci": "ocifs", "oss": "ossfs",
}  # fmt: skip
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)")
_BUFFER = 1 << 20
_STAMPS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")


class ReadLost(OSError):
    """What carries a file failed: the file may be whole, so its rows are not bad rows."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that was found: where, how large, and what tells that it has changed."""

    url: str
    bytes: int
    stamp: str
    asked: bool  # named by itself, not met in a folder or a glob
    sha256: str = ""  # of its content, where it was asked for

    @property
    def packing(self) -> str | None:
        """How the file is compressed, as pyarrow calls it; None when it is not."""
        return PACKED.get(os.path.splitext(_path(self.url))[1].lower())

    @property
    def kind(self) -> str:
        """The suffix that says what the file is, in small letters, without its packing."""
        return _kind(self.url)


def is_url(text: str) -> bool:
    """Say whether fsspec must open it.

    Examples
    --------
    >>> is_url("s3://logs/a.jsonl"), is_url("logs/a.jsonl"), is_url("/logs/a::b.jsonl")
    (True, False, False)
    """
    return _SCHEME.match(text) is not None


def is_corpus(name: str) -> bool:
    """Tell whether only a corpus run reads an input: a folder, a glob, a URL, a packed file."""
    packed = any(name.lower().endswith(f"{one}{two}") for one in SUFFIXES for two in PACKED)
    pattern = _magic(name) and not Path(name).exists()
    return "://" in name or pattern or packed or Path(name).is_dir()


def shown(url: str) -> str:
    """Return a URL as it may be printed and recorded: no password, no signature, in Unicode."""
    if not is_url(url):
        return os.fsencode(url).decode("utf-8", "replace")
    bare = re.sub(r"//[^/@]*@", "//", url)
    query = r"\?.*$" if bare.startswith("http") else r"\?[^/]*=.*$"  # elsewhere ? is a pattern too
    return re.sub(query, "", bare)


def find_files(inputs: Sequence[str]) -> list[FoundFile]:
    """Return the files that inputs name, in their order, a folder's by name, each once."""
    files: dict[str, FoundFile] = {}
    for name in inputs:
        is_far = is_url(name) and not Path(name).exists()
        for file in _find_url(name) if is_far else _find_local(name):
            files.setdefault(file.url, file)
    if not files:
        raise InputError("no input was given", _READ)
    return list(files.values())


def _path(url: str) -> str:
    return url.split("?", 1)[0] if is_url(url) else url


def _kind(name: str) -> str:
    stem, suffix = os.path.splitext(_path(name).lower())
    if suffix not in PACKED:
        return suffix
    inner = os.path.splitext(stem)[1]
    return inner if inner != ".parquet" else suffix  # Parquet is packed inside already


def _readable(name: str) -> bool:
    return _kind(name) in SUFFIXES


def _hidden(below: str) -> bool:
    return any(part.startswith((".", "_")) for part in below.replace("\\", "/").split("/") if part)


def _find_local(name: str) -> Iterator[FoundFile]:
    path = Path(name).expanduser()
    try:
        if path.is_file():
            yield _local(path, asked=True)
            return
        is_folder = path.is_dir()
        if not is_folder and not glob.has_magic(name):
            raise InputError(f"{name} is not there", "check the path")
        tops = [path] if is_folder else map(Path, sorted(glob.glob(str(path), recursive=True)))
        paths = [file for top in tops for file in (_below(top) if top.is_dir() else [top])]
        chosen = [file for file in paths if _readable(file.name)]
        if not chosen:
            raise _nothing(name, "folder" if is_folder else "pattern")
        for file in chosen:
            yield _local(file, asked=False)
    except OSError as error:
        raise _unreadable(name, error) from error


def _below(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if not _hidden(str(path.relative_to(folder))) and path.is_file()
    )


def _local(path: Path, *, asked: bool) -> FoundFile:
    if not _readable(path.name):
        raise InputError(f"{path} is not a table that can be read", _READ)
    stat = path.stat()
    return FoundFile(str(path.absolute()), stat.st_size, str(stat.st_mtime_ns), asked)


def _find_url(url: str) -> Iterator[FoundFile]:
    system, path = open_system(url)
    name = shown(url)
    try:
        if _magic(path) and not url.startswith("http"):
            kept = {
                key: info
                for top, about in sorted(system.glob(path, detail=True).items())
                for key, info in _tree(system, top, about).items()
            }
        else:
            about = system.info(path)
            if about.get("type") != "directory":
                if not _readable(url):
                    raise InputError(f"{name} is not a table that can be read", _READ)
                yield _remote(url, about, asked=True)
                return
            kept = _tree(system, path, about)
    except FileNotFoundError as error:
        raise InputError(f"{name} is not there", "check the address") from error
    except InputError:
        raise
    except Exception as error:  # drivers raise what they like
        raise _unreadable(name, error) from error
    chosen = {key: info for key, info in kept.items() if _readable(key)}
    if not chosen:
        raise _nothing(name, "pattern" if _magic(path) else "folder")
    for key in sorted(chosen):
        yield _remote(str(system.unstrip_protocol(key)), chosen[key], asked=False)


def _tree(system: Any, top: str, about: dict[str, Any]) -> dict[str, Any]:
    if about.get("type") != "directory":
        return {top: about}
    files: dict[str, Any] = system.find(top, detail=True)
    root = str(system._strip_protocol(top)).rstrip("/")
    return {key: info for key, info in files.items() if not _hidden(key[len(root) :])}


def _magic(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _remote(url: str, info: dict[str, Any], *, asked: bool) -> FoundFile:
    stamp = next((str(info[key]) for key in _STAMPS if info.get(key)), "")
    if url.startswith("file://"):
        return _local(Path(open_system(url)[1]), asked=asked)
    if info.get("size") is None:
        raise InputError(f"{shown(url)} does not say how large it is", "copy it here first")
    return FoundFile(url, int(info["size"]), stamp, asked)


def _nothing(name: str, what: str) -> InputError:
    kinds = ", ".join(SUFFIXES)
    return InputError(f"the {what} {name} has no file that can be read ({kinds})", _READ)


def _unreadable(name: str, error: Exception) -> InputError:
    return InputError(
        f"{name} cannot be read ({reason(error)})", "check the address and your rights"
    )


def reason(error: BaseException) -> str:
    """Return what went wrong in one short line, without addresses that hold a secret."""
    system = error.strerror if isinstance(error, OSError) else None
    line = " ".join(str(system or str(error) or type(error).__name__).split())[:160]
    return re.sub(r"//[^/@\s]*@", "//", re.sub(r"\?\S*", "", line))


def open_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it; a missing driver is named."""
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]

    scheme = re.split(r"://|::", url, maxsplit=1)[0].lower()
    try:
        return url_to_fs(url)  # type: ignore[no-any-return]
    except ImportError as error:
        driver = _DRIVERS.get(scheme, f"the fsspec driver for {scheme}")
        raise MissingExtra(f"{scheme}:// needs a driver", f"pip install {driver}") from error
    except ValueError as error:
        raise InputError(f"{shown(url)} has an unknown scheme '{scheme}'", _READ) from error
    except Exception as error:
        raise _unreadable(shown(url), error) from error


class RemoteFile(io.RawIOBase):
    """A file of an fsspec driver whose failures are told apart from damaged content.

    It knows its own place: some drivers give one and the same file to all who open it.
    """

    def __init__(self, file: Any, size: int) -> None:
        self._file, self._size, self._at = file, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        try:
            self._file.seek(self._at)
            data = self._file.read(len(buffer))
        except Exception as error:
            raise ReadLost(reason(error)) from error
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def open_bytes(url: str) -> IO[bytes]:
    """Open a file for reading from any place in it."""
    if not is_url(url):
        return open(url, "rb", buffering=_BUFFER)
    system, path = open_system(url)
    try:
        size = int(system.info(path)["size"])
        file = system.open(path, "rb")
    except Exception as error:
        raise ReadLost(reason(error)) from error
    return io.BufferedReader(RemoteFile(file, size), _BUFFER)


def current_bytes(url: str) -> int:
    """Return how large a file is now."""
    if not is_url(url):
        return os.stat(url).st_size
    system, path = open_system(url)
    try:
        system.invalidate_cache(path)
        return int(system.info(path)["size"])
    except Exception as error:
        raise ReadLost(reason(error)) from error


def file_sha256(url: str) -> str:
    """Return the checksum of what is in a file."""
    digest = sha256()
    with open_bytes(url) as stream:
        while data := stream.read(_BUFFER):
            digest.update(data)
    return digest.hexdigest()


def with_checksums(files: Sequence[FoundFile]) -> list[FoundFile]:
    """Read every file and return it with the checksum of its content."""
    hashed = []
    for file in files:
        try:
            hashed.append(replace(file, sha256=file_sha256(file.url)))
        except OSError as error:
            raise _unreadable(shown(file.url), error) from error
    return hashed


def fingerprint(files: Sequence[FoundFile]) -> str:
    """Return what changes when a file is added, lost, renamed or rewritten.

    Files with a checksum are known by it, others by their time.
    """
    digest = blake2b(digest_size=16)
    for file in files:
        digest.update(f"{shown(file.url)}\0{file.bytes}\0{file.sha256 or file.stamp}\n".encode())
    return digest.hexdigest()
