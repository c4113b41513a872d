"""Make experts: put an adapter (or all weights) of a base through the training loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moralscope.engine.adapters import AdapterShape, with_adapter
from moralscope.engine.classifiers.learning import Lesson, PairLearner
from moralscope.engine.classifiers.module import Slices, build_network, load_body
from moralscope.engine.training import History, Schedule, train
from moralscope.engine.training.loop import Report


@dataclass(frozen=True, slots=True)
class Making:
    """What to train and how. `adapter` None trains every weight."""

    base: Path
    labels: Mapping[str, tuple[str, ...]]
    schedule: Schedule = field(default_factory=Schedule)
    adapter: AdapterShape | None = field(default_factory=AdapterShape)
    max_length: int = 128
    smoothing: float = 0.0


def make_experts(
    making: Making,
    lessons: Sequence[Lesson],
    dev: Sequence[Lesson],
    checkpoint: Path | None = None,
    report: Report | None = None,
) -> tuple[PairLearner, History]:
    """Train and return the learner with its best weights, and what happened."""
    import torch

    torch.manual_seed(making.schedule.seed)
    body, tokenizer = load_body(making.base, making.base.name)
    if making.adapter:
        body = with_adapter(body, making.adapter)
    slices = Slices(making.labels)
    network = build_network(body, slices.width)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    learner = PairLearner(
        network, tokenizer, slices, lessons, dev, making.max_length, making.smoothing
    )
    history = train(learner, making.schedule, checkpoint, report)
    network.eval()
    return learner, history


def keep_tasks(network: Any, slices: Slices, tasks: Sequence[str]) -> Slices:
    """Cut the last layer down to some tasks: what helped only while learning is thrown away."""
    import torch

    kept = Slices({task: slices.labels[task] for task in tasks})
    columns = [column for task in tasks for column in range(*slices.of(task).indices(slices.width))]
    old = network.head
    network.head = torch.nn.Linear(old.in_features, kept.width).to(old.weight.device)
    with torch.no_grad():
        network.head.weight.copy_(old.weight[columns])
        network.head.bias.copy_(old.bias[columns])
    return kept
