"""Where a training run lies on disk, and what its base is called: shared by experts and texts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from moralscope.core.errors import ChecksumMismatch, InputError
from moralscope.models.store import Store, sha256_of

CHECKPOINT = "training.safetensors"


@contextmanager
def training_folder(out: Path) -> Iterator[Path]:
    """Make the folder of a run; what only resuming needs is removed once all is written.

    A folder that holds anything but an unfinished run is refused: nothing is overwritten.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        names = [path.name for path in out.iterdir()]
    except OSError as error:
        problem = f"{out} is no folder to write to ({error.strerror})"
        raise InputError(problem, "choose another --to") from error
    if names and not any(CHECKPOINT in name for name in names):
        raise InputError(f"{out} holds files already", "give --to a new folder, or empty this one")
    yield out
    for left in out.glob(f"*{CHECKPOINT}*"):  # also what a killed run was writing
        left.unlink()


def named_base(name: str, folder: Path, checksum: str, base_is: str | None) -> tuple[str, str]:
    """Return a base's name, which finds it again, and its checksum.

    `base_is` says that the folder is a copy of that model of the store: its files must bear it out.
    """
    if base_is is None:
        return (str(folder.resolve()) if Path(name).expanduser().is_dir() else name), checksum
    entry = Store().entry(base_is)
    if entry.sha256 not in _known_checksums(folder, entry.weights):
        raise ChecksumMismatch(
            f"{folder} is no copy of '{base_is}'", "copy the store's folder, or leave --base-is out"
        )
    return base_is, entry.sha256


def _known_checksums(folder: Path, weights: str) -> list[str]:
    """Return the checksum of the weights, and of the file that they were converted from.

    A copy in half precision names its source as conversions do: `conversion.json`, `source`.
    """
    found = [sha256_of(folder / weights)] if (folder / weights).is_file() else []
    try:
        note = json.loads((folder / "conversion.json").read_text("utf-8"))
        return [*found, str(note["source"])]
    except (OSError, ValueError, KeyError, TypeError):
        return found
