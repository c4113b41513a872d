"""Experts for rules and replies: the shipped ones by their base, a user's folder, or scripted."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier, ExpertSet, Matrix, Pair
from moralscope.core.records import ModelRef
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.options import DEFAULT_EXPERTS, LARGE
from moralscope.models.store import Progress
from moralscope.rules.records import ALIGNMENTS, FOUNDATIONS, SCALES
from moralscope.rules.reply_reader import CONCERN, CONCERNS, VERDICT, VERDICTS
from moralscope.rules.verdict import TASK
from moralscope.stories.experts import RULES, prepare_experts

FOUNDATIONS_TASK = "foundations"
_LEAST = 1e-6  # a probability below it counts as this


def prepare_rule_experts(
    name: str, *, eight_bits: bool = False, progress: Progress | None = None
) -> ExpertSet:
    """Load the experts that `name` means: a shipped set by its name, `scripted`, or a folder.

    `large` reads replies and rules with those on mpnet and a larger set beside them.
    """
    if name == "scripted":
        return ScriptedExperts(
            {
                VERDICT: VERDICTS,
                CONCERN: CONCERNS,
                TASK: ALIGNMENTS,
                FOUNDATIONS_TASK: FOUNDATIONS,
                **{scale: (scale,) for scale in SCALES},
            },
            retrieval=True,
            operating_points={VERDICT: (0.5, 0.85), TASK: (0.6, 0.5, 0.5)},  # one in ten is bad
        )
    if name == LARGE:
        first, second = (
            prepare_experts(base, family=RULES, eight_bits=eight_bits, progress=progress)
            for base in (DEFAULT_EXPERTS, LARGE)
        )
        return JointExperts(first, second, (TASK, VERDICT), f"{RULES}-{LARGE}")
    return prepare_experts(name, family=RULES, eight_bits=eight_bits, progress=progress)


class JointExperts:
    """An `ExpertSet`: the `first` one, with `second` beside it for some `tasks` of one label.

    Their probabilities are the mean of both, over logarithms: the errors of one are not the
    other's. One pass of `read` has the columns of both.
    """

    def __init__(
        self, first: ExpertSet, second: ExpertSet, tasks: Sequence[str], name: str
    ) -> None:
        for task in tasks:
            if first.labels(task) != second.labels(task):
                raise InputError(f"the two sets of experts differ in '{task}'", "train one again")
        self._sets, self._shared = (first, second), tuple(tasks)
        self._width = first.read([("", "a")])[0].shape[1]
        parts = f"{first.ref.sha256} {second.ref.sha256} {' '.join(tasks)}"
        self.ref = ModelRef(name, sha256(parts.encode()).hexdigest())
        self.bits, self.tasks, self.retrieval = first.bits, first.tasks, first.retrieval
        self.labels, self.thresholds = first.labels, first.thresholds
        self.windows, self.embed = first.windows, first.embed
        self.card = {**second.card, "beside": dict(first.card)}
        points = {task: second.operating_points.get(task) for task in tasks}
        chosen = {task: point for task, point in points.items() if point}
        self.operating_points = {**first.operating_points, **chosen}

    def expert(self, task: str) -> Classifier:
        """Return the expert for one task."""
        experts = [one.expert(task) for one in self._sets[: 1 + (task in self._shared)]]
        if len(experts) == 1:
            return experts[0]
        return _Mean(f"{self.ref.name}/{task}", self.ref.sha256, experts)

    def read(self, pairs: Sequence[Pair]) -> tuple[Matrix, Matrix]:
        """Return the raw columns of both sets, and the first one's vectors."""
        (columns, vectors), (more, _) = (experts.read(pairs) for experts in self._sets)
        return np.concatenate([columns, more], axis=1), vectors

    def told(self, task: str, columns: Matrix) -> Matrix:
        """Return the values of one task, of the columns that `read` returned."""
        parts = columns[:, : self._width], columns[:, self._width :]
        used = self._sets[: 1 + (task in self._shared)]
        rows = [one.told(task, part) for one, part in zip(used, parts, strict=False)]
        return _mean(rows) if len(rows) > 1 else rows[0]


class _Mean:
    """A task that both sets decide: a `Classifier`."""

    def __init__(self, name: str, checksum: str, parts: Sequence[Classifier]) -> None:
        self.name, self.checksum = name, checksum
        self._parts, self.labels = parts, parts[0].labels

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        return _mean([part.probabilities(pairs) for part in self._parts])


def _mean(parts: Sequence[Matrix]) -> Matrix:
    rows = np.exp(np.mean([np.log(np.maximum(part, _LEAST)) for part in parts], axis=0))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float32)
