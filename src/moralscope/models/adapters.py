"""Low-rank adapters (LoRA, Hu et al. 2021): small, in peft's own file layout.

`expert.json` beside the weights says which base they belong to (`base`, `base_sha256`) and which
`markers` were added to its vocabulary, in order. Adapters are put on a model to be trained, or
checked against their base and merged into it. Trains nothing.

An adapter may lie there in 8 bits: then each of its matrices is whole numbers from -127 to 127 and
has, beside it, one scale for each of its `rank` rows or columns. peft cannot read such a file.
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import InputError, StoreError, error_line
from moralscope.core.records import values_of
from moralscope.io.documents import read_document
from moralscope.models.hugging_face import check_names
from moralscope.models.store import sha256_of

_WEIGHTS = "adapter_model.safetensors"
_CONFIG = "adapter_config.json"
_CARD = "expert.json"
_INSIDE, _FIRST, _SECOND = "base_model.model.", ".lora_A.weight", ".lora_B.weight"  # peft's names
_PLAIN_LORA = {  # settings of peft that change nothing in W + (alpha / r) B A
    *("peft_type", "peft_version", "task_type", "base_model_name_or_path", "revision"),
    *("inference_mode", "auto_mapping", "r", "lora_alpha", "lora_dropout", "init_lora_weights"),
    *("target_modules", "exclude_modules", "bias", "megatron_core", "qalora_group_size"),
    *("layers_to_transform", "layers_pattern"),
}
_SCALE = ".scale"  # of a matrix in 8 bits
_HEADS = ("pooler", "lm_head", "score", "classifier")  # linear layers that adapters leave alone


def with_adapter(body: Any, rank: int, new_tokens: Sequence[int] = ()) -> Any:
    """Freeze a model and put a trainable adapter on it; rows of `new_tokens` are trained too.

    Every linear layer gets one, with alpha = 2·rank, and without dropout: the body's own
    regularises, and one more costs a kernel a layer.
    """
    import torch
    from peft import LoraConfig, get_peft_model

    modules = dict(body.named_modules())
    names = [
        name
        for name, module in modules.items()
        if isinstance(module, torch.nn.Linear) and not any(part in name for part in _HEADS)
    ]
    if not names:
        raise InputError("this base has no linear layers to adapt", "give --set weights=all")
    config = LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=0.0,
        target_modules=sorted({name.rsplit(".", 1)[-1] for name in names}),
        exclude_modules=["pooler.dense"] if "pooler.dense" in modules else None,
        trainable_token_indices=list(new_tokens) or None,
    )
    return get_peft_model(body, config)


def load_adapter(body: Any, folder: Path, *, trainable: bool = False) -> Any:
    """Put a saved adapter on a model: merged into its weights, or still trainable."""
    from peft import (
        PeftConfig,
        get_peft_model,
        get_peft_model_state_dict,
        set_peft_model_state_dict,
    )

    saved = read_adapter_tensors(folder)
    config = PeftConfig.from_pretrained(str(folder), local_files_only=True)
    config.inference_mode = not trainable
    with warnings.catch_warnings():  # what is missing is refused below
        warnings.simplefilter("ignore")
        model = get_peft_model(body, config)
        set_peft_model_state_dict(model, dict(saved))
    # An adapter of which peft left a tensor out, or made one up, is refused.
    state = get_peft_model_state_dict(model, save_embedding_layers=False)
    shapes = {name: tuple(tensor.shape) for name, tensor in saved.items()}
    check_names({name: tuple(tensor.shape) for name, tensor in state.items()}, shapes)
    return model if trainable else model.merge_and_unload(safe_merge=True)


def pack_adapter(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors of an adapter in 8 bits, each with its scales."""
    packed = {}
    for name, tensor in state.items():
        size = tensor.float().abs().amax(int(tensor.shape[0] < tensor.shape[1]), keepdim=True)
        scale = size.clamp(min=1e-12) / 127
        packed[name] = (tensor.float() / scale).round().char()
        packed[f"{name}{_SCALE}"] = scale
    return packed


def read_adapter_tensors(folder: Path) -> dict[str, Any]:
    """Return the tensors of a saved adapter as floating-point numbers."""
    from safetensors.torch import load_file

    saved: dict[str, Any] = load_file(folder / _WEIGHTS)
    for name in [name for name in saved if name.endswith(_SCALE)]:
        scale, matrix = saved.pop(name), name.removesuffix(_SCALE)
        saved[matrix] = saved[matrix] * scale
    return saved


