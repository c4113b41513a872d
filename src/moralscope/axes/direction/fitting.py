"""Fit the moral direction of an encoder: first principal component, or by labels.

Schramowski et al. 2019: encode every question of the template about each selected action, take
the mean per action, and let the first principal component of these means be the moral direction
m. The sign of a component is luck, so anchor actions fix it: good is positive. (The paper's
Table 9 has it the other way round.) Projecting actions on a fitted direction is `axis`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from moralscope.axes.direction.components import (
    LEADING,
    difference_shares,
    leading_component,
    measure_stability,
    principal_components,
    prominence,
    unit,
)
from moralscope.axes.direction.labelled import METHODS, cross_validate
from moralscope.axes.prompts import encode_finite, question_rows
from moralscope.axes.records import Anchors, Prominence, Stability
from moralscope.axes.templates import Template
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder, Floats
from moralscope.stats.correlation import auc

PCA, LABELLED = "pca", "labelled"
FITS = (PCA, LABELLED)
MAX_ACTIONS = 2000
_MIN_LABELLED = 2


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DirectionSettings:
    """What is known of a fitted direction beside its vectors."""

    fit: str
    method: str
    encoder: str
    checksum: str
    template: str
    fingerprint: str
    centres: tuple[float, float]
    """the zeros of both axes of the map: the middle of the fitting actions"""
    scales: tuple[float, float]
    actions: tuple[str, ...]  # those that it was fitted on
    anchors: Anchors
    separation: float  # share of good and bad anchor pairs in the right order
    explained: tuple[float, ...]
    explained_differences: tuple[float, ...]
    prominence: Prominence
    stability: Stability
    validation: dict[str, float] = field(default_factory=dict)
    """the cross-validated separation of each labelled method"""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Direction(DirectionSettings):
    """A fitted direction: two unit vectors at right angles, their zeros and scales, and its record.

    The score of a row x is (x . vector - centre) / scale: zero is the middle of the fitting
    actions, one is their standard deviation. The paper's raw projection is score x scale.
    """

    vector: Floats
    second: Floats  # spans the other axis of the map
    positions: Floats  # of the fitting actions on the map

    def project(self, rows: Floats) -> Floats:
        """Return scores and second coordinates of rows, in the last dimension."""
        basis = np.stack([self.vector, self.second])
        # einsum sums each row alone: a score does not depend on the rows beside it.
        raw: Floats = np.einsum("...d,kd->...k", rows, basis)
        placed: Floats = (raw - np.array(self.centres)) / np.array(self.scales)
        return placed


def fit_pca(
    encoder: Encoder,
    template: Template,
    actions: Sequence[str],
    anchors: Anchors | None = None,
    *,
    seed: int = 0,
) -> Direction:
    """Fit the first principal component of the actions' mean question embeddings."""
    chosen = _distinct(actions)
    if len(chosen) <= LEADING:
        raise InputError(
            f"a direction of {LEADING} components needs more than {LEADING} different actions, "
            f"not {len(chosen)}",
            "give a longer list to fit on",
        )
    anchors = anchors or Anchors()
    rows = _mean_rows(encoder, template, chosen)
    vector = principal_components(rows).axes[0]
    good, bad = (_mean_rows(encoder, template, side) for side in (anchors.good, anchors.bad))
    if (good @ vector).mean() < (bad @ vector).mean():
        vector = -vector
    # A component has no labels: all actions are one group that the bootstrap draws from.
    stability = measure_stability(
        vector,
        chosen,
        np.zeros(len(chosen), dtype=np.int64),
        lambda indices: leading_component(rows[indices]),
        seed,
    )
    middle = float((rows @ vector).mean())
    fitted = _Fitted(PCA, "first principal component", vector, middle, stability)
    return _direction(encoder, template, chosen, rows, (anchors, good, bad), fitted)


