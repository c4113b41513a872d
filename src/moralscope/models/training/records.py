"""What is learnt from, what the loop asks of a learner, and what it tells of a run.

Plain records: data sources in the subjects make examples, learners read them, `loop` tells where it
stands. Nothing is computed here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from moralscope.core.records import Statistics

Pair = tuple[str, str]


UNLABELLED = "unlabelled"  # the source and the group of what only a teacher can label
TOGETHER = 100_000  # added to the length of an example that is compared with all of its batch


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A labelled pair of one task."""

    task: str
    pair: Pair
    label: int
    """Which label holds; not read where `values` are. -1: nobody has said, a teacher shall."""
    weight: float = 1.0  # of its loss
    group: str = ""
    """What dev figures are told by; the task when empty."""
    among: int = 0
    """Where it is more than 0: decide between that many first labels only."""
    decides: float = 1.0
    """The weight of a dev example's group in the score that chooses."""
    turn: tuple[int, int] = (0, 1)
    """(i, n): it comes in every n-th epoch only, first in epoch i."""
    values: tuple[float, ...] = ()
    """A number a column, of many labels or a scale; of one label: its soft labels (a teacher's)."""
    other: Pair | None = None
    """A text that should come out below `pair` (ranking), or belongs to it (contrastive)."""


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
class History(Statistics):
    """What a run did: one entry an evaluation on dev, and which of them was best."""

    evaluations: list[dict[str, float]] = field(default_factory=list)
    best: int = -1
    stopped_early: bool = False
    steps: int = 0
    skipped: int = 0  # steps whose loss or gradient was no number
    seconds: float = 0.0  # of the process that ended the run, as the next
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

    def indices(self, epoch: int) -> Sequence[int]:
        """Return which examples an epoch has."""

    def loss(self, indices: Sequence[int]) -> Any: ...

    def dev(self) -> Mapping[str, float]: ...


Report = Callable[[TrainingProgress], None]
