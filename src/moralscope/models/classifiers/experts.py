"""Experts ready to use: the adapter merged into its base, every task in one network.

`Experts.expert(task)` is a `Classifier`; all of one set share weights, tokenizer and lock. On a CPU
a BERT or MPNet is read and merged without transformers and peft; whatever else there is, and a GPU,
is left to them.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from moralscope.core.errors import InputError, StoreError, error_line
from moralscope.core.protocols import Classifier, Matrix
from moralscope.core.records import ModelRef
from moralscope.core.registry import require_known
from moralscope.models.adapters import load_adapter, merge_tensors
from moralscope.models.classifiers.module import (
    Slices,
    build_network,
    has_bfloat16,
    is_decoder,
    load_body,
    middle_layer,
    narrow,
    padding_of,
    pooled_rows,
    sigmoid,
    tokenise,
)
from moralscope.models.classifiers.saved import (
    ADAPTER,
    HEAD,
    check_base,
    folder_sha256,
    read_settings,
)
from moralscope.models.fastcpu.linear import can_quantise, has_int8, quantise, speed_up, widen
from moralscope.models.fastcpu.threads import TOKENS_PER_CORE, SingleThreadPool
from moralscope.models.fastcpu.unpadded import BodyWeights, UnpaddedBody
from moralscope.models.hugging_face import check_files, check_names, set_up_torch
from moralscope.models.plain_transformer import read_body, read_tokenizer
from moralscope.models.windows import MOST_TOKENS, Pair, Windows, mean_of_windows, token_windows

log = logging.getLogger(__name__)
_NOT_READ = "%d tokens were not read: of a long prompt or rule only its ends are, of texts %d"


class _Network(Protocol):
    """A body and the last layer: token ids → raw columns of every task, mean rows of tokens.

    With `middle`, an encoder's rows are those after two thirds of its layers.
    """

    tokenizer: Any

    def run(
        self, rows: Sequence[Sequence[int]], *, middle: bool = False
    ) -> tuple[Matrix, Matrix]: ...

    def quantise(self, share: float) -> bool: ...


class Experts:
    """A set of experts on one base, from a folder that `save_experts` wrote."""

    def __init__(self, folder: Path, base: Path | None, base_sha256: str, name: str) -> None:
        from safetensors import SafetensorError

        self.settings = read_settings(folder)
        if (folder / "model").is_dir():
            base = folder / "model"
        else:
            check_base(self.settings, folder, base_sha256)
        self._slices = Slices(self.settings.tasks, kinds=self.settings.kinds)
        if base is None:
            raise InputError(f"{folder} needs its base '{self.settings.base}'", "give its folder")
        width = self._slices.width
        try:
            check_files(folder)
            self._network: _Network = (
                _read_plain(folder, base, width)
                or _read_decoder(folder, base, width, name)
                or _PaddedNetwork(folder, base, width, name)
            )
        except (
            *(SafetensorError, StoreError, OSError, ValueError, KeyError),
            *(RuntimeError, TypeError),
        ) as error:
            problem = f"the experts in {folder} cannot be loaded ({error_line(error, 400)})"
            raise InputError(problem, "train them again") from error
        self._lock, self._tokenizing = threading.Lock(), threading.Lock()
        self.ref = ModelRef(name, folder_sha256(folder))
        self.bits = 32
        self.card = self.settings.card  # what they were trained on and how well they did
        self.tasks = tuple(self.settings.tasks)
        self.retrieval = self.settings.retrieval
        """Whether `embed` was trained to put a text near those that concern it."""
        self.operating_points = self.settings.thresholds
        """The least probability at which each label is taken, of tasks for which it was chosen."""

    def expert(self, task: str) -> Classifier:
        """Return the expert for one task, of which one label holds.

        A scale of one column is such a task, too: is the value below zero, or above?
        """
        self._check(task)
        if self._slices.kind(task) == "scale" and len(self.settings.tasks[task]) == 1:
            return _ScaleExpert(self, task)
        if self._slices.kind(task) != "one":
            raise InputError(
                f"'{task}' of '{self.ref.name}' has values, not labels", "ask for its values"
            )
        return _Expert(self, task)

    def values(self, task: str, pairs: Sequence[Pair]) -> Matrix:
        """Return what a task tells: probabilities of its labels, or values on its scale.

        Labels of a task of kind "many" have probabilities of their own: a row does not sum to one.
        """
        self._check(task)
        return self.told(task, self.read(pairs)[0])

    def told(self, task: str, columns: Matrix) -> Matrix:
        """Return what a task tells by the raw columns of `read`: one pass serves several tasks."""
        self._check(task)
        values, kind = columns[:, self._slices.of(task)], self._slices.kind(task)
        if kind == "one":
            return _softmax(values / float(self.settings.temperatures.get(task, 1.0)))
        return values if kind == "scale" else sigmoid(values)

    def thresholds(self, task: str) -> tuple[float, ...]:
        """Return the least probability at which each label of a task is taken."""
        self._check(task)
        return self.settings.thresholds.get(task) or (0.5,) * len(self.settings.tasks[task])

    def labels(self, task: str) -> tuple[str, ...]:
        """Return the labels of a task, in the order of its values."""
        self._check(task)
        return self.settings.tasks[task]

    def quantise(self, share: float = 1.0) -> bool:
        """Compute in 8 bits from now on, all but the head; False where this cannot be.

        `share` is how many of the body's layers do, from the last one down.
        """
        if self.bits != 8 and self._network.quantise(share):
            self.bits = 8
        return self.bits == 8

    def _check(self, task: str) -> None:
        require_known(task, self.settings.tasks, f"'{self.ref.name}' has no expert for '{task}'")

    def windows(
        self, pairs: Sequence[Pair], spare: int = 0, most: int | None = None
    ) -> list[Windows]:
        """Return the pairs to ask about instead of each pair; of one that fits, itself.

        For tasks where the worst part of a text counts. `Windows.unread` says how many tokens no
        window holds, or no vocabulary; `spare` tokens of each window are left empty, and it has
        `most` tokens at most.
        """
        room = self.settings.max_length - spare
        with self._tokenizing:
            return token_windows(self._network.tokenizer, pairs, min(room, most or room))

    def read(self, pairs: Sequence[Pair], *, middle: bool = False) -> tuple[Matrix, Matrix]:
        """Return the raw columns of every task, and the body's vectors of length one.

        Both come from the same pass; equal pairs are computed once. A pair that is too long is
        read in `windows` and has the mean of theirs. With `middle`, vectors are those after two
        thirds of an encoder's layers: they tell more of what no task asked for.
        """
        indices: dict[Pair, int] = {}
        inverse = [indices.setdefault(pair, len(indices)) for pair in pairs]
        cut = self.windows(list(indices))
        if dropped := sum(windows.dropped for windows in cut):
            log.warning(_NOT_READ, dropped, MOST_TOKENS)
        flat = [pair for windows in cut for pair in windows.pairs]
        with self._tokenizing:
            rows = tokenise(self._network.tokenizer, flat, self.settings.max_length)
        with self._lock:
            parts = self._network.run(rows, middle=middle)
        columns, pooled = (mean_of_windows(part, cut) for part in parts)
        size = np.linalg.norm(pooled, axis=1, keepdims=True)
        return columns[inverse], (pooled / np.maximum(size, 1e-12))[inverse]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return the body's vectors of single texts, of length one."""
        return self.read([("", text) for text in texts])[1]