def fit_labelled(
    encoder: Encoder, template: Template, labels: Anchors, *, seed: int = 0
) -> Direction:
    """Fit the axis that tells labelled good actions from bad ones.

    Of the methods the better one under cross-validation inside the labels is taken, the simpler
    one at a tie. Zero is half way between the means of the two classes.
    """
    good, bad = _distinct(labels.good), _distinct(labels.bad)
    for side, listed in (("good", good), ("bad", bad)):
        if len(listed) < _MIN_LABELLED:
            raise InputError(
                f"only {len(listed)} of the labelled actions are {side}",
                f"label at least {_MIN_LABELLED} good and {_MIN_LABELLED} bad ones",
            )
    both = [action for action in good if action in set(bad)]
    if both:
        raise InputError(f"'{both[0][:60]}' is labelled good and bad", "give it one label")
    actions = (*good, *bad)
    rows = _mean_rows(encoder, template, actions)
    is_good = np.arange(len(actions)) < len(good)
    validation = cross_validate(rows, is_good)
    name = max(METHODS, key=lambda name: validation.get(name, 0.0))
    fit = METHODS[name]
    vector = fit(rows, is_good)
    stability = measure_stability(
        vector,
        actions,
        is_good.astype(np.int64),
        lambda indices: fit(rows[indices], is_good[indices]),
        seed,
    )
    projected = rows @ vector
    # Half way between the class means, not the mean of all: with more good labels than bad ones
    # the mean would lie inside the good class, and a neutral action would look bad.
    middle = float(projected[is_good].mean() + projected[~is_good].mean()) / 2
    fitted = _Fitted(LABELLED, name, vector, middle, stability, validation)
    sides = (Anchors(good, bad), rows[is_good], rows[~is_good])
    return _direction(encoder, template, actions, rows, sides, fitted)


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """What the two ways of fitting hand to the common rest."""

    fit: str
    method: str
    vector: Floats
    middle: float
    stability: Stability
    validation: dict[str, float] = field(default_factory=dict)


def _direction(
    encoder: Encoder,
    template: Template,
    actions: tuple[str, ...],
    rows: Floats,
    anchored: tuple[Anchors, Floats, Floats],
    fitted: _Fitted,
) -> Direction:
    vector = fitted.vector
    shares = principal_components(rows).shares
    # The strongest component at right angles to the axis; its largest action is upwards. A labelled
    # axis is no principal component, so the second one need not be at right angles to it: take the
    # axis out of the rows first, and once more out of the result against rounding.
    centred = rows - rows.mean(axis=0)
    rest = centred - np.outer(centred @ vector, vector)
    second = principal_components(rest, centred=False).axes[0]
    second = unit(second - (second @ vector) * vector)
    heights = centred @ second
    if heights[np.abs(heights).argmax()] < 0:
        second = -second
    raw = rows @ np.stack([vector, second]).T
    centres = (fitted.middle, float(raw[:, 1].mean()))
    scales = tuple(float(value) for value in raw.std(axis=0, ddof=1))
    # Relative to the rows' own length: what is left when all rows are equal is rounding, and would
    # be blown up to scores of size one.
    if scales[0] <= 1e-9 * float(np.linalg.norm(rows, axis=1).max()):
        problem = f"{encoder.name} sees no difference between the fitting actions"
        raise InputError(problem, "give others, or another encoder")
    anchors, good, bad = anchored
    projected = np.concatenate([good, bad]) @ vector
    answers = (
        encode_finite(encoder, side).mean(axis=0) for side in (template.positive, template.negative)
    )
    differences = difference_shares(rows, *answers)
    # A table without a second dimension has a map without height.
    scales = (scales[0], scales[1] or 1.0)
    return Direction(
        fit=fitted.fit,
        method=fitted.method,
        encoder=encoder.name,
        checksum=encoder.checksum,
        template=template.name,
        fingerprint=template.fingerprint,
        vector=vector,
        second=second,
        centres=centres,
        scales=scales,
        actions=actions,
        positions=(raw - centres) / scales,
        anchors=anchors,
        separation=auc(projected, np.arange(len(projected)) < len(good)),
        explained=tuple(shares[:LEADING].tolist()),
        explained_differences=tuple(differences[:LEADING].tolist()),
        prominence=prominence(shares),
        stability=fitted.stability,
        validation=fitted.validation,
    )


def _mean_rows(encoder: Encoder, template: Template, actions: Sequence[str]) -> Floats:
    means: Floats = question_rows(encoder, template, actions).mean(axis=1)
    return means


def _distinct(actions: Sequence[str]) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(actions))
    if len(chosen) > MAX_ACTIONS:
        raise InputError(
            f"{len(chosen):,} actions are too many to fit a direction on",
            f"give at most {MAX_ACTIONS:,}",
        )
    return chosen
