"""Low-rank adapters (LoRA, Hu et al. 2021) through peft: small, in peft's own file layout."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError

_HEADS = ("pooler", "lm_head", "score", "classifier")  # linear layers that adapters leave alone


@dataclass(frozen=True, slots=True)
class AdapterShape:
    """Rank, scale (alpha = 2·rank unless given) and dropout of an adapter on every linear layer.

    Examples
    --------
    >>> AdapterShape(8).rank
    8
    """

    rank: int = 16
    alpha: int | None = None
    dropout: float = 0.0  # the body's own dropout regularises; this one costs a kernel a layer


def with_adapter(body: Any, shape: AdapterShape, new_tokens: Sequence[int] = ()) -> Any:
    """Freeze a model and put a trainable adapter on it; rows of `new_tokens` are trained too."""
    import torch
    from peft import LoraConfig, get_peft_model

    names = [
        name
        for name, module in body.named_modules()
        if isinstance(module, torch.nn.Linear) and not any(part in name for part in _HEADS)
    ]
    if not names:
        raise InputError("this base has no linear layers to adapt", "train every weight (--full)")
    config = LoraConfig(
        r=shape.rank,
        lora_alpha=shape.alpha or 2 * shape.rank,
        lora_dropout=shape.dropout,
        target_modules=sorted({name.rsplit(".", 1)[-1] for name in names}),
        exclude_modules=["pooler.dense"] if _has(body, "pooler.dense") else None,
        trainable_token_indices=list(new_tokens) or None,
    )
    return get_peft_model(body, config)


def load_adapter(body: Any, folder: Path, *, trainable: bool = False) -> Any:
    """Put a saved adapter on a model: merged into its weights, or still trainable."""
    from peft import PeftModel

    found = PeftModel.from_pretrained(
        body, str(folder), is_trainable=trainable, local_files_only=True
    )
    return found if trainable else found.merge_and_unload(safe_merge=True)


def _has(body: Any, name: str) -> bool:
    return any(found == name for found, _ in body.named_modules())
