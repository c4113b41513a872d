"""What is learnt from, what the loop asks of a learner, and what it tells of a run.

Plain records: data sources in the subjects make examples, learners read them, `loop` tells where it
stands. Nothing is computed here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A labelled pair of one task; `weight` scales its loss.

    Dev figures are told by `group` (the task when empty); `among` > 0 decides between that many
    first labels only. `decides` is the weight of a dev example's group in the score that chooses.
    An example with the `turn` (i, n) comes in every n-th epoch only, first in epoch i. Where many
    labels may hold, or the task is a scale, `values` has a number a column and `label` is not read;
    where one label holds, `values` are its soft labels (a teacher's probabilities). `other` is a
    text that should come out below `pair` (ranking), or the text that belongs to it (contrastive).
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
    other: Pair | None = None


@dataclass(frozen=True, slots=True)
class TextExample:
    """A prompt, the sentence to learn, and the group that dev figures are told by."""

    prompt: str
    target: str
    group: str


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """Where a run stands, for a progress bar."""

    step: int
    steps: int
    epoch: int
    loss: float
    dev: Mapping[str, float]
    seconds_left: float
    evaluated: bool = False  # whether dev was looked at just now


@dataclass
class History:
    """What a run did: one entry an evaluation on dev, and which of them was best.

    `seconds` and `examples_per_second` are of the process that ended the run.
    """

    evaluations: list[dict[str, float]] = field(default_factory=list)
    best: int = -1
    stopped_early: bool = False
    steps: int = 0
    seconds: float = 0.0
    examples_per_second: float = 0.0

    @property
    def best_evaluation(self) -> dict[str, float]:
        """What dev said when it was best."""
        return self.evaluations[self.best]


class Learner(Protocol):
    """What the loop asks of a model and its data. `score` of `dev()` decides: higher is better.

    `data_sha256` names all that is learnt from and looked at: by it a checkpoint is known.
    """

    module: Any

    @property
    def data_sha256(self) -> str: ...

    @property
    def lengths(self) -> Sequence[int]: ...

    def places(self, epoch: int) -> Sequence[int]:
        """Return which examples an epoch has."""

    def loss(self, places: Sequence[int]) -> Any: ...

    def dev(self) -> Mapping[str, float]: ...


Report = Callable[[TrainingProgress], None]
