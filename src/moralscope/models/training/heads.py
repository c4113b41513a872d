"""Heads over one body: what each tells, by which loss it is learnt, and how much it weighs.

A loss is a registered name. It sees a whole batch and returns a number a row, so a loss that sets
rows against each other (pairwise ranking, contrastive over a head's columns) fits as well as one
that looks at each row alone. To add one: write the function, register it, name it in a recipe.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from moralscope.core.options import Option
from moralscope.core.registry import registry
from moralscope.models.classifiers.module import Slices
from moralscope.models.training.base import ModelTraining


@dataclass(frozen=True, slots=True)
class Head:
    """One task's columns of the last layer.

    `tied` names the head whose columns are read instead of own ones; one that is not `kept` helps
    while learning and is thrown away.

    Examples
    --------
    >>> Head(("care", "fairness"), "multi_label").kind
    'many'
    """

    labels: tuple[str, ...]
    loss: str = "cross_entropy"
    weight: float = 1.0
    tied: str = ""
    kept: bool = True

    @property
    def kind(self) -> str:
        """How its columns are read once they are learnt: `module.KINDS`."""
        return find_loss(self.loss).kind


Heads = Mapping[str, Head]


def slices_of(heads: Heads) -> Slices:
    """Return which columns belong to which head.

    Examples
    --------
    >>> slices_of({"a": Head(("no", "yes")), "b": Head(("b",), "regression")}).kinds
    {'b': 'scale'}
    """
    return Slices(
        {name: head.labels for name, head in heads.items()},
        {name: head.tied for name, head in heads.items() if head.tied},
        {name: head.kind for name, head in heads.items() if head.kind != "one"},
    )


@dataclass(frozen=True, kw_only=True)
class ClassifierTraining(ModelTraining):
    """Settings of classifiers alone: those of the losses."""

    smoothing: Annotated[float, Option("Share spread over all labels.", least=0, most=0.9)] = 0.0
    consistency: Annotated[
        float,
        Option(
            "Read every batch twice with other dropout; answers that differ cost this much.",
            least=0,
            most=1000,
        ),
    ] = 0.0


@dataclass(frozen=True, slots=True)
class HeadBatch:
    """A batch as losses see it; columns of other heads are at -1e4 in `logits`.

    `targets` has the column of each row's label, `values` the numbers wanted (0 outside).
    """

    logits: Any
    outside: Any
    targets: Any
    values: Any


@dataclass(frozen=True, slots=True)
class Loss:
    """How a head is learnt (`rows`: a loss a row) and how its columns are read afterwards."""

    kind: str
    rows: Callable[[HeadBatch, ClassifierTraining], Any]


def find_loss(name: str) -> Loss:
    """Return a registered loss; another name is refused with the nearest."""
    found: Loss = registry.get("loss", name)
    return found


def cross_entropy(batch: HeadBatch, training: ClassifierTraining) -> Any:
    """One label holds: minus its log-probability, smoothed, and R-Drop (Liang et al. 2021)."""
    import torch

    chosen = torch.log_softmax(batch.logits, dim=1)
    loss = -chosen.gather(1, batch.targets[:, None])[:, 0]
    if training.smoothing:
        inside = (~batch.outside).float()
        spread = -(chosen * inside).sum(1) / inside.sum(1)
        loss = (1 - training.smoothing) * loss + training.smoothing * spread
    if training.consistency:  # the batch was read twice: its halves are the two readings
        first, second = chosen.chunk(2)
        apart = 0.5 * ((first.exp() - second.exp()) * (first - second)).sum(1)
        loss = loss + training.consistency * torch.cat([apart, apart])
    return loss


def multi_label(batch: HeadBatch, training: ClassifierTraining) -> Any:
    """Several labels may hold: binary cross-entropy, the mean of the head's columns."""
    import torch

    each = torch.nn.functional.binary_cross_entropy_with_logits(
        batch.logits, batch.values, reduction="none"
    )
    inside = (~batch.outside).float()
    return (each * inside).sum(1) / inside.sum(1)


def regression(batch: HeadBatch, training: ClassifierTraining) -> Any:
    """Return the squared error of a place on a scale."""
    each = (batch.logits - batch.values).masked_fill(batch.outside, 0.0) ** 2
    inside = (~batch.outside).float()
    return (each * inside).sum(1) / inside.sum(1)


registry.add("loss", "cross_entropy", Loss("one", cross_entropy))
registry.add("loss", "multi_label", Loss("many", multi_label))
registry.add("loss", "regression", Loss("scale", regression))
