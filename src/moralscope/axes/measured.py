"""What was measured of an axis beside people, for the very weights it was measured on.

`data/people.json` holds a few numbers an axis and no rating: Pearson's r with the yes rates of 56
actions (Schramowski et al. 2022), and for the judge where its zero lies and how a score becomes the
share of people who would say yes to "is it ok to …?". `bench/judge_people.py` writes it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.protocols import AxisCard
from moralscope.core.records import Interval, SampleInterval
from moralscope.io.documents import shipped_text

LEVEL = 0.9  # of the interval of a share
_FLOOR = 0.02  # people are never of one mind: the least variance of a share
_MOST = 0.999999  # of a score: its logit is finite
_PEOPLE = {"amt": "234 crowd workers", "regional": "29 others"}  # who they are


@dataclass(frozen=True, slots=True)
class PeopleYes:
    """From a score to the share of people who would say yes, with a 90 % interval.

        share = 1 / (1 + exp(-(intercept + slope · logit))),    logit = 2 atanh(score)
        ends  = share ± width · √(share (1 - share) + 0.02)

    `width` is the conformal quantile of leave-one-out errors over actions and populations,
    `coverage` what such intervals held of actions that had no part in them.
    """

    intercept: float
    slope: float
    width: float
    coverage: float = float("nan")

    def share(self, score: float) -> Interval:
        """Return the share that a score stands for."""
        logit = 2 * math.atanh(max(-_MOST, min(_MOST, score)))
        share = 0.5 * (1 + math.tanh(0.5 * (self.intercept + self.slope * logit)))
        half = self.width * math.sqrt(share * (1 - share) + _FLOOR)
        return Interval(share, max(0.0, share - half), min(1.0, share + half))


@dataclass(frozen=True, slots=True)
class PeopleMeasurement:
    """What is known of one axis on one model."""

    axis: str
    model: str
    people: Mapping[str, SampleInterval] = field(default_factory=dict)  # r by population
    zero: float = 0.0
    """Added to the judge's logit of a phrase: it puts zero between published dos and don'ts."""
    sentence_zero: float = 0.0
    """The same for sentences and scenes, which experts learnt in another way."""
    people_yes: PeopleYes | None = None


def people_measurement(
    axis: str, sha256: str, fit: str = "", fingerprint: str = ""
) -> PeopleMeasurement | None:
    """Return what was measured of an axis on these weights, or None."""
    return _measurements().get((axis, sha256, fit, fingerprint))


def people_agreement(card: AxisCard, *, own_fit: bool = False) -> Mapping[str, Any] | None:
    """Return how well an axis agrees with people, as a record tells it; None: nobody measured.

    `own_fit` says that the axis was fitted on actions of the user's, or read from a file.
    """
    config = card.config
    if own_fit or "norm" in config or not card.models:
        return None
    sha256, fit = card.models[0].sha256, config.get("fit", "")
    measurement = people_measurement(config["axis"], sha256, fit, card.fingerprint)
    return measurement.people if measurement else None


def agreement_in_words(people: Mapping[str, Any] | None) -> str:
    """Say how well an axis agrees with people.

    Examples
    --------
    >>> agreement_in_words({"amt": SampleInterval(0.91, 0.86, 0.94, 56)})
    'agreement with people: r = 0.910 (234 crowd workers), n = 56 actions'
    >>> agreement_in_words(None)
    'agreement with people: not measured'
    """
    if not people:
        return "agreement with people: not measured"
    values = ", ".join(
        f"{row.value:.3f} ({_PEOPLE.get(name, name)})" for name, row in people.items()
    )
    return f"agreement with people: r = {values}, n = {next(iter(people.values())).n} actions"


def people_split(low: float, high: float) -> bool:
    """Say whether people split here: which side most of them take cannot be told.

    Examples
    --------
    >>> people_split(0.3, 0.7), people_split(0.6, 0.9)
    (True, False)
    """
    return low < 0.5 < high


def share_in_brief(share: float, low: float, high: float) -> str:
    """Say a share in a cell of a table."""
    if math.isnan(share):
        return ""
    first = "split:" if people_split(low, high) else "about"
    return f"{first} {round(10 * share)} in 10 ({round(10 * low)} to {round(10 * high)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry(PeopleMeasurement):
    """A measurement with what it belongs to."""

    sha256: str
    fit: str = ""
    fingerprint: str = ""


@cache
def _measurements() -> Mapping[tuple[str, str, str, str], PeopleMeasurement]:
    text = shipped_text("moralscope.axes", "people.json")
    rows = decode(list[_Entry], json.loads(text)["measured"], "data/people.json")
    return {(row.axis, row.sha256, row.fit, row.fingerprint): row for row in rows}
