"""The network of a set of experts: one transformer body, one linear layer with a slice a task.

Input is <CLS> grounding <SEP> target <SEP> (a bare text has no grounding), the body's token rows
are averaged, and every task reads its own columns of the last layer. So one body serves all tasks
in one pass. A base is a model of the store, a local folder, a GGUF file, or a hub id.

A decoder (Qwen, Llama, …) reads from left to right, so its last token alone has seen everything. It
gets words in place of special tokens, the text first: one text, read once, can be set beside many
rules. Its row of the last token is what tasks read.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from moralscope.models.encoders.pipeline import like_length_batches
from moralscope.models.fastcpu.threads import TOKENS_PER_CORE
from moralscope.models.hugging_face import (
    find_folder,
    folder_checksum,
    hub_folder,
    load_model,
    loading_errors,
    set_up_transformers,
)
from moralscope.models.store import Progress, Store
from moralscope.models.windows import Pair, sound

KINDS = ("one", "many", "scale")
_GPU_TOKENS = 65536
_GPU_LEAST = 8192  # with fewer, a GPU waits for its orders: padding costs less than a batch more
_FRAME = {"text": "Text: ", "rule": "\nRule: ", "judgment": "\nJudgment:"}  # of a decoder


@dataclass(frozen=True, slots=True)
class Slices:
    """Which columns of the last layer belong to which task; a tied task has another one's.

    A task's kind says how its columns are read: "one" label holds (softmax, the default), "many"
    may hold (sigmoid), or each column is a value on a "scale".
    """

    labels: Mapping[str, tuple[str, ...]]
    tied: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)

    def kind(self, task: str) -> str:
        """Return how a task's columns are read."""
        return self.kinds.get(task, KINDS[0])

    @property
    def width(self) -> int:
        """How many columns there are."""
        return sum(len(labels) for task, labels in self.labels.items() if task not in self.tied)

    def of(self, task: str) -> slice:
        """Return a task's columns."""
        wanted = self.tied.get(task, task)
        start = 0
        for name, labels in self.labels.items():
            if name == wanted:
                return slice(start, start + len(labels))
            start += 0 if name in self.tied else len(labels)
        raise KeyError(task)


def load_body(folder: Path, name: str, **options: Any) -> tuple[Any, Any]:
    """Load a transformer and its tokenizer quietly: safetensors only, no network, no code.

    In 32 bits, unless `options` of transformers say otherwise.
    """
    import torch
    from transformers import AutoModel, AutoTokenizer

    set_up_transformers()
    with loading_errors(f"'{name}' in {folder}", "transformer"):
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        body = load_model(AutoModel, folder, **{"dtype": torch.float32, **options})
        if is_decoder(body.config):
            frame_pairs(tokenizer)
            body.config.use_cache = False  # nothing is read on: no layer copies its keys and values
    return body, tokenizer


def is_decoder(config: Any) -> bool:
    """Tell whether a model of transformers reads from left to right alone."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    kind = config.model_type  # an encoder's may be in both: BERT has a left-to-right variant
    causal = kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    return causal and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES


def frame_pairs(tokenizer: Any) -> None:
    """Let a tokenizer put a decoder's words around pairs: they are never cut, and are counted."""
    from tokenizers.processors import TemplateProcessing

    first = tokenizer("a")["input_ids"][:1]
    if not first or first[0] != tokenizer.bos_token_id:
        first = []
    ids = {
        name: tokenizer(words, add_special_tokens=False)["input_ids"]
        for name, words in _FRAME.items()
    }
    ids["text"] = [*first, *ids["text"]]
    tokens = [
        {"id": name, "ids": row, "tokens": tokenizer.convert_ids_to_tokens(row)}
        for name, row in ids.items()
    ]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="text $A judgment", pair="text $B rule $A judgment", special_tokens=tokens
    )


def tokenise(tokenizer: Any, pairs: Sequence[Pair], max_length: int) -> list[list[int]]:
    """Return token ids of pairs, cut at `max_length` (or the model's window) from the longer side.

    A text that spells a special token ("[SEP]") is read as the text it is.
    """
    pairs = [(sound(grounding), sound(target)) for grounding, target in pairs]
    bare = [index for index, (grounding, _) in enumerate(pairs) if not grounding]
    full = [index for index, (grounding, _) in enumerate(pairs) if grounding]
    ids: list[list[int]] = [[] for _ in pairs]
    options = {
        "truncation": True,
        "max_length": min(max_length, tokenizer.model_max_length),
        "return_attention_mask": False,
        "split_special_tokens": True,
    }
    if bare:
        rows = tokenizer([pairs[index][1] for index in bare], **options)["input_ids"]
        for index, row in zip(bare, rows, strict=True):
            ids[index] = row
    if full:
        first, second = zip(*(pairs[index] for index in full), strict=True)
        rows = tokenizer(list(first), list(second), **options)["input_ids"]
        for index, row in zip(full, rows, strict=True):
            ids[index] = row
    return ids


def middle_layer(layers: int) -> int:
    """Return after how many layers labels are learnt from: two thirds (bench/own_rules.py)."""
    return max(1, round(layers * 2 / 3))


def padding_of(tokenizer: Any) -> int:
    """Return the id that fills a batch; any will do where a tokenizer has none: it is masked."""
    return int(tokenizer.pad_token_id or 0)


