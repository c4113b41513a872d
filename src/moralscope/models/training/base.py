"""What a run starts from: a base, all of whose weights or an adapter on it are trained."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.core.errors import ChecksumMismatch
from moralscope.core.options import Option
from moralscope.models.adapters import AdapterShape
from moralscope.models.store import Store, sha256_of
from moralscope.models.training.loop import Schedule


@dataclass(frozen=True, kw_only=True)
class ModelTraining(Schedule):
    """Settings that classifiers and generators share.

    Examples
    --------
    >>> ModelTraining(rank=8).adapter.rank, ModelTraining(weights="all").adapter
    (8, None)
    """

    weights: Annotated[
        str, Option("An adapter (LoRA), or all weights.", choices=("adapter", "all"))
    ] = "adapter"
    rank: Annotated[int, Option("Rank of the adapter.", least=1, most=256)] = 16
    max_length: Annotated[int, Option("Tokens that are read.", least=8, most=512)] = 128
    start: Annotated[
        tuple[Path, ...],
        Option("Folders of adapters to go on from; of several classifiers: from their mean."),
    ] = ()

    @property
    def adapter(self) -> AdapterShape | None:
        """The adapter's shape; None trains every weight."""
        return AdapterShape(self.rank) if self.weights == "adapter" else None


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