def merge_tensors(tensors: Mapping[str, Any], folder: Path) -> Mapping[str, Any] | None:
    """Return named tensors with a saved adapter added, W + (alpha / r) B A, without peft.

    None for an adapter that is more than plain LoRA: peft knows what to do with it. One that does
    not fit the tensors is a `ValueError`.
    """
    config = json.loads((folder / _CONFIG).read_text("utf-8"))
    more = {name for name, value in config.items() if value} - _PLAIN_LORA
    if more or config.get("bias", "none") != "none" or config["init_lora_weights"] is not True:
        return None
    if not isinstance(config["target_modules"], list):  # a pattern
        return None
    saved = read_adapter_tensors(folder)
    wanted = tuple(f".{name}" for name in config["target_modules"])
    left_out = tuple(config.get("exclude_modules") or ())
    numbers = config.get("layers_to_transform")
    numbers = [numbers] if isinstance(numbers, int) else numbers
    shapes = {}
    for name, tensor in tensors.items():
        layer = name.removesuffix(".weight")
        if layer == name or not layer.endswith(wanted) or layer.endswith(left_out):
            continue
        if numbers and not any(f".{number}." in layer for number in numbers):
            continue
        out, into = tensor.shape
        shapes[f"{_INSIDE}{layer}{_FIRST}"] = (config["r"], into)
        shapes[f"{_INSIDE}{layer}{_SECOND}"] = (out, config["r"])
    check_names(shapes, {name: tuple(tensor.shape) for name, tensor in saved.items()})
    return _Merged(tensors, saved, config["lora_alpha"] / config["r"])


class _Merged(Mapping[str, Any]):
    """Tensors of which some have an adapter; each is added when it is asked for, and not kept."""

    def __init__(self, base: Mapping[str, Any], adapter: Mapping[str, Any], scale: float) -> None:
        self._base, self._adapter, self._scale = base, adapter, scale

    def __getitem__(self, name: str) -> Any:
        weight, layer = self._base[name], f"{_INSIDE}{name.removesuffix('.weight')}"
        first = self._adapter.get(f"{layer}{_FIRST}")
        if first is None or not name.endswith(".weight"):
            return weight
        # In place: for mpnet a copy more of every matrix is half a second.
        second = self._adapter[f"{layer}{_SECOND}"]
        return (second.float() @ first.float()).mul_(self._scale).add_(weight)

    def __iter__(self) -> Iterator[str]:
        return iter(self._base)

    def __len__(self) -> int:
        return len(self._base)


@dataclass(frozen=True, slots=True)
class _AdapterCard:
    """What an `expert.json` says of an adapter on a language model, among other things."""

    base: str = ""
    base_sha256: str = ""
    markers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all(self.markers):
            raise ValueError("has an empty marker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter(_AdapterCard):
    """An adapter's folder and what its card says."""

    folder: Path
    name: str
    sha256: str

    def check_base(self, name: str, checksum: str) -> None:
        """Raise `StoreError` if the adapter was trained on another base."""
        if self.base_sha256 and self.base_sha256 != checksum:
            raise StoreError(
                f"the adapter {self.folder} was trained on {self.base or 'another base'} "
                f"({self.base_sha256[:12]}…), not on {name} ({checksum[:12]}…)",
                f"load it on {self.base or 'its own base'}",
            )


def is_adapter(folder: Path) -> bool:
    """Tell whether a folder holds an adapter and no whole model."""
    return (folder / _CONFIG).is_file()


def read_adapter(folder: Path) -> Adapter:
    """Read an adapter's card; a folder without one is taken as plain peft weights."""
    for needed in (_CONFIG, _WEIGHTS):
        if not (folder / needed).is_file():
            raise StoreError(f"{folder} holds no {needed}", "give a folder in peft's layout")
    files = [path for path in (_CONFIG, _WEIGHTS, _CARD) if (folder / path).is_file()]
    lines = "".join(f"{path} {sha256_of(folder / path)}\n" for path in files)
    card = _AdapterCard()
    if _CARD in files:
        document = read_document(folder / _CARD, "the card", "give the adapter's folder")
        try:
            values = document.json_values()
            if not isinstance(values, dict):  # every field has a default: [] would pass
                raise InputError("it is not a mapping", "restore it")
            card = decode(_AdapterCard, values)
        except InputError as error:
            problem = f"{folder / _CARD} is not the card of an adapter ({error.problem})"
            raise StoreError(problem, "restore the folder") from error
    return Adapter(
        folder=folder,
        name=folder.resolve().name,
        sha256=sha256(lines.encode()).hexdigest(),
        **values_of(card),
    )


def add_markers(tokenizer: Any, adapter: Adapter) -> None:
    """Add the adapter's markers behind the tokenizer's own vocabulary, in order."""
    first = len(tokenizer)
    tokenizer.add_tokens(list(adapter.markers), special_tokens=True)
    ids = tokenizer.convert_tokens_to_ids(list(adapter.markers))
    if ids != list(range(first, first + len(ids))):
        raise StoreError(
            f"the markers of {adapter.folder} are in the base's vocabulary already",
            "load the adapter on the base it was trained on",
        )


def merge(model: Any, adapter: Adapter, name: str, vocabulary: int) -> Any:
    """Return `model` with the adapter's weights added, as fast as the bare model."""
    if vocabulary > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(vocabulary, mean_resizing=False)
    try:
        merged = load_adapter(model, adapter.folder)
    except Exception as error:  # peft raises many kinds; each means that they do not fit
        problem = f"the adapter {adapter.folder} does not fit {name} ({error_line(error)})"
        raise StoreError(problem, "load it on the base it was trained on") from error
    merged.tie_weights()
    return merged