def padded(rows: Sequence[Sequence[int]], padding: int, device: Any) -> tuple[Any, Any]:
    """Return (ids, mask) of one batch as tensors."""
    import torch

    longest = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows])
    sizes = torch.tensor([len(row) for row in rows])
    mask = (torch.arange(longest)[None, :] < sizes[:, None]).long()
    return ids.to(device, non_blocking=True), mask.to(device, non_blocking=True)


def build_network(body: Any, width: int, dropout: float = 0.1) -> Any:
    """Put the last layer on a body; returns a torch module (ids, mask) → logits."""
    import torch

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = body
            self.dropout = torch.nn.Dropout(dropout)
            self.head = torch.nn.Linear(body.config.hidden_size, width)
            self.known: dict[tuple[int, ...], Any] | None = None  # rows of a body that is still
            self.last = is_decoder(body.config)  # what is read of the tokens: the last, or the mean
            self.half = False  # computes in half precision, while it learns, on a CPU too

        def pooled(self, ids: Any, mask: Any, middle: int = 0) -> Any:
            seen = None if self.last and ids.is_cuda else mask  # faster; padding stands behind
            done = self.body(input_ids=ids, attention_mask=seen, output_hidden_states=middle > 0)
            rows = done.last_hidden_state
            if middle:
                rows = torch.cat([rows, done.hidden_states[middle]], dim=2)
            if self.last:
                return rows[torch.arange(len(rows), device=rows.device), mask.sum(1) - 1]
            share = mask.unsqueeze(-1).to(rows.dtype)
            return (rows * share).sum(1) / share.sum(1).clamp(min=1)

        def forward(self, ids: Any, mask: Any) -> Any:
            return self.head(self.dropout(self.pooled(ids, mask)).float())

    return Network()


def resolve_base(
    name: str, store: Store | None = None, progress: Progress | None = None
) -> tuple[Path, str]:
    """Return the folder of a base and the checksum that names its weights."""
    store = store or Store()
    stored = [
        entry.name
        for entry in store.entries()
        if entry.kind == "encoder" and entry.reader == "sentence-transformers"
    ]
    if name in stored:
        return store.pull(name, progress), store.entry(name).sha256
    if name.endswith(".gguf") or name in [entry.name for entry in store.entries()]:
        from moralscope.models.language.conversion import resolve_base as resolve_causal

        return resolve_causal(name, store=store, progress=progress)
    if name.startswith(("roberta-", "bert-", "albert-")):  # hub ids without an owner
        folder = hub_folder(name, store, f"use one of {', '.join(stored)}")
    else:
        folder = find_folder(name, store, stored, kind="base", content="a transformer")
    return folder, folder_checksum(folder)


def sigmoid(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return 1 / (1 + e^-x), without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(values))), dtype=np.float32)


def run_network(module: Any, rows: Sequence[Sequence[int]], padding: int) -> NDArray[np.float32]:
    """Return the logits of tokenised pairs, in order."""
    import torch

    pooled = torch.tensor(pooled_rows(module, rows, padding)).to(module.head.weight.device)
    with torch.inference_mode():
        return np.asarray(module.head(pooled).cpu().numpy())


def pooled_rows(
    module: Any, rows: Sequence[Sequence[int]], padding: int, *, middle: int = 0
) -> NDArray[np.float32]:
    """Return what the last layer reads of tokenised pairs; a body that `known` holds is still.

    Batches hold pairs of like length. With `middle`, the same of the states after so many layers
    stands behind each row.
    """
    import torch

    known = {} if module.known is None else module.known
    new = [row for row in dict.fromkeys(tuple(row) for row in rows) if row not in known]
    device = module.head.weight.device
    least = _GPU_LEAST if device.type == "cuda" else 0
    for batch in like_length_batches([len(row) for row in new], batch_tokens(module), least):
        some = [new[index] for index in batch]
        with torch.inference_mode(), safe_precision(device, half=module.half):
            made = module.pooled(*padded(some, padding, device), middle).float().cpu().numpy()
        known |= dict(zip(some, made, strict=True))
    return np.array([known[tuple(row)] for row in rows], dtype=np.float32)


def batch_tokens(module: Any) -> int:
    """Return how many tokens a batch should hold on the module's device."""
    import torch

    if module.head.weight.device.type == "cuda":
        return _GPU_TOKENS
    return TOKENS_PER_CORE * min(int(torch.get_num_threads()), 16)


def safe_precision(device: Any, *, half: bool = False) -> contextlib.AbstractContextManager[Any]:
    """Half precision on a GPU that has bfloat16; a CPU computes in float32 unless it is `half`."""
    import torch

    if half or (device.type == "cuda" and has_bfloat16(device.type)):
        mixed = torch.autocast(device.type, torch.bfloat16)
        return cast(contextlib.AbstractContextManager[Any], mixed)
    return contextlib.nullcontext()


def narrow(body: Any) -> None:
    """Hold linear layers in what `safe_precision` rounds them to at every product: same bits."""
    import torch

    body.apply(lambda part: part.bfloat16() if type(part) is torch.nn.Linear else part)


def has_bfloat16(kind: str) -> bool:
    """Tell whether a kind of device ("cuda", "cpu") multiplies bfloat16 faster than float32.

    Processors with AMX are left out: some that announce it die of its instructions.
    """
    import torch

    if kind == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    return bool(torch.cpu._is_avx512_bf16_supported() and not torch.cpu._is_amx_tile_supported())