class _PaddedNetwork:
    """A network of transformers, on a CPU or a GPU."""

    def __init__(self, folder: Path, base: Path, width: int, name: str) -> None:
        import torch

        body, self.tokenizer = load_body(base, name)
        if (folder / ADAPTER).is_file():
            body = load_adapter(body, folder)
        self._network = build_network(body, width)
        self._network.head.load_state_dict(_read_head(folder, width, body.config.hidden_size))
        self._network.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self._network.requires_grad_(False)
        if next(body.parameters()).is_cuda and has_bfloat16("cuda"):
            narrow(body)
        speed_up(body, body.config.model_type)

    def run(self, rows: Sequence[Sequence[int]], *, middle: bool = False) -> tuple[Matrix, Matrix]:
        """Return the raw columns of every task, and the mean of the tokens, for each text."""
        import torch

        network, head = self._network, self._network.head
        middle = middle and not network.last
        at = middle_layer(network.body.config.num_hidden_layers) if middle else 0
        pooled = pooled_rows(network, rows, padding_of(self.tokenizer), middle=at)
        pooled = pooled.reshape(len(rows), -1 if rows else head.in_features)
        last, vectors = pooled[:, : head.in_features], pooled[:, -head.in_features :]
        with torch.inference_mode():
            columns = head(torch.from_numpy(last).to(head.weight.device)).cpu().numpy()
        return columns, vectors

    def quantise(self, share: float) -> bool:
        """Compute in 8 bits from now on, whole or not at all; False where this cannot be."""
        return share == 1 and can_quantise(self._network) and quantise(self._network.body) > 0


