"""What `rules learn` stores beside a rulebook, and how an audit uses it.

A small head on frozen vectors: with z = log(d / (1 - d)) and y = log(a / n) of the expert's
probabilities d (disagree), a (agree), n (neither) of a rule and an exchange, and their vector v,

    P(breaks) = sigmoid(s1 z + s2 y + intercept + bias of the rule + w v)

A calibration alone has no w. It is one JSON file: numbers, the rules' texts, and a card that says
what it learnt from and how much it gains; nothing in it is ever run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.protocols import ExpertSet, Floats, Matrix, Pair
from moralscope.core.records import Interval, to_plain
from moralscope.io.documents import read_document
from moralscope.io.files import write_whole
from moralscope.rules.records import ALIGNMENTS

SCHEMA = "moralscope.learnt/1"
_TASK = "alignment"
_SURE = 1e-6  # how near to zero or one a probability counts
_MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class LearntRule:
    """A rule that labels spoke of: how many, how many were breaches, and its bias."""

    text: str
    labels: int
    broken: int
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntCard:
    """What was learnt from, and what it gains on labels that it did not see."""

    labels: int
    broken: int
    before: Interval
    """F1 of the model alone, as the next: cross-validated, one reply in ten breaking a rule."""
    after: Interval
    p: float
    """How likely a gain as large would be if there were none: paired bootstrap over exchanges."""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearntRules:
    """A head or a calibration of some rules for one set of experts."""

    kind: str
    """head, or calibration: one without weights"""
    experts: str
    experts_sha256: str
    slopes: tuple[float, float]
    intercept: float
    weights: tuple[float, ...]
    limit: float
    """the probability from which these rules are broken"""
    rules: tuple[LearntRule, ...]
    card: LearntCard

    def __post_init__(self) -> None:
        numbers = [*self.slopes, self.intercept, self.limit, *self.weights]
        if not np.isfinite([*numbers, *(rule.bias for rule in self.rules)]).all():
            raise ValueError("holds a number that is not finite")

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
        raise InputError(f"{path} holds nothing that 'rules learn' wrote", remedy)
    return decode(LearntRules, plain, str(path), remedy=remedy, exact=True)


def head_features(rows: Matrix | Floats, vectors: Matrix) -> Floats:
    """Return z, y and the vector of each pair; `rows` are probabilities in the order ALIGNMENTS."""
    disagree, agree, neither = np.clip(rows.astype(np.float64), _SURE, 1 - _SURE).T
    logits = np.stack([np.log(disagree / (1 - disagree)), np.log(agree / neither)], axis=1)
    return np.concatenate([logits, vectors.astype(np.float64)], axis=1)


class LearntAlignment:
    """A `Classifier` of alignment: experts, and of some rules what was learnt over them."""

    def __init__(self, experts: ExpertSet, learnt: LearntRules) -> None:
        self._experts, self._learnt = experts, learnt
        self._bias = {" ".join(rule.text.split()): rule.bias for rule in learnt.rules}
        self._order = [experts.labels(_TASK).index(label) for label in ALIGNMENTS]
        self.name, self.labels = f"{experts.ref.name}/{_TASK}", ALIGNMENTS
        self.checksum = sha256(f"{experts.ref.sha256} {learnt.checksum}".encode()).hexdigest()
        width = experts.embed([]).shape[1]
        if learnt.weights and len(learnt.weights) != width:
            raise InputError(
                f"what was learnt has {len(learnt.weights)} weights and the experts' vectors "
                f"{width} numbers",
                "run 'moralscope rules learn' again",
            )

    def probabilities(self, pairs: Sequence[Pair]) -> Matrix:
        """Return one row a pair, columns as `labels`."""
        columns, vectors = self._experts.read(pairs)
        rows = np.array(self._experts.told(_TASK, columns)[:, self._order], dtype=np.float64)
        known = [index for index, (rule, _) in enumerate(pairs) if rule in self._bias]
        if known:
            learnt = self._learnt
            weights = learnt.weights or (0.0,) * vectors.shape[1]
            features = head_features(rows[known], vectors[known])
            bias = np.array([self._bias[pairs[index][0]] for index in known])
            score = features @ np.array([*learnt.slopes, *weights]) + learnt.intercept + bias
            breaks = 0.5 * (1 + np.tanh(0.5 * score))
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


def config_entry(learnt: LearntRules | None) -> Mapping[str, Any]:
    """Return what a run record says of it."""
    if learnt is None:
        return {}
    return {"learnt": {"kind": learnt.kind, "sha256": learnt.checksum, "rules": len(learnt.rules)}}
