"""A training run on disk: its folder, and one checkpoint, written whole and never of another run.

All that a run needs to go on is in one safetensors file, so that a kill between two files cannot
leave weights of one step beside moments of another.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import values_of
from moralscope.io.files import write_whole

CHECKPOINT = "training.safetensors"
_SCHEMA = "moralscope.checkpoint/2"
_ABOUT = ("key", "step", "loss", "history")
_TENSORS = ("weights", "best", "moments")


@contextmanager
def training_folder(out: Path) -> Iterator[Path]:
    """Make the folder of a run; what only resuming needs is removed once all is written.

    A folder that holds anything but an unfinished run is refused: nothing is overwritten.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        names = [path.name for path in out.iterdir()]
    except OSError as error:
        problem = f"{out} is not a folder to write to ({error.strerror})"
        raise InputError(problem, "choose another --to") from error
    if names and not any(CHECKPOINT in name for name in names):
        raise InputError(f"{out} holds files already", "give --to a new folder, or empty this one")
    yield out
    for left in out.glob(f"*{CHECKPOINT}*"):  # also what a killed run was writing
        left.unlink()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything a run needs to go on: weights, the best so far, the optimizer's moments."""

    key: Mapping[str, Any]  # names the run
    step: int
    loss: float | None  # the running one, of an epoch that is under way
    history: Mapping[str, Any]
    weights: Mapping[str, Any]
    best: Mapping[str, Any]
    moments: Mapping[str, Any]


def write_checkpoint(path: Path, state: Checkpoint) -> None:
    """Put the run on disk in place of the one before."""
    from safetensors.torch import save

    tensors = {
        f"{part}/{name}": value.detach().cpu().contiguous()
        for part in _TENSORS
        for name, value in getattr(state, part).items()
    }
    about = json.dumps(values_of(state, *_ABOUT))
    write_whole(path, [save(tensors, {"schema": _SCHEMA, "about": about})])


def read_checkpoint(path: Path, key: Mapping[str, Any]) -> Checkpoint | None:
    """Return the run, None when there is none; one of other settings or data is refused."""
    if not path.is_file():
        return None
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            saved = json.loads((file.metadata() or {})["about"])
            about: dict[str, Any] = {name: saved[name] for name in _ABOUT}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise InputError(f"{path} is not our checkpoint", "delete it to start again") from error
    if about["key"] != json.loads(json.dumps(dict(key))):
        raise InputError(
            f"{path} belongs to a run with other settings, data or base",
            "give the same settings to resume, or delete it to start again",
        )
    parts: dict[str, Any] = {part: {} for part in _TENSORS}
    for name, value in tensors.items():
        part, _, rest = name.partition("/")
        parts[part][rest] = value
    return Checkpoint(**about, **parts)
