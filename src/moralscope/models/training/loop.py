"""The one training loop: shuffles, steps, looks at dev, stops early, and survives being killed.

It knows nothing of what is learnt: a `Learner` gives the loss of some examples and the figures on
dev. The order of examples, dropout and the learning rate are functions of (seed, step), so a run
that is resumed goes on as if it had never been stopped: on a CPU its weights end up bit for bit the
same (a GPU's kernels may round otherwise from run to run).
"""

import itertools
import math
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.errors import MoralscopeError, error_line
from moralscope.models.training.folder import Checkpoint, read_checkpoint, write_checkpoint
from moralscope.models.training.options import Schedule
from moralscope.models.training.records import TOGETHER, History, Learner, Report, TrainingProgress

_POOL = 50  # batches whose examples are sorted by length together, so that little is padded
_REPORT_STEPS = 10
_SAVE_SECONDS = 60.0


def train(
    learner: Learner,
    schedule: Schedule,
    checkpoint: Path | None = None,
    report: Report | None = None,
) -> History:
    """Train until the schedule ends or dev stops getting better; leave the best weights in place.

    With a `checkpoint` file the run resumes from it when it is there and of the same schedule,
    model and data, and keeps it up to date; it is the caller's to delete. One of another run is
    refused.
    """
    run = _Run(learner, schedule, checkpoint, report)
    try:
        return run.go()
    except RuntimeError as error:
        text = f"{type(error).__name__} {error}".lower()
        if not any(
            word in text for word in ("cuda", "out of memory", "allocate memory", "device-")
        ):
            raise
        kept = f"resumes from step {run.saved_step}" if checkpoint else "starts again"
        raise MoralscopeError(
            f"the device stopped in step {run.step} ({error_line(error, 160)})",
            f"free its memory or --set batch_size to less; the same command {kept}",
        ) from error


def batches(
    lengths: Sequence[int],
    batch_size: int,
    seed: int,
    epoch: int,
    indices: Sequence[int] | None = None,
) -> list[Sequence[int]]:
    """Shuffle examples (those at `indices`) into batches of like length; each comes once."""
    rng = np.random.default_rng((seed, epoch))
    order = rng.permutation(len(lengths) if indices is None else np.asarray(indices))
    sizes = np.asarray(lengths)
    cut: list[Sequence[int]] = []
    for start in range(0, len(order), _POOL * batch_size):
        pool = order[start : start + _POOL * batch_size]
        pool = pool[np.argsort(sizes[pool], kind="stable")]
        cut.extend(pool[at : at + batch_size].tolist() for at in range(0, len(pool), batch_size))
    return [cut[index] for index in rng.permutation(len(cut))]


def rate(step: float, steps: int, warmup: float) -> float:
    """Return the share of the learning rate at a step: linear up, then linear down."""
    rising = max(1, round(steps * warmup)) if warmup else 0
    return (step + 1) / rising if step < rising else (steps - step) / max(1, steps - rising)


