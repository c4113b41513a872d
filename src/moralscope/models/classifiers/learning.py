"""What the training loop learns when it makes experts: labelled pairs of several tasks at once."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from moralscope.models.classifiers.figures import group_figures
from moralscope.models.classifiers.module import (
    KINDS,
    Pair,
    Slices,
    padded,
    padding_of,
    tokenise,
)
from moralscope.models.encoders.pipeline import like_length_batches
from moralscope.models.fastcpu.threads import TOKENS_PER_CORE

_GPU_TOKENS = 65536


@dataclass(frozen=True, slots=True)
class Lesson:
    """A labelled pair of one task; `weight` scales its loss.

    Dev figures are told by `group` (the task when empty); `among` > 0 decides between that many
    first labels only. `decides` is the weight of a dev lesson's group in the score that chooses.
    A lesson with the `turn` (i, n) comes in every n-th epoch only, first in epoch i. Where many
    labels may hold, or the task is a scale, `values` has a number a column and `label` is not read.

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
    turn: tuple[int, int] = (0, 1)
    values: tuple[float, ...] = ()


@dataclass
class PairLearner:
    """A `Learner`: each pair's loss is over its own task's columns; dev has a figure a group.

    The loss is cross-entropy where one label holds, binary cross-entropy where many may, and the
    squared error on a scale. The figure is accuracy, macro-F1 or Pearson's r. With `consistency`
    every batch is read twice with other dropout, and answers that differ cost that much (R-Drop,
    Liang et al. 2021); for tasks where one label holds.
    Everything is tokenised once, before the first step.
    """

    module: Any
    tokenizer: Any
    slices: Slices
    lessons: Sequence[Lesson]
    dev_lessons: Sequence[Lesson]
    max_length: int = 128
    smoothing: float = 0.0
    consistency: float = 0.0

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
        self._kinds = [KINDS.index(self.slices.kind(row.task)) for row in self.lessons]

    @property
    def data_sha256(self) -> str:
        """One checksum over every pair that is learnt or looked at, with its label and weight."""
        rows = (self._ids, self._targets, self._weights, self._dev_ids)
        dev = [
            (row.label, row.group, row.among, row.decides, row.values) for row in self.dev_lessons
        ]
        named = (self.slices.labels, self.slices.kinds, [row.values for row in self.lessons])
        how = (self.smoothing, self.consistency)
        return sha256(repr((rows, dev, named, how)).encode()).hexdigest()

    @property
    def lengths(self) -> Sequence[int]:
        """How many tokens each lesson has."""
        return self._lengths

    def places(self, epoch: int) -> Sequence[int]:
        """Return the lessons whose turn it is."""
        return [
            place for place, row in enumerate(self.lessons) if epoch % row.turn[1] == row.turn[0]
        ]

    def loss(self, places: Sequence[int]) -> Any:
        """Return the mean loss of some lessons; columns of other tasks do not take part."""
        import torch

        if self.consistency:
            places = [*places, *places]
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
        if any(self._kinds[place] for place in places):
            loss = self._other_loss(places, logits, outside, loss)
        if self.consistency:
            loss = loss + self.consistency * _disagreement(chosen)
        return (loss * weights).sum() / weights.sum()

    def _other_loss(self, places: Sequence[int], logits: Any, outside: Any, one: Any) -> Any:
        """Return the loss of each lesson by its task's kind; `one` is that of kind "one"."""
        import torch

        wanted = torch.zeros(logits.shape)
        for row, place in enumerate(places):
            if self._kinds[place]:
                lesson = self.lessons[place]
                wanted[row, self.slices.of(lesson.task)] = torch.tensor(lesson.values).float()
        wanted = wanted.to(logits.device)
        kinds = torch.tensor([self._kinds[place] for place in places]).to(logits.device)
        inside = (~outside).float()
        many = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, wanted, reduction="none"
        )
        far = (logits - wanted).masked_fill(outside, 0.0) ** 2
        many, far = ((each * inside).sum(1) / inside.sum(1) for each in (many, far))
        return torch.where(kinds == 0, one, torch.where(kinds == 1, many, far))

    def dev(self) -> dict[str, float]:
        """Return the figure of every group on dev, and their weighted mean as `score`."""
        groups: dict[str, list[tuple[Lesson, NDArray[np.float32]]]] = {}
        for row, logits in zip(self.dev_lessons, self.dev_logits(), strict=True):
            groups.setdefault(row.group or row.task, []).append((row, logits))
        figures: dict[str, float] = {}
        for group, rows in groups.items():
            figures |= self._figures(group, rows)
        weights = [rows[0][0].decides for rows in groups.values()]
        score = np.average([figures[group] for group in groups], weights=weights)
        return {"score": float(score), **figures}

    def _figures(
        self, group: str, rows: Sequence[tuple[Lesson, NDArray[np.float32]]]
    ) -> Mapping[str, float]:
        kind = self.slices.kind(rows[0][0].task)
        if kind == KINDS[0]:
            right = [int(row[: one.among or None].argmax()) == one.label for one, row in rows]
            return {group: float(np.mean(right))}
        gold, logits = [one.values for one, _ in rows], np.array([row for _, row in rows])
        return group_figures(group, kind, gold, logits)

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

    if module.known is not None:
        pooled = torch.tensor(pooled_rows(module, rows, padding)).to(module.head.weight.device)
        with torch.inference_mode():
            found: NDArray[np.float32] = module.head(pooled).cpu().numpy()
        return found
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
    found = np.empty((len(rows), width), dtype=np.float32)
    for batch in like_length_batches([len(row) for row in rows], batch_tokens):
        ids, mask = padded([rows[place] for place in batch], padding, device)
        with torch.inference_mode(), safe_precision(device):
            found[batch] = run(ids, mask).float().cpu().numpy()
    return found


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


def _disagreement(chosen: Any) -> Any:
    """Return, for log-probabilities of a batch that was read twice, how far both readings differ.

    Half the sum of both Kullback-Leibler divergences, once for each row.
    """
    import torch

    first, second = chosen.chunk(2)
    apart = 0.5 * ((first.exp() - second.exp()) * (first - second)).sum(1)
    return torch.cat([apart, apart])


def _outside(slices: Slices) -> Any:
    import torch

    mask = torch.ones((len(slices.labels), slices.width), dtype=torch.bool)
    for row, task in enumerate(slices.labels):
        mask[row, slices.of(task)] = False
    return mask
