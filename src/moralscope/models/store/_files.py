"""Files on disk: checksums, work folders, how far a pull is, and weights that ship with us.

Says whether a file is the one its entry names; repairs nothing.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Protocol

from moralscope.core.errors import ChecksumMismatch, StoreError
from moralscope.models.store._entries import ModelEntry, PinnedFile


class Progress(Protocol):
    """Called several times a second; a new `label` starts a new count."""

    def __call__(self, label: str, done_bytes: int, total_bytes: int, /) -> None: ...


def silent(_label: str, _done_bytes: int, _total_bytes: int, /) -> None:
    """Report nothing."""


def sha256_of(path: Path) -> str:
    """Return the file's sha256 in hexadecimal.

    Examples
    --------
    >>> import os
    >>> sha256_of(Path(os.devnull))[:8]
    'e3b0c442'
    """
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def is_pinned(path: Path, file: PinnedFile) -> bool:
    """Tell whether `path` holds exactly `file`; the size is looked at first."""
    found = path.stat()
    if found.st_size != file.size:
        return False
    return _known_sha256(path, found.st_ino, found.st_mtime_ns) == file.sha256


@lru_cache(maxsize=256)
def _known_sha256(path: Path, _inode: int, _changed: int) -> str:
    """Return a file's checksum, read once a process while the file stays as it is.

    An audit reads one base twice, for the encoder and for the experts: 0.3 s a time for mpnet.
    """
    return sha256_of(path)


def has_all_sizes(entry: ModelEntry, folder: Path) -> bool:
    """Tell whether every file of `entry` is in `folder` with its size. Reads no content."""
    try:
        return all((folder / file.path).stat().st_size == file.size for file in entry.files)
    except OSError:
        return False


def check_files(entry: ModelEntry, folder: Path) -> None:
    """Raise unless every file of `entry` in `folder` has its pinned checksum."""
    again = f"run 'moralscope models pull {entry.name} --force' to fetch it again"
    for file in entry.files:
        try:
            sound = is_pinned(folder / file.path, file)
        except FileNotFoundError:
            raise StoreError(f"{file.path} of {entry.name} is missing in {folder}", again) from None
        except OSError as error:
            problem = f"{file.path} of {entry.name} cannot be read ({error.strerror})"
            raise StoreError(problem, f"check {folder / file.path}") from error
        if not sound:
            problem = f"{file.path} of {entry.name} in {folder} does not have its pinned checksum"
            raise ChecksumMismatch(problem, again)


PREFIX = "work-"


@contextmanager
def work_folder(staging: Path) -> Iterator[Path]:
    """Make a folder of its own in `staging` and remove it whatever happens."""
    work = Path(tempfile.mkdtemp(prefix=PREFIX, dir=staging))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def sweep(staging: Path) -> None:
    """Remove the work folders that a killed process left in `staging`."""
    for stale in staging.glob(f"{PREFIX}*"):
        shutil.rmtree(stale, ignore_errors=True)


def shipped_folder(name: str) -> Path:
    """Return the folder of shipped weights.

    Raises
    ------
    StoreError
        When this installation lacks them.
    """
    folder = Path(str(resources.files("moralscope"))) / "weights" / name
    if not folder.is_dir():
        raise StoreError(
            f"the shipped weights '{name}' are not in this installation",
            "install moralscope again, or give a folder of your own",
        )
    return folder
