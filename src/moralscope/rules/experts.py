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

    `large` reads rules with those on mpnet and a larger set beside them.
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
        return JointExperts(first, second, TASK, f"{RULES}-{LARGE}")
    return prepare_experts(name, family=RULES, eight_bits=eight_bits, progress=progress)


class JointExperts:
    """An `ExpertSet`: the `first` one, with `second` beside it for one `task`.

    Its probabilities are the mean of both, over logarithms: the errors of one are not the other's.
    """

    def __init__(self, first: ExpertSet, second: ExpertSet, task: str, name: str) -> None:
        if first.labels(task) != second.labels(task):
            raise InputError(f"the two sets of experts differ in '{task}'", "train one again")
        self._first, self._second, self._task = first, second, task
        parts = f"{first.ref.sha256} {second.ref.sha256} {task}"
        self.ref = ModelRef(name, sha256(parts.encode()).hexdigest())
        self.bits, self.tasks, self.retrieval = first.bits, first.tasks, first.retrieval
        self.labels, self.thresholds = first.labels, first.thresholds
        self.windows, self.embed = first.windows, first.embed
        self.read, self.told = first.read, first.told
        self.card = {**second.card, "beside": dict(first.card)}
        point = second.operating_points.get(task)
        self.operating_points = {**first.operating_points, **({task: point} if point else {})}

    def expert(self, task: str) -> Classifier:
        """Return the expert for one task."""
        expert = self._first.expert(task)
        return _Mean(self, expert, self._second.expert(task)) if task == self._task else expert


class _Mean:
    """The task that both sets decide: a `Classifier`."""

    def __init__(self, experts: JointExperts, *parts: Classifier) -> None:
        self._parts, self.labels = parts, parts[0].labels
        self.name = f"{experts.ref.name}/{experts._task}"
        self.checksum = experts.ref.sha256

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        logs = [np.log(np.maximum(part.probabilities(pairs), _LEAST)) for part in self._parts]
        rows = np.exp(np.mean(logs, axis=0))
        return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float32)
