"""Checksums of files on disk: is a file the one its entry names? Repairs nothing."""

import hashlib
from pathlib import Path

from moralscope.core.errors import ChecksumMismatch, StoreError
from moralscope.models.store._entries import ModelEntry, PinnedFile


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
    return path.stat().st_size == file.size and sha256_of(path) == file.sha256


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
