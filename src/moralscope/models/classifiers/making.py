"""Make experts: put an adapter (or all weights) of a base through the training loop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.models.adapters import AdapterShape, with_adapter
from moralscope.models.classifiers.learning import Lesson, PairLearner
from moralscope.models.classifiers.module import Slices, build_network, load_body
from moralscope.models.classifiers.saved import ADAPTER, HEAD, read_settings
from moralscope.models.training import History, Schedule, train
from moralscope.models.training.loop import Report


@dataclass(frozen=True, slots=True)
class Making:
    """What to train and how. `adapter` None trains every weight; tied tasks share columns.

    Training starts from the mean of the adapters in `starts`: runs that set out from one point
    and saw other lessons are better averaged than each is alone (Wortsman et al. 2022).
    """

    base: Path
    labels: Mapping[str, tuple[str, ...]]
    schedule: Schedule = field(default_factory=Schedule)
    adapter: AdapterShape | None = field(default_factory=AdapterShape)
    max_length: int = 128
    smoothing: float = 0.0
    consistency: float = 0.0  # see `PairLearner`
    tied: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    starts: tuple[Path, ...] = ()


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
    slices = Slices(making.labels, making.tied, making.kinds)
    network = build_network(body, slices.width)
    _start_scales(network, slices, lessons)
    if making.starts:
        _start(network, slices, making.starts)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    learner = PairLearner(
        network,
        tokenizer,
        slices,
        lessons,
        dev,
        making.max_length,
        making.smoothing,
        making.consistency,
    )
    if making.schedule.epochs == 0:
        network.known = {}
    history = train(learner, making.schedule, checkpoint, report)
    network.eval()
    if network.known is None:
        network.known = {}  # from here on the body stays as it is: every pair goes through it once
    return learner, history


def keep_tasks(network: Any, slices: Slices, tasks: Sequence[str]) -> Slices:
    """Cut the last layer down to some tasks: what helped only while learning is thrown away."""
    import torch

    kept = Slices(
        {task: slices.labels[task] for task in tasks},
        kinds={task: slices.kinds[task] for task in tasks if task in slices.kinds},
    )
    columns = [column for task in tasks for column in range(*slices.of(task).indices(slices.width))]
    old = network.head
    network.head = torch.nn.Linear(old.in_features, kept.width).to(old.weight.device)
    with torch.no_grad():
        network.head.weight.copy_(old.weight[columns])
        network.head.bias.copy_(old.bias[columns])
    return kept


def _start_scales(network: Any, slices: Slices, lessons: Sequence[Lesson]) -> None:
    """Let a scale start at the mean of what is learnt: an adapter's rate would take long there."""
    import torch

    for task in slices.labels:
        values = [row.values for row in lessons if row.task == task and row.values]
        if slices.kind(task) == "scale" and values:
            with torch.no_grad():
                network.head.bias[slices.of(task)] = torch.tensor(values).float().mean(0)


def _start(network: Any, slices: Slices, folders: Sequence[Path]) -> None:
    """Put the mean of saved adapters into a network, and of heads where tasks are the same."""
    import torch
    from peft import set_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        adapters = [load_file(folder / ADAPTER) for folder in folders]
        heads = [load_file(folder / HEAD) for folder in folders]
        mean = {
            name: torch.stack([each[name].float() for each in adapters]).mean(0)
            for name in adapters[0]
        }
        found = set_peft_model_state_dict(network.body, mean)
        if found.unexpected_keys:
            raise KeyError(found.unexpected_keys[0])
        own = Slices(read_settings(folders[0]).tasks)
        with torch.no_grad():
            for task in set(own.labels) & set(slices.labels):
                for name, values in network.head.named_parameters():
                    rows = torch.stack([head[name][own.of(task)] for head in heads])
                    values[slices.of(task)] = rows.mean(0)
    except (OSError, SafetensorError, KeyError, RuntimeError, AttributeError) as error:
        names = ", ".join(map(str, folders))
        raise InputError(
            f"{names} cannot be started from ({type(error).__name__})",
            "give folders of 'stories train' with the same base, rank and tasks",
        ) from error