class _UnpaddedNetwork:
    """A network on a CPU without padding; in 8 bits, batches side by side on the cores."""

    def __init__(self, weights: BodyWeights, tokenizer: Any, head: tuple[Any, Any]) -> None:
        self.tokenizer, self._head = tokenizer, head
        self._weights: Any = weights  # until they are laid out for products
        self._body: UnpaddedBody | None = None
        self._middle = middle_layer(int(weights.config["num_hidden_layers"]))
        self._pool: SingleThreadPool | None = None

    def quantise(self, share: float) -> bool:
        """Compute in 8 bits from now on, all but the last layer; False where this cannot be."""
        import torch

        if self._weights is None or not has_int8():
            return False
        self._body = UnpaddedBody(self._weights, eight_bits=share)
        self._weights = None  # the same numbers in 32 bits
        threads = int(torch.get_num_threads())
        self._pool = SingleThreadPool(threads) if threads > 1 else None
        return True

    def run(self, rows: Sequence[Sequence[int]], *, middle: bool = False) -> tuple[Matrix, Matrix]:
        """Return the raw columns of every task, and the mean of the tokens, for each text."""
        import torch

        body = self._body = self._body or UnpaddedBody(self._weights)
        self._weights = None
        lengths = np.array([len(row) for row in rows], dtype=np.intp)
        # Every core gets as many batches as the others, of like size: a reply waits for the last.
        most = TOKENS_PER_CORE // 2 * min(int(torch.get_num_threads()), 16)
        count = (self._pool.count if self._pool else 1) * (1 + int(lengths.sum()) // most)
        order = np.argsort(-lengths, kind="stable")
        middles = np.cumsum(lengths[order]) - lengths[order] / 2
        changes = np.flatnonzero(np.diff(middles * count // max(1, lengths.sum()))) + 1
        batches = np.split(order, changes) if rows else []
        run = self._pool.map if self._pool else map
        width, hidden = self._head[0].shape
        columns = np.empty((len(rows), width), dtype=np.float32)
        vectors = np.empty((len(rows), hidden), dtype=np.float32)

        def compute(batch: Any) -> tuple[Matrix, Matrix]:
            with torch.inference_mode():
                groups = body([rows[i] for i in batch], self._middle if middle else 0)
                means = torch.cat([group.mean(1) for group in groups])
                last = torch.nn.functional.linear(means[:, :hidden], *self._head)
                return last.numpy(), means[:, -hidden:].numpy()

        for batch, part in zip(batches, run(compute, batches), strict=True):
            columns[batch], vectors[batch] = part
        return columns, vectors


class _DecoderNetwork:
    """A decoder on a CPU: one text beside many rules is one tree, read at its ends.

    `weights` are those of the body by name, an adapter added; they are read when it is known
    whether they are to be laid out in 8 bits.
    """

    def __init__(
        self, body: Any, weights: Mapping[str, Any], tokenizer: Any, head: tuple[Any, Any]
    ) -> None:
        from moralscope.models.language.trees import TreePool

        self.tokenizer, self._head = tokenizer, head
        self._body, self._trees = body.requires_grad_(False).eval(), TreePool()
        self._weights: Mapping[str, Any] | None = weights

    def quantise(self, share: float) -> bool:
        """Compute in 8 bits from now on, whatever `share`: half of it would be gigabytes."""
        if self._weights is None or not has_int8():
            return False
        quantise(self._body, self._weights)
        widen(self._body)
        self._weights = None
        return True

    def run(self, rows: Sequence[Sequence[int]], *, middle: bool = False) -> tuple[Matrix, Matrix]:
        """Return the raw columns of every task, and the last token's row, for each text."""
        import torch

        if self._weights is not None:
            widen(self._body, self._weights)
            self._weights = None

        def last(_: list[int], tree: Any) -> Matrix:
            hidden: Matrix = self._body(**tree.inputs()).last_hidden_state[0].numpy()
            return hidden[[path[-1] for path in tree.paths]]

        pooled = np.empty((len(rows), self._head[0].shape[1]), dtype=np.float32)
        for indices, ends in self._trees.run(rows, last, self._body.device):
            pooled[indices] = ends
        with torch.inference_mode():
            columns = torch.nn.functional.linear(torch.from_numpy(pooled), *self._head).numpy()
        return columns, pooled


class _Expert:
    """One task of a set: a `Classifier`."""

    def __init__(self, experts: Experts, task: str) -> None:
        self._experts, self._task = experts, task
        self.name = f"{experts.ref.name}/{task}"
        self.checksum = experts.ref.sha256
        self.labels = experts.settings.tasks[task]

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return calibrated probabilities, one row a pair, columns as `labels`."""
        return self._experts.values(self._task, pairs)


class _ScaleExpert(_Expert):
    """One column d of a scale as a `Classifier`: P(above zero) = sigmoid(d / temperature)."""

    def __init__(self, experts: Experts, task: str) -> None:
        super().__init__(experts, task)
        self.labels = ("below zero", "above zero")

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return the softmax of zero and the value: it is the logistic function."""
        values = super().probabilities(pairs)  # the raw column
        temperature = float(self._experts.settings.temperatures.get(self._task, 1.0))
        columns: Matrix = np.concatenate([np.zeros_like(values), values], axis=1)
        return _softmax(columns / temperature)


def _softmax(scaled: Matrix) -> Matrix:
    scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def _read_plain(folder: Path, base: Path, width: int) -> _UnpaddedNetwork | None:
    """Read a body that `fastcpu` knows, its adapter and the last layer; None for others."""
    set_up_torch()
    import torch

    if torch.cuda.is_available() or (weights := read_body(base)) is None:
        return None
    tensors: Mapping[str, Any] | None = weights.tensors
    if (folder / ADAPTER).is_file():
        tensors = merge_tensors(weights.tensors, folder)
    tokenizer = read_tokenizer(base)
    if tensors is None or tokenizer is None:
        return None
    head = _read_head(folder, width, weights.config["hidden_size"])
    body = BodyWeights(weights.config, tensors)
    return _UnpaddedNetwork(body, tokenizer, (head["weight"].float(), head["bias"].float()))


def _read_decoder(folder: Path, base: Path, width: int, name: str) -> _DecoderNetwork | None:
    """Read a causal body, its adapter and the last layer; None for other bodies, and on a GPU."""
    import torch
    from transformers import AutoConfig

    from moralscope.models.language.steps import ATTENTION

    if torch.cuda.is_available() or not is_decoder(
        AutoConfig.from_pretrained(base, local_files_only=True, trust_remote_code=False)
    ):
        return None
    body, tokenizer = load_body(base, name, attn_implementation=ATTENTION, dtype="auto")
    plain = dict(body.named_parameters())
    weights = merge_tensors(plain, folder) if (folder / ADAPTER).is_file() else plain
    if weights is None:
        return None
    head = _read_head(folder, width, body.config.hidden_size)
    return _DecoderNetwork(body, weights, tokenizer, (head["weight"].float(), head["bias"].float()))


def _read_head(folder: Path, width: int, hidden: int) -> dict[str, Any]:
    from safetensors.torch import load_file

    head: dict[str, Any] = load_file(folder / HEAD)
    shapes = {"weight": (width, hidden), "bias": (width,)}
    check_names(shapes, {name: tuple(tensor.shape) for name, tensor in head.items()})
    return head
