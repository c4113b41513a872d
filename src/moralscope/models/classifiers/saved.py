"""Experts on disk: a peft adapter (or a whole model), a head, settings and a card.

    expert.json                 settings: base and its checksum, tasks, labels, temperatures
    adapter_config.json, adapter_model.safetensors     the adapter, in peft's own layout
    model/                      instead of an adapter, when every weight was trained
    head.safetensors            the last layer
    README.md                   the card

A folder that names another base is refused. Nothing is ever unpickled.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import ChecksumMismatch, InputError
from moralscope.io.files import write_whole
from moralscope.models.adapters import pack_adapter
from moralscope.models.classifiers.module import KINDS

SCHEMA = "moralscope.experts/1"
SETTINGS = "expert.json"
HEAD = "head.safetensors"
ADAPTER = "adapter_model.safetensors"
_REMEDY = (
    "give 'mpnet', 'minilm' or a folder that 'moralscope stories train' or 'rules train' wrote"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertSettings:
    """What an `expert.json` says."""

    base: str
    base_sha256: str
    tasks: Mapping[str, tuple[str, ...]]
    max_length: int = 128
    temperatures: Mapping[str, float] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)  # of tasks that are not of kind "one"
    thresholds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # of kind "many"
    retrieval: bool = False  # whether the body's vectors were trained to find texts

    def __post_init__(self) -> None:
        if not set(self.kinds.values()) <= set(KINDS):
            raise ValueError(f"has a kind of task that is none of {', '.join(KINDS)}")
        if any(len(self.thresholds[task]) != len(self.tasks[task]) for task in self.thresholds):
            raise ValueError("has thresholds that are not one a label")


def read_settings(folder: Path) -> ExpertSettings:
    """Read a folder's settings; what is not of ours is refused in one line."""
    path = folder / SETTINGS
    try:
        if not path.is_file():  # a pipe would never end
            raise FileNotFoundError(path)
        table = json.loads(path.read_text("utf-8"))
        if table.pop("schema") != SCHEMA:
            raise KeyError("schema")
        return decode(ExpertSettings, table, exact=True)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{folder} holds no experts of ours", _REMEDY) from error
    except InputError as error:
        problem = f"{folder} holds no experts of ours ({SETTINGS}: {error.problem})"
        raise InputError(problem, _REMEDY) from error


def folder_sha256(folder: Path) -> str:
    """Return one checksum over everything that decides a probability."""
    digest = sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".json", ".safetensors"} and path.is_file():
            digest.update(f"{path.relative_to(folder).as_posix()} ".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def check_base(settings: ExpertSettings, folder: Path, checksum: str) -> None:
    """Refuse experts that were trained on another base than the one at hand."""
    if settings.base_sha256 != checksum:
        raise ChecksumMismatch(
            f"the experts in {folder} were trained on '{settings.base}' "
            f"({settings.base_sha256[:12]}…) and the base at hand is {checksum[:12]}…",
            f"load them on their own base '{settings.base}'",
        )


def save_experts(
    folder: Path,
    network: Any,
    settings: ExpertSettings,
    tokenizer: Any,
    readme: str,
    *,
    eight_bits: bool = False,
) -> None:
    """Write a trained network; the settings come last, so a folder without them is unfinished."""
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    (folder / SETTINGS).unlink(missing_ok=True)
    if hasattr(network.body, "peft_config"):
        save_adapter(folder, network.body, eight_bits=eight_bits)
    else:
        shutil.rmtree(folder / "model", ignore_errors=True)
        network.body.save_pretrained(folder / "model", safe_serialization=True)
        tokenizer.save_pretrained(folder / "model")
    head = {
        name: value.detach().cpu().contiguous() for name, value in network.head.state_dict().items()
    }
    write_whole(folder / HEAD, [save(head)])
    write_whole(folder / "README.md", [readme.encode()])
    text = json.dumps({"schema": SCHEMA, **asdict(settings)}, indent=1)
    write_whole(folder / SETTINGS, [text.encode()])


def save_adapter(folder: Path, body: Any, *, eight_bits: bool = False) -> None:
    """Write an adapter in peft's layout, in half precision or, for us alone, in 8 bits."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save

    state = get_peft_model_state_dict(body, save_embedding_layers=False)
    half = {name: value.detach().half().cpu().contiguous() for name, value in state.items()}
    write_whole(folder / ADAPTER, [save(pack_adapter(half) if eight_bits else half)])
    config = body.peft_config["default"].to_dict()
    config["base_model_name_or_path"] = None  # expert.json names the base; a path is this machine's
    config["inference_mode"] = True
    config = {
        name: sorted(value) if isinstance(value, set) else value for name, value in config.items()
    }
    text = json.dumps(config, indent=1, default=str, sort_keys=True)
    write_whole(folder / "adapter_config.json", [text.encode()])
