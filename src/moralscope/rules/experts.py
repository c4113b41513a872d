"""Experts for rules and replies: the shipped ones by their base, a user's folder, or scripted."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np

from moralscope.core.errors import InputError
from moralscope.core.protocols import Classifier, ExpertSet, Matrix, Pair
from moralscope.core.records import ModelRef
from moralscope.models.classifiers.scripted import ScriptedExperts
from moralscope.models.options import CASCADE, DEFAULT_EXPERTS, LARGE
from moralscope.models.store import Progress
from moralscope.rules.records import ALIGNMENTS, FOUNDATIONS, SCALES
from moralscope.rules.reply_reader import CONCERN, CONCERNS, VERDICT, VERDICTS
from moralscope.rules.verdict import TASK
from moralscope.stories.experts import RULES, prepare_experts

FOUNDATIONS_TASK = "foundations"
_LEAST = 1e-6  # a probability below it counts as this
_SHARED = {TASK: "disagree", VERDICT: "bad"}  # what the label says that something is wrong
# Below this probability of it the first set decides alone. On dev organisations 28 % of pairs are
# above, and no decision at the limit changes (bench/own_rules.py --cascade).
SURE = 0.1


def prepare_rule_experts(
    name: str, *, eight_bits: bool = False, progress: Progress | None = None
) -> ExpertSet:
    """Load the experts that `name` means: a shipped set by its name, `scripted`, or a folder.

    `large` reads replies and rules with those on mpnet and a larger set beside them; in a
    `cascade` mpnet decides alone where it is sure that nothing is wrong.
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
    if name in (LARGE, CASCADE):
        first, second = (
            prepare_experts(base, family=RULES, eight_bits=eight_bits, progress=progress)
            for base in (DEFAULT_EXPERTS, LARGE)
        )
        sure = SURE if name == CASCADE else 0.0
        return JointExperts(first, second, _SHARED, f"{RULES}-{name}", sure)
    return prepare_experts(name, family=RULES, eight_bits=eight_bits, progress=progress)


class JointExperts:
    """An `ExpertSet`: the `first` one, with `second` beside it for some `tasks` of one label.

    Their probabilities are the mean of both, over logarithms: the errors of one are not the
    other's. One pass of `read` has the columns of both. `tasks` says which label of each is to be
    feared: where the first set gives it less than `sure`, the second is not asked. `share_asked`
    says how often it was.
    """

    def __init__(
        self,
        first: ExpertSet,
        second: ExpertSet,
        tasks: Mapping[str, str],
        name: str,
        sure: float = 0.0,
    ) -> None:
        for task in tasks:
            if first.labels(task) != second.labels(task):
                raise InputError(f"the two sets of experts differ in '{task}'", "train one again")
        self._first, self._second, self._shared, self._sure = first, second, dict(tasks), sure
        self._counts = [0, 0]
        self._width = first.read([("", "a")])[0].shape[1]
        parts = f"{first.ref.sha256} {second.ref.sha256} {' '.join(tasks)} {sure}"
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
        first = self._first.expert(task)
        if task not in self._shared:
            return first
        return _Joint(self, task, first, self._second.expert(task))

    def read(self, pairs: Sequence[Pair], *, middle: bool = False) -> tuple[Matrix, Matrix]:
        """Return the raw columns of both sets, and the first one's vectors.

        The second one's are not-a-number where the first one's verdict is sure.
        """
        columns, vectors = self._first.read(pairs, middle=middle)
        rows = self._first.told(VERDICT, columns) if VERDICT in self._shared else None
        doubtful = self.doubtful(VERDICT, rows) if rows is not None else range(len(pairs))
        asked, _ = self._second.read([pairs[index] for index in doubtful])
        more = np.full((len(pairs), asked.shape[1]), np.nan, np.float32)
        more[list(doubtful)] = asked
        return np.concatenate([columns, more], axis=1), vectors

    def told(self, task: str, columns: Matrix) -> Matrix:
        """Return the values of one task, of the columns that `read` returned."""
        first = self._first.told(task, columns[:, : self._width])
        more = columns[:, self._width :]
        known = np.flatnonzero(~np.isnan(more).any(axis=1))
        if task not in self._shared or not len(known):
            return first
        joint = np.array(first)
        joint[known] = _mean([first[known], self._second.told(task, more[known])])
        return joint

    def doubtful(self, task: str, rows: Matrix) -> list[int]:
        """Return which rows of the first set are not sure that nothing is wrong; count them."""
        label = self.labels(task).index(self._shared[task])
        doubtful: list[int] = np.flatnonzero(rows[:, label] >= self._sure).tolist()
        self._counts[0] += len(rows)
        self._counts[1] += len(doubtful)
        return doubtful

    @property
    def share_asked(self) -> float | None:
        """The share of readings that a cascade sent on; None before the first."""
        return self._counts[1] / self._counts[0] if self._sure and self._counts[0] else None


def cascade_notes(experts: ExpertSet | None) -> list[str]:
    """Say how much of its work a cascade sent on; nothing of other experts."""
    share = experts.share_asked if isinstance(experts, JointExperts) else None
    return [] if share is None else [f"mpnet decided {1 - share:.0%} alone and sent {share:.0%} on"]


class _Joint:
    """A task that both sets decide: a `Classifier`."""

    def __init__(
        self, experts: JointExperts, task: str, first: Classifier, second: Classifier
    ) -> None:
        self._experts, self._task, self._first, self._second = experts, task, first, second
        self.name, self.checksum = f"{experts.ref.name}/{task}", experts.ref.sha256
        self.labels = first.labels

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        rows = np.array(self._first.probabilities(pairs))
        doubtful = self._experts.doubtful(self._task, rows)
        if doubtful:
            more = self._second.probabilities([pairs[index] for index in doubtful])
            rows[doubtful] = _mean([rows[doubtful], more])
        return rows


def _mean(parts: Sequence[Matrix]) -> Matrix:
    rows = np.exp(np.mean([np.log(np.maximum(part, _LEAST)) for part in parts], axis=0))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), dtype=np.float32)