class _Run:
    def __init__(
        self, learner: Learner, schedule: Schedule, path: Path | None, report: Report | None
    ) -> None:
        import torch

        self.torch = torch
        self.learner, self.schedule, self.path, self.report = learner, schedule, path, report
        self.weights = {n: p for n, p in learner.module.named_parameters() if p.requires_grad}
        groups: dict[tuple[float, float], list[Any]] = {}  # by rate and decay
        for name, weight in self.weights.items():
            head = schedule.head_rate if name.startswith("head.") else 0.0
            decay = schedule.weight_decay if weight.ndim > 1 else 0.0
            groups.setdefault((head or schedule.learning_rate, decay), []).append(weight)
        self.optimizer = torch.optim.AdamW(
            [
                {"params": weights, "weight_decay": decay, "peak": peak}
                for (peak, decay), weights in groups.items()
            ],
            lr=schedule.learning_rate,
            eps=schedule.adam_epsilon,
            fused=next(iter(self.weights.values())).device.type == "cuda",
        )
        self.lengths = learner.lengths
        self.size = schedule.batch_size * schedule.accumulate
        sizes = [len(learner.indices(epoch)) for epoch in range(schedule.epochs)]
        self.ends = list(itertools.accumulate(math.ceil(size / self.size) for size in sizes))
        self.steps = self.ends[-1] if self.ends else 0
        self.step = self.saved_step = 0
        self.started = time.monotonic()
        self.history = History()
        self.best: dict[str, Any] = {}
        self.loss: Any = None  # runs over the steps of an epoch; read from the device when told
        self.dev: Mapping[str, float] = {}
        self.key: Mapping[str, Any] = {}
        if path:
            # What names the run: how, on what, and from which weights, frozen ones too. Not the
            # base's name: another revision of it, or another adapter to start from, would
            # otherwise be trained on from moments that belong to other weights.
            digest = sha256()
            for name, weight in learner.module.named_parameters():
                digest.update(f"{name} {weight.requires_grad} {tuple(weight.shape)}".encode())
                digest.update(weight.detach().float().cpu().contiguous().numpy().tobytes())
            data, start = learner.data_sha256, digest.hexdigest()
            self.key = {**schedule.plain_schedule, "data": data, "start": start}
        averaged = self.weights if schedule.average else {}
        self.mean = {name: value.detach().clone() for name, value in averaged.items()}

    def go(self) -> History:
        self._resume()
        started, first = time.monotonic(), self.step
        if not self.history.evaluations and self._place() >= self.steps:
            # Nothing to learn, or no time for it: the weights are looked at as they are.
            self._evaluate(-1)
        while not self.history.stopped_early and self._place() < self.steps:
            self._epoch(bisect_right(self.ends, self.step), started, first)
        self._put(self.best)
        seconds = time.monotonic() - started
        self.history.steps, self.history.seconds = self.step, round(seconds, 1)
        done = (self.step - first) * self.size
        self.history.examples_per_second = round(done / max(seconds, 1e-9), 1)
        return self.history

    def _epoch(self, epoch: int, started: float, first: int) -> None:
        learner, schedule = self.learner, self.schedule
        rows = batches(
            self.lengths, schedule.batch_size, schedule.seed, epoch, learner.indices(epoch)
        )
        many = schedule.accumulate
        steps = [rows[at : at + many] for at in range(0, len(rows), many)]
        start = self.ends[epoch - 1] if epoch else 0
        saved = time.monotonic()
        for parts in steps[self.step - start :]:
            value = self._step(parts)
            if value is not None:
                self.loss = value if self.loss is None else self.loss * 0.95 + value * 0.05
            if self.step == self.ends[epoch] or self._place() >= self.steps:
                break  # the evaluation belongs to the epoch: no checkpoint between them
            if self.step % _REPORT_STEPS == 0:
                self._tell(started, first)
            if time.monotonic() - saved > _SAVE_SECONDS:
                self._save()
                saved = time.monotonic()
        self._evaluate(epoch)
        self._tell(started, first, evaluated=True)
        self.loss = None
        self._save()

    def _step(self, parts: Sequence[Sequence[int]]) -> Any:
        self.learner.module.train()
        # Dropout is drawn from (seed, step) and not from a running generator, whose state would
        # have to be saved: a resumed step draws what the interrupted one would have drawn.
        self.torch.manual_seed(self.schedule.seed * 1_000_003 + self.step)
        total = 0.0
        for indices in parts:
            for piece in self._pieces(indices):
                share = len(piece) / len(indices) / len(parts)
                loss = self.learner.loss(piece) * share
                loss.backward()
                total = total + loss.detach()
        norm = self.torch.nn.utils.clip_grad_norm_(self.weights.values(), self.schedule.clip)
        share = rate(min(self._place(), self.steps), self.steps, self.schedule.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * share
        if self.schedule.skip and not math.isfinite(float(norm + total)):
            self.history.skipped += 1
            if self.history.skipped <= self.schedule.skip * self.steps:
                self.optimizer.zero_grad(set_to_none=True)
                self.step += 1
                return None
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        if self.mean:
            # The mean of the weights (Polyak and Juditsky 1992). A young one moves fast: with the
            # full decay the first weights, which know nothing, would stay in it for long.
            decay = min(self.schedule.average, self.step / (self.step + 10))
            with self.torch.no_grad():
                self.torch._foreach_lerp_(
                    list(self.mean.values()), list(self.weights.values()), 1 - decay
                )
        return total

    def _pieces(self, indices: Sequence[int]) -> list[Sequence[int]]:
        """Return a batch in pieces that fit into memory."""
        most = self.schedule.batch_tokens
        if not most:
            return [indices]
        longest = max(self.lengths[index] for index in indices)
        if longest >= TOGETHER:
            return [indices]
        pieces = min(len(indices), -(-longest * len(indices) // most))
        return [piece.tolist() for piece in np.array_split(np.asarray(indices), pieces)]

    def _place(self) -> float:
        """Return the step that the rate is at: further on where the time would end before."""
        limit = self.schedule.max_minutes * 60
        spent = (time.monotonic() - self.started) / limit if limit else 0.0
        return max(self.step, spent * self.steps)

    def _evaluate(self, epoch: int) -> None:
        self.learner.module.eval()
        # The running mean stands in the weights' place while dev is looked at. The optimizer goes
        # on from the weights themselves: its moments belong to them.
        current = {name: self.weights[name].detach().clone() for name in self.mean}
        self._put(self.mean)
        try:
            with self.torch.inference_mode():
                self.dev = dict(self.learner.dev())
        finally:
            self._put(current)
        done, best = self.history.evaluations, self.history.best
        done.append({"epoch": epoch + 1, "loss": self._loss(), **self.dev})
        if best < 0 or self.dev["score"] > done[best]["score"]:
            self.history.best = len(done) - 1
            kept = self.mean or self.weights
            self.best = {name: value.detach().clone() for name, value in kept.items()}
        elif len(done) - 1 - best >= self.schedule.patience:
            self.history.stopped_early = True

    def _put(self, values: Mapping[str, Any]) -> None:
        with self.torch.no_grad():
            for name, value in values.items():
                self.weights[name].copy_(value)

    def _tell(self, started: float, first: int, *, evaluated: bool = False) -> None:
        if self.report:
            spent = (time.monotonic() - started) / max(1, self.step - first)
            self.report(
                TrainingProgress(
                    step=self.step,
                    steps=self.steps,
                    epoch=bisect_right(self.ends, self.step - 1) + 1,
                    loss=self._loss(),
                    dev=self.dev,
                    seconds_left=spent * (self.steps - self.step),
                    evaluated=evaluated,
                )
            )

    def _loss(self) -> float:
        loss = 0.0 if not self.step else math.nan if self.loss is None else float(self.loss)
        if not math.isfinite(loss):
            raise MoralscopeError(
                f"the loss is not a number from step {self.step}", "take a lower learning rate"
            )
        return loss

    def _save(self) -> None:
        if self.path is None:
            return
        state = self.optimizer.state
        moments = {
            f"{kind}.{name}": state[weight][kind]
            for name, weight in self.weights.items()
            if weight in state
            for kind in ("exp_avg", "exp_avg_sq", "step")
        } | {f"mean.{name}": value for name, value in self.mean.items()}
        write_checkpoint(
            self.path,
            Checkpoint(
                self.key,
                self.step,
                None if self.loss is None else float(self.loss),
                asdict(self.history),
                self.weights,
                self.best,
                moments,
            ),
        )
        self.saved_step = self.step

    def _resume(self) -> None:
        saved = read_checkpoint(self.path, self.key) if self.path else None
        if saved is None:
            return
        self._put(saved.weights)
        for name, mean in self.mean.items():
            mean.copy_(saved.moments[f"mean.{name}"])
        for name, weight in self.weights.items():
            self.optimizer.state[weight] = {
                kind: saved.moments[f"{kind}.{name}"].to(weight.device)
                for kind in ("exp_avg", "exp_avg_sq", "step")
            }
        device = next(iter(self.weights.values())).device
        self.best = {name: value.to(device) for name, value in saved.best.items()}
        self.step = self.saved_step = saved.step
        self.loss = None if saved.loss is None else self.torch.tensor(saved.loss, device=device)
        self.history = History(**saved.history)
