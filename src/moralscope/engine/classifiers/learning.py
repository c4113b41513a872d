"""What the training loop learns when it makes experts: labelled pairs of several tasks at once."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from moralscope.engine.classifiers.module import Pair, Slices, padded, padding_of, tokenise
from moralscope.engine.encoders.pipeline import like_length_batches

_TOKENS_PER_CORE = 1024
_GPU_TOKENS = 65536


@dataclass(frozen=True, slots=True)
class Lesson:
    """A labelled pair of one task; `weight` scales its loss.

    Dev figures are told by `group` (the task when empty); `among` > 0 decides between that many
    first labels only. `decides` is the weight of a dev lesson's group in the score that chooses.

    Examples
    --------
    >>> Lesson("action", ("", "Jo spits."), 0).weight
    1.0
    """

    task: str
    pair: Pair
    label: int
    weight: float = 1.0
    group: str = ""
    among: int = 0
    decides: float = 1.0


@dataclass
class PairLearner:
    """A `Learner`: cross-entropy over each pair's own task; dev is the accuracy of groups.

    Everything is tokenised once, before the first step.
    """

    module: Any
    tokenizer: Any
    slices: Slices
    lessons: Sequence[Lesson]
    dev_lessons: Sequence[Lesson]
    max_length: int = 128
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        self._ids = tokenise(self.tokenizer, [row.pair for row in self.lessons], self.max_length)
        self._lengths = [len(row) for row in self._ids]
        self._dev_ids = tokenise(
            self.tokenizer, [row.pair for row in self.dev_lessons], self.max_length
        )
        starts = {task: self.slices.of(task).start for task in self.slices.labels}
        self._targets = [starts[row.task] + row.label for row in self.lessons]
        names = list(self.slices.labels)
        self._tasks = [names.index(row.task) for row in self.lessons]
        self._weights = [row.weight for row in self.lessons]
        self._outside = _outside(self.slices)

    @property
    def data_sha256(self) -> str:
        """One checksum over every pair that is learnt or looked at, with its label and weight."""
        rows = (self._ids, self._targets, self._weights, self._dev_ids)
        dev = [(row.label, row.group, row.among, row.decides) for row in self.dev_lessons]
        return sha256(repr((rows, dev, self.slices.labels, self.smoothing)).encode()).hexdigest()

    @property
    def lengths(self) -> Sequence[int]:
        """How many tokens each lesson has."""
        return self._lengths

    def loss(self, places: Sequence[int]) -> Any:
        """Return the mean loss of some lessons; columns of other tasks do not take part."""
        import torch

        device = self.module.head.weight.device
        rows = [self._ids[place] for place in places]
        ids, mask = padded(rows, padding_of(self.tokenizer), device)
        tasks = torch.tensor([self._tasks[place] for place in places]).to(device)
        targets = torch.tensor([self._targets[place] for place in places]).to(device)
        weights = torch.tensor([self._weights[place] for place in places]).to(device)
        outside = self._outside.to(device)[tasks]
        with safe_precision(device):
            logits = self.module(ids, mask)
        logits = logits.float().masked_fill(outside, -1e4)
        chosen = torch.log_softmax(logits, dim=1)
        loss = -chosen.gather(1, targets[:, None])[:, 0]
        if self.smoothing:
            inside = (~outside).float()
            spread = -(chosen * inside).sum(1) / inside.sum(1)
            loss = (1 - self.smoothing) * loss + self.smoothing * spread
        return (loss * weights).sum() / weights.sum()

    def dev(self) -> dict[str, float]:
        """Return the accuracy of every group on dev, and their weighted mean as `score`."""
        right: dict[str, list[bool]] = {}
        weights: dict[str, float] = {}
        for row, logits in zip(self.dev_lessons, self.dev_logits(), strict=True):
            group = row.group or row.task
            chosen = int(logits[: row.among or None].argmax())
            right.setdefault(group, []).append(chosen == row.label)
            weights[group] = row.decides
        figures = {group: float(np.mean(found)) for group, found in right.items()}
        score = np.average(list(figures.values()), weights=list(weights.values()))
        return {"score": float(score), **figures}

    def dev_logits(self) -> list[NDArray[np.float32]]:
        """Return every dev lesson's logits of its own task."""
        logits = run_network(
            self.module, self._dev_ids, padding_of(self.tokenizer), batch_tokens(self.module)
        )
        return [
            logits[place, self.slices.of(row.task)] for place, row in enumerate(self.dev_lessons)
        ]


def run_network(
    module: Any, rows: Sequence[Sequence[int]], padding: int, batch_tokens: int
) -> NDArray[np.float32]:
    """Return the logits of tokenised pairs, in order; batches hold pairs of like length."""
    import torch

    device = module.head.weight.device
    logits = np.empty((len(rows), module.head.out_features), dtype=np.float32)
    for batch in like_length_batches([len(row) for row in rows], batch_tokens):
        ids, mask = padded([rows[place] for place in batch], padding, device)
        with torch.inference_mode(), safe_precision(device):
            logits[batch] = module(ids, mask).float().cpu().numpy()
    return logits


def batch_tokens(module: Any) -> int:
    """Return how many tokens a batch should hold on the module's device."""
    import torch

    if module.head.weight.device.type == "cuda":
        return _GPU_TOKENS
    return _TOKENS_PER_CORE * min(int(torch.get_num_threads()), 16)


def safe_precision(device: Any) -> contextlib.AbstractContextManager[Any]:
    """Half precision on a GPU that has bfloat16; a CPU computes in float32."""
    import torch

    if device.type == "cuda" and torch.cuda.is_bf16_supported():
        return cast(contextlib.AbstractContextManager[Any], torch.autocast("cuda", torch.bfloat16))
    return contextlib.nullcontext()


def _outside(slices: Slices) -> Any:
    import torch

    mask = torch.ones((len(slices.labels), slices.width), dtype=torch.bool)
    for row, task in enumerate(slices.labels):
        mask[row, slices.of(task)] = False
    return mask
