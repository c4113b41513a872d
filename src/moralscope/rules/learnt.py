"""What `rules learn` stores beside a rulebook, and how an audit uses it.

A small head on frozen vectors: with z = log(d / (1 - d)) of the experts' probability d that an
exchange breaks a rule, and their vector v of both, after two thirds of their layers,

    P(breaks) = sigmoid(slope z + intercept + w v), intercept and w of the rule

It is one JSON file: numbers, the rules' texts, and a card that says what it learnt from and how
much it gains; nothing in it is ever run.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.protocols import ExpertSet, Floats, Matrix, Pair
from moralscope.core.records import Interval, to_plain
from moralscope.io.documents import read_document
from moralscope.io.files import write_whole
from moralscope.models.classifiers.module import sigmoid
from moralscope.rules.records import ALIGNMENTS

SCHEMA = "moralscope.learnt/2"
_TASK = "alignment"
_SURE = 1e-6  # how near to zero or one a probability counts
_MAX_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class LearntRule:
    """A rule that labels spoke of: how many, and how many were breaches."""

    text: str
    labels: int
    broken: int


@dataclass(frozen=True, slots=True)
class LearntHead:
    """Parameters of a head: of its rules, in their order, intercepts and weights."""

    slope: float
    intercepts: Floats
    weights: Floats
    limit: float

    def scores(self, features: Floats, rules: NDArray[np.integer]) -> Floats:
        """Return the log-odds of a breach of rows of `head_features`, by the rule of each row."""
        weighed = (features[:, 1:] * self.weights[rules]).sum(axis=1)
        return np.asarray(self.slope * features[:, 0] + weighed + self.intercepts[rules])


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntCard:
    """What was learnt from, and what it gains on labels that it did not see."""

    labels: int
    broken: int
    before: Interval
    """F1 of the model alone, as the next: cross-validated, one reply in ten breaking a rule."""
    after: Interval
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntRules:
    """A head of some rules for one set of experts."""

    experts: str
    experts_sha256: str
    slope: float
    intercepts: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    """one row a rule, as the intercepts"""
    limit: float
    """the probability from which these rules are broken"""
    rules: tuple[LearntRule, ...]
    card: LearntCard

    def __post_init__(self) -> None:
        numbers = [self.slope, self.limit, *self.intercepts, *chain(*self.weights)]
        if not np.isfinite(numbers).all():
            raise ValueError("holds a number that is not finite")
        sizes = {len(self.rules), len(self.intercepts), len(self.weights)}
        if len(sizes) > 1 or len(set(map(len, self.weights))) > 1:
            raise ValueError("holds more rules than weights, or fewer")

    @property
    def limits(self) -> dict[str, float]:
        """The limit of each rule, by its text."""
        return {rule.text: self.limit for rule in self.rules}

    @property
    def checksum(self) -> str:
        """One checksum over everything that decides a probability."""
        return sha256(json.dumps(to_plain(self), sort_keys=True).encode()).hexdigest()


def learnt_path(rulebook: Path | str) -> Path:
    """Return where what was learnt for a rulebook lies: house.learnt.json beside house.yaml."""
    return Path(rulebook).expanduser().with_suffix(".learnt.json")


def write_learnt(path: Path, learnt: LearntRules) -> None:
    """Write what was learnt, whole or not at all."""
    plain = {"schema": SCHEMA, **to_plain(learnt)}
    write_whole(path, [(json.dumps(plain, indent=1) + "\n").encode()])


def read_learnt(path: Path) -> LearntRules:
    """Read what `rules learn` wrote; what is not of ours is refused in one line."""
    remedy = "run 'moralscope rules learn' again, or delete it"
    plain = read_document(path, "what was learnt", remedy, _MAX_BYTES).json_values()
    if not isinstance(plain, dict) or plain.pop("schema", None) != SCHEMA:
        raise InputError(f"{path} is not what 'rules learn' of this version writes", remedy)
    return decode(LearntRules, plain, str(path), remedy=remedy, exact=True)


def logit(chances: Floats | float) -> Floats:
    """Return log-odds; a probability near to zero or one counts as one that is less sure."""
    some = np.clip(np.asarray(chances, dtype=np.float64), _SURE, 1 - _SURE)
    return np.asarray(np.log(some / (1 - some)))


def rounded(values: Floats) -> tuple[float, ...]:
    """Return numbers as they are stored: seven digits are more than experts compute."""
    return tuple(float(f"{value:.7g}") for value in values)


def head_features(disagree: Matrix | Floats, vectors: Matrix) -> Floats:
    """Return z and the vector of each pair; `disagree` are probabilities."""
    return np.column_stack([logit(disagree.astype(np.float64)), vectors.astype(np.float64)])


class LearntAlignment:
    """A `Classifier` of alignment: experts, and of some rules what was learnt over them."""

    def __init__(self, experts: ExpertSet, learnt: LearntRules) -> None:
        self._experts = experts
        self._head = LearntHead(
            learnt.slope, np.array(learnt.intercepts), np.array(learnt.weights), learnt.limit
        )
        self._rules = {" ".join(rule.text.split()): n for n, rule in enumerate(learnt.rules)}
        self._order = [experts.labels(_TASK).index(label) for label in ALIGNMENTS]
        self.name, self.labels = f"{experts.ref.name}/{_TASK}", ALIGNMENTS
        self.checksum = sha256(f"{experts.ref.sha256} {learnt.checksum}".encode()).hexdigest()
        wide, width = self._head.weights.shape[-1], experts.embed([]).shape[1]
        if wide != width:
            raise InputError(
                f"what was learnt has {wide} weights and the experts' vectors {width} numbers",
                "run 'moralscope rules learn' again",
            )

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        columns, vectors = self._experts.read(pairs, middle=True)
        rows = np.array(self._experts.told(_TASK, columns)[:, self._order], dtype=np.float64)
        known = [index for index, (rule, _) in enumerate(pairs) if rule in self._rules]
        if known:
            features = head_features(rows[known, 0], vectors[known])
            rules = np.array([self._rules[pairs[index][0]] for index in known])
            breaks = sigmoid(self._head.scores(features, rules))
            others = np.maximum(1 - rows[known, 0], _SURE)
            rows[known, 1:] *= ((1 - breaks) / others)[:, None]
            rows[known, 0] = breaks
        return np.asarray(rows, dtype=np.float32)


def learnt_for(learnt: LearntRules | None, experts: ExpertSet) -> tuple[LearntRules | None, str]:
    """Return what was learnt with these experts, and what to say of it."""
    if learnt is None:
        return None, ""
    if learnt.experts_sha256 != experts.ref.sha256:
        return None, (
            "the saved training was made with other experts and is not used: run "
            "'moralscope rules learn' again"
        )
    card, count = learnt.card, len(learnt.rules)
    return learnt, (
        f"{count} {'rule is' if count == 1 else 'rules are'} judged by what was learnt from "
        f"{card.labels:,} labels (F1 {card.before.value:.2f} before, {card.after.value:.2f} after, "
        "cross-validated)"
    )
