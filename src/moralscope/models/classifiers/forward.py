"""Tokenised pairs through a classifier's network: batches of like length, in order.

Used by the learner when it looks at dev and by experts that are loaded; nothing is trained here.
"""

import contextlib
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from moralscope.models.classifiers.module import padded
from moralscope.models.encoders.pipeline import like_length_batches
from moralscope.models.fastcpu.threads import TOKENS_PER_CORE

_GPU_TOKENS = 65536


def sigmoid(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return 1 / (1 + e^-x), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(values))), dtype=np.float32)


def run_network(
    module: Any, rows: Sequence[Sequence[int]], padding: int, batch_tokens: int
) -> NDArray[np.float32]:
    """Return the logits of tokenised pairs, in order; batches hold pairs of like length."""
    import torch

    if module.known is not None:
        pooled = torch.tensor(pooled_rows(module, rows, padding)).to(module.head.weight.device)
        with torch.inference_mode():
            logits: NDArray[np.float32] = module.head(pooled).cpu().numpy()
        return logits
    return _run(module, rows, padding, batch_tokens)


def pooled_rows(module: Any, rows: Sequence[Sequence[int]], padding: int) -> NDArray[np.float32]:
    """Return what the last layer reads of tokenised pairs; a body that `known` holds is still."""
    known = {} if module.known is None else module.known
    new = [row for row in dict.fromkeys(tuple(row) for row in rows) if row not in known]
    if new:
        made = _run(module, new, padding, batch_tokens(module), body_alone=True)
        known |= dict(zip(new, made, strict=True))
    return np.array([known[tuple(row)] for row in rows], dtype=np.float32)


def _run(
    module: Any,
    rows: Sequence[Sequence[int]],
    padding: int,
    batch_tokens: int,
    *,
    body_alone: bool = False,
) -> NDArray[np.float32]:
    import torch

    device = module.head.weight.device
    run = module.pooled if body_alone else module
    width = module.head.in_features if body_alone else module.head.out_features
    outputs = np.empty((len(rows), width), dtype=np.float32)
    for batch in like_length_batches([len(row) for row in rows], batch_tokens):
        ids, mask = padded([rows[index] for index in batch], padding, device)
        with torch.inference_mode(), safe_precision(device):
            outputs[batch] = run(ids, mask).float().cpu().numpy()
    return outputs


def batch_tokens(module: Any) -> int:
    """Return how many tokens a batch should hold on the module's device."""
    import torch

    if module.head.weight.device.type == "cuda":
        return _GPU_TOKENS
    return TOKENS_PER_CORE * min(int(torch.get_num_threads()), 16)


def safe_precision(device: Any) -> contextlib.AbstractContextManager[Any]:
    """Half precision on a GPU that has bfloat16; a CPU computes in float32."""
    import torch

    if device.type == "cuda" and torch.cuda.is_bf16_supported():
        return cast(contextlib.AbstractContextManager[Any], torch.autocast("cuda", torch.bfloat16))
    return contextlib.nullcontext()
