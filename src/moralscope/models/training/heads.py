"""Heads over one body: what each tells, by which loss it is learnt, and how much it weighs.

A loss is a registered name. It sees a whole batch and returns a number a row, so a loss that sets
rows against each other (ranking, contrastive) fits as well as one that looks at each row alone. To
add one: write the function, register it, name it in a recipe. An example with an `other` text is
learnt by `ranking`, unless its head is contrastive.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from moralscope.core.options import Option
from moralscope.core.registry import look_up
from moralscope.models.classifiers.module import Slices
from moralscope.models.training.options import ModelTraining

CONTRASTIVE = "contrastive"  # its head has no columns: the body's own rows are compared
RANKING = "ranking"
RIDGE = "ridge"  # not learnt with the rest: fitted on the still body at the end
TEMPERATURE = 0.05  # of likeness; the base was trained with it too


@dataclass(frozen=True, slots=True)
class Head:
    """One task's columns of the last layer.

    `tied` names the head whose columns are read instead of own ones; one that is not `kept` helps
    while learning and is thrown away.
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
    """Return which columns belong to which head."""
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

    `targets` has the column of each row's label, `values` the numbers wanted (0 outside). `others`
    are the logits of each row's other text (0 where it has none), `vectors` and `keys` the body's
    rows of both, `paired` says which rows have one, and `key_ids` tells equal ones.
    """

    logits: Any
    outside: Any
    targets: Any
    values: Any
    others: Any = None
    vectors: Any = None
    keys: Any = None
    paired: Any = None
    key_ids: Any = None


@dataclass(frozen=True, slots=True)
class Loss:
    """How a head is learnt (`rows`: a loss a row) and how its columns are read afterwards."""

    kind: str
    rows: Callable[[HeadBatch, ClassifierTraining], Any]


def find_loss(name: str) -> Loss:
    """Return a loss; an unknown name is refused with the nearest."""
    return look_up("loss", name, LOSSES)


def cross_entropy(batch: HeadBatch, training: ClassifierTraining) -> Any:
    """One label holds: minus its log-probability, smoothed, and R-Drop (Liang et al. 2021)."""
    import torch

    chosen = torch.log_softmax(batch.logits, dim=1)
    hard = torch.nn.functional.one_hot(batch.targets.clamp(min=0), chosen.shape[1]).float()
    taught = batch.values.sum(1, keepdim=True) > 0  # soft labels stand for the hard one
    loss = -(torch.where(taught, batch.values, hard) * chosen).sum(1)
    if training.smoothing:
        inside = (~batch.outside).float()
        spread = -(chosen * inside).sum(1) / inside.sum(1).clamp(min=1)
        loss = (1 - training.smoothing) * loss + training.smoothing * spread
    if training.consistency:  # the batch was read twice: its halves are the two readings
        first, second = chosen.chunk(2)
        apart = 0.5 * ((first.exp() - second.exp()) * (first - second)).sum(1)
        loss = loss + training.consistency * torch.cat([apart, apart])
    return loss


def multi_label(batch: HeadBatch, training: ClassifierTraining) -> Any:
    """Several labels may hold: binary cross-entropy, the mean of the head's columns."""
    import torch

    losses = torch.nn.functional.binary_cross_entropy_with_logits(
        batch.logits, batch.values, reduction="none"
    )
    inside = (~batch.outside).float()
    return (losses * inside).sum(1) / inside.sum(1).clamp(min=1)


def regression(batch: HeadBatch, training: ClassifierTraining) -> Any:
    """Return the squared error of a place on a scale."""
    errors = (batch.logits - batch.values).masked_fill(batch.outside, 0.0) ** 2
    inside = (~batch.outside).float()
    return (errors * inside).sum(1) / inside.sum(1).clamp(min=1)


def ranking(batch: HeadBatch, training: ClassifierTraining) -> Any:
    """Return how far a row is from standing above its other text: Bradley and Terry's loss.

    What is compared is the label's logit, less those of the head's other labels where it has some.
    """
    import torch

    def value(logits: Any) -> Any:
        label = logits.gather(1, batch.targets.clamp(min=0)[:, None])[:, 0]
        rest = logits.scatter(1, batch.targets.clamp(min=0)[:, None], -1e4)
        rest = torch.logsumexp(rest.masked_fill(batch.outside, -1e4), 1)
        return label - torch.where(rest > -5e3, rest, torch.zeros_like(rest))

    return torch.nn.functional.softplus(value(batch.others) - value(batch.logits))


def contrastive(batch: HeadBatch, training: ClassifierTraining) -> Any:
    """Find each row's other text among those of the batch (InfoNCE; van den Oord et al. 2018)."""
    import torch

    queries, keys = (
        torch.nn.functional.normalize(side, dim=1) for side in (batch.vectors, batch.keys)
    )
    likeness = queries @ keys.T / TEMPERATURE
    itself = torch.eye(len(queries), dtype=torch.bool, device=queries.device)
    same = (batch.key_ids[:, None] == batch.key_ids[None, :]) & ~itself
    likeness = likeness.masked_fill(same | ~batch.paired[None, :], -1e4)
    return -torch.log_softmax(likeness, dim=1).diagonal()


LOSSES = {
    "cross_entropy": Loss("one", cross_entropy),
    "multi_label": Loss("many", multi_label),
    "regression": Loss("scale", regression),
    "graded": Loss("scale", multi_label),  # a scale whose sigmoid is wanted
    RIDGE: Loss("scale", regression),
    RANKING: Loss("scale", ranking),
    CONTRASTIVE: Loss("scale", contrastive),
}
