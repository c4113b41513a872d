"""Experts ready to use: the adapter merged into its base, every task in one network.

`Experts.expert(task)` is a `Classifier`; all of one set share weights, tokenizer and lock.
"""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.protocols import Classifier, Matrix
from moralscope.core.records import ModelRef
from moralscope.core.registry import did_you_mean
from moralscope.models.adapters import load_adapter
from moralscope.models.classifiers.figures import sigmoid
from moralscope.models.classifiers.learning import batch_tokens, run_network
from moralscope.models.classifiers.module import (
    Pair,
    Slices,
    build_network,
    load_body,
    padding_of,
    tokenise,
)
from moralscope.models.classifiers.saved import (
    ADAPTER,
    HEAD,
    check_base,
    folder_sha256,
    read_settings,
)
from moralscope.models.encoders.pipeline import full_batches
from moralscope.models.fastcpu.linear import can_quantise, quantise, speed_up
from moralscope.models.fastcpu.threads import TOKENS_PER_CORE, SingleThreadPool
from moralscope.models.fastcpu.unpadded import UnpaddedBody, can_unpad


class Experts:
    """A set of experts on one base, from a folder that `save_experts` wrote."""

    def __init__(self, folder: Path, base: Path | None, base_sha256: str, name: str) -> None:
        self.settings = read_settings(folder)
        own = folder / "model"
        if not own.is_dir():
            check_base(self.settings, folder, base_sha256)
        self._slices = Slices(self.settings.tasks, kinds=self.settings.kinds)
        body_folder = own if own.is_dir() else base
        if body_folder is None:
            raise InputError(f"{folder} needs its base '{self.settings.base}'", "give its folder")
        self._network, self._tokenizer = _network(folder, body_folder, self._slices.width, name)
        self._batch_tokens = batch_tokens(self._network)
        self._unpads = can_unpad(self._network.body)
        self._body: _Unpadded | None = None  # made when it is used, or in 8 bits
        self._lock = threading.Lock()
        self.ref = ModelRef(name, folder_sha256(folder))
        self.bits = 32

    @property
    def card(self) -> Mapping[str, Any]:
        """What the experts were trained on and how well they did."""
        return self.settings.card

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks there is an expert for."""
        return tuple(self.settings.tasks)

    def expert(self, task: str) -> Classifier:
        """Return the expert for one task, of which one label holds."""
        self._check(task)
        if self._slices.kind(task) != "one":
            raise InputError(
                f"'{task}' of '{self.ref.name}' does not tell one label of several",
                "ask for its values",
            )
        return _Expert(self, task)

    def values(self, task: str, pairs: Sequence[Pair]) -> Matrix:
        """Return what a task tells: probabilities of its labels, or places on its scale.

        Labels of a task of kind "many" have probabilities of their own: a row does not sum to one.
        """
        self._check(task)
        kind = self._slices.kind(task)
        if kind == "one":
            return _Expert(self, task).probabilities(pairs)
        found = self.logits(pairs)[:, self._slices.of(task)]
        return found if kind == "scale" else sigmoid(found)

    def thresholds(self, task: str) -> tuple[float, ...]:
        """Return the least probability at which each label of a task is taken."""
        self._check(task)
        known = self.settings.thresholds.get(task)
        return known or (0.5,) * len(self.settings.tasks[task])

    def labels(self, task: str) -> tuple[str, ...]:
        """Return the labels of a task, in the order of its values."""
        self._check(task)
        return self.settings.tasks[task]

    def quantise(self) -> bool:
        """Compute in 8 bits from now on, all but the last layer; False where this cannot be."""
        if self.bits == 8:
            return True
        if not can_quantise(self._network):
            return False
        if self._unpads:
            self._body = _Unpadded(self._network, eight_bits=True)
            del self._network.body.encoder.layer  # the same weights in 32 bits
        else:
            quantise(self._network.body)
        self.bits = 8
        return True

    def _check(self, task: str) -> None:
        if task not in self.settings.tasks:
            raise UnknownName(
                f"'{self.ref.name}' has no expert for '{task}'",
                did_you_mean(task, self.settings.tasks),
            )

    def logits(self, pairs: Sequence[Pair]) -> Matrix:
        """Return the raw columns of every task; equal pairs are computed once."""
        places: dict[Pair, int] = {}
        inverse = [places.setdefault(pair, len(places)) for pair in pairs]
        with self._lock:
            rows = tokenise(self._tokenizer, list(places), self.settings.max_length)
            if self._unpads:
                self._body = self._body or _Unpadded(self._network)
                return self._body.logits(rows)[inverse]
            padding = padding_of(self._tokenizer)
            logits = run_network(self._network, rows, padding, self._batch_tokens)
        return logits[inverse]


class _Unpadded:
    """A network on a CPU without padding; in 8 bits, batches side by side on the cores."""

    def __init__(self, network: Any, *, eight_bits: bool = False) -> None:
        import torch

        self._head, self._width = network.head, int(network.head.out_features)
        self._body = UnpaddedBody(network.body, eight_bits=eight_bits)
        threads = int(torch.get_num_threads())
        self._lanes = SingleThreadPool(threads) if eight_bits and threads > 1 else None
        self._most = TOKENS_PER_CORE * (1 if self._lanes else min(threads, 16))

    def logits(self, rows: Sequence[Sequence[int]]) -> Matrix:
        """Return the raw columns of every task for each text."""
        lengths = [len(row) for row in rows]
        # A few pairs are shared out, too: whoever waits for one reply waits for all cores' work.
        share = -(-sum(lengths) // (self._lanes.count if self._lanes else 1))
        batches = list(full_batches(lengths, max(1, min(self._most, share))))
        given = [[rows[place] for place in batch] for batch in batches]
        run = self._lanes.map if self._lanes else map
        found = np.empty((len(rows), self._width), dtype=np.float32)
        for batch, part in zip(batches, run(self._compute, given), strict=True):
            found[batch] = part
        return found

    def _compute(self, batch: Sequence[Sequence[int]]) -> Matrix:
        import torch

        with torch.inference_mode():
            pooled = torch.cat([group.mean(1) for group in self._body(batch)])
            return np.asarray(self._head(pooled).numpy())


class _Expert:
    """One task of a set: a `Classifier`."""

    def __init__(self, experts: Experts, task: str) -> None:
        self._experts = experts
        self._columns = Slices(experts.settings.tasks).of(task)
        self._temperature = float(experts.settings.temperatures.get(task, 1.0))
        self.name = f"{experts.ref.name}/{task}"
        self.checksum = experts.ref.sha256
        self.labels = experts.settings.tasks[task]

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return calibrated probabilities, one row a pair, columns as `labels`."""
        scaled = self._experts.logits(pairs)[:, self._columns] / self._temperature
        scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True, initial=-np.inf))
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


def _network(folder: Path, base: Path, width: int, name: str) -> tuple[Any, Any]:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    body, tokenizer = load_body(base, name)
    try:
        if (folder / ADAPTER).is_file():
            body = load_adapter(body, folder)
        network = build_network(body, width)
        network.head.load_state_dict(load_file(folder / HEAD))
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise InputError(
            f"the experts in {folder} cannot be loaded ({line})", "train them again"
        ) from error
    network.to("cuda" if torch.cuda.is_available() else "cpu").eval().requires_grad_(False)
    if not can_unpad(body):
        speed_up(body, getattr(body.config, "model_type", ""))
    return network, tokenizer
