"""The linear algebra of steering: remove a subspace, measure what is left of it, turn an axis.

Hard de-biasing (Bolukbasi et al. 2016, "neutralise"), on sentences (Liang et al. 2020), with the
removed subspace orthogonalised against what must stay:

    B = orth( (I - K Kᵀ) [ answer differences ; leading components of centred pairs ] )
    x' = x - strength · B Bᵀ x

where K is an orthonormal basis of the moral vectors. So x' · m = x · m for every moral vector m.
Nothing is done to the weights; rows are edited as they come out.

A linear edit hides a direction rather than forgetting it: Gonen & Goldberg 2019 ("Lipstick on a
Pig") show that words that leaned to one side still lie near each other, and that a probe still
finds the side. `leakage` has two figures of theirs; both have chance level 0.5.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.direction.components import angle, unit
from moralscope.axes.direction.fitting import Direction
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder, Floats, Pair
from moralscope.stats.summary import unit_rows

_NEGLIGIBLE = 1e-4  # of the largest singular value: rounding, not a direction
_FOLDS = 5
_NEIGHBOURS = 10
_RIDGE = 1e-2
_MARK = ", taught"
_SLACK = 0.01  # of a correction's own leverage: met to about a hundredth
Labels = NDArray[np.bool_]


def answer_differences(encoder: Encoder, answers: Sequence[Pair]) -> Floats:
    """Return unit(a) - unit(b) of every distinct pair of answers: a question is held against it."""
    distinct = list(dict.fromkeys(answers))
    first, second = (unit_rows(_rows(encoder, side)) for side in zip(*distinct, strict=True))
    return first - second


def pair_components(encoder: Encoder, sentences: Sequence[Pair], components: int) -> Floats:
    """Return the leading components of the pairs, each centred on its own mean."""
    if components < 1:
        raise InputError(f"{components} components were asked for", "give 1 or more")
    # A pair minus its mean is +d/2 and -d/2: the components are those of the halved differences.
    first, second = zip(*sentences, strict=True)
    basis = _orthonormal((_rows(encoder, first) - _rows(encoder, second)) / 2)
    if not len(basis):
        raise InputError("the pairs are all the same to this encoder", "give other pairs")
    return basis[:components]


def subspace(removed: Floats, keep: Floats) -> Floats:
    """Return an orthonormal basis of `removed` without what lies along `keep`."""
    basis = _orthonormal(removed)
    if len(keep):
        kept = _orthonormal(keep)
        basis = basis - (basis @ kept.T) @ kept
        # The rows were orthonormal, so a size is the sine of the angle to the kept space: what is
        # left of a direction that lay along it is rounding. Drop it, it points anywhere.
        _, sizes, rows = np.linalg.svd(basis, full_matrices=False)
        basis = rows[sizes > 1e-3]
    if not len(basis):
        raise InputError(
            "nothing is left to remove: the direction lies along the moral one",
            "give other pairs, or keep fewer axes",
        )
    return basis


def _orthonormal(vectors: Floats) -> Floats:
    """Return an orthonormal basis of the rows, largest components first."""
    _, sizes, rows = np.linalg.svd(vectors, full_matrices=False)
    return rows[sizes > _NEGLIGIBLE * max(float(sizes.max(initial=0)), 1e-12)]


def _rows(encoder: Encoder, texts: Sequence[str]) -> Floats:
    return encoder.encode(list(texts)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Leakage:
    """Share of words whose side a probe finds, and of neighbours on the same side."""

    probe: float
    neighbours: float
    n: int


def leaning(scores: Floats) -> tuple[NDArray[np.intp], Labels]:
    """Return the places of the words that lean most to either side, and which side that is."""
    count = max(1, int(len(scores) / 3))
    order = np.argsort(scores, kind="stable")
    return np.concatenate([order[:count], order[-count:]]), np.repeat([False, True], count)


def leakage(rows: Floats, sides: Labels, *, seed: int = 0) -> Leakage:
    """Measure how well the sides can be told from the rows."""
    rows = rows - rows.mean(axis=0)
    # The probe: cross-validated accuracy of ridge regression, its penalty relative to size.
    order = np.random.default_rng(seed).permutation(len(rows))
    targets = np.where(sides, 1.0, -1.0)
    right = 0
    for held in np.array_split(order, min(_FOLDS, len(rows))):
        train = np.setdiff1d(order, held)
        x, y = rows[train], targets[train]
        # Fewer words than dimensions: the n x n dual of ridge regression is the smaller system.
        products = x @ x.T
        penalty = _RIDGE * float(np.trace(products)) / len(x)
        weights = np.linalg.solve(products + max(penalty, 1e-12) * np.eye(len(x)), y - y.mean())
        guesses = rows[held] @ x.T @ weights + y.mean()
        right += int(((guesses > 0) == sides[held]).sum())
    # The share of the nearest by cosine (ten, fewer of few) that lie on the word's side.
    units = unit_rows(rows)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    count = max(1, min(_NEIGHBOURS, len(rows) // 4))
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    neighbours = float((sides[nearest] == sides[:, None]).mean())
    return Leakage(right / len(rows), neighbours, len(rows))


@dataclass(frozen=True, slots=True, eq=False)
class TaughtDirection:
    """The new direction and the angle, in degrees, between it and the old one."""

    direction: Direction
    degrees: float


def teach_direction(
    direction: Direction, fitting: Floats, corrected: Floats, targets: Floats, reach: float = 1.0
) -> TaughtDirection:
    """Refit a direction so that the corrected rows move to their targets, and little else does.

    With z = x - m the rows seen from the axis' zero, w the axis (score = z . w), C the second
    moments of the fitting actions and g the gaps between targets and scores of the corrected
    actions Z, the taught axis is w + d with

        d = argmin  dᵀ(C + r I) d + k |Z d - g|²  =  A⁻¹Zᵀ (Z A⁻¹Zᵀ + I/k)⁻¹ g,   A = C + r I

    The first term keeps the scores of the fitting actions and the axis itself, the second moves
    the corrected actions: ridge regression of the gaps, and the mean of a Gaussian conditioned on
    them. r is the mean variance of the fitting actions times `reach`: a small one changes little
    beside the corrected actions, a large one moves everything that is like them.

    `fitting` are the mean question embeddings of the actions that the direction was fitted on,
    `corrected` those of the corrected actions, with their wanted scores. The zero of the axis stays
    where it is.
    """
    centre, scale = direction.centres[0], direction.scales[0]
    mean = fitting.mean(axis=0)
    # The zero of the axis is a plane; its point nearest to the mean keeps all rows small, so that
    # turning the axis about it moves the fitting actions least.
    zero = mean + (centre - float(mean @ direction.vector)) * direction.vector
    old = direction.vector / scale
    spread = fitting - mean
    moments = spread.T @ spread / len(spread)
    ridge = reach * float(np.trace(moments)) / len(moments)
    rows = corrected - zero
    reached = np.linalg.solve(moments + ridge * np.eye(len(moments)), rows.T)
    leverage = rows @ reached
    # Slack in proportion to the corrections' own leverage: two nearly equal actions with opposite
    # targets would otherwise be met exactly by an enormous weight on what tells them apart.
    slack = _SLACK * float(np.trace(leverage)) / len(leverage) + 1e-12
    new = old + reached @ np.linalg.solve(
        leverage + slack * np.eye(len(leverage)), targets - rows @ old
    )
    # Back in the form of a direction: unit vector, zero and scale.
    vector = unit(new)
    second = unit(direction.second - float(direction.second @ vector) * vector)
    turned = dataclasses.replace(
        direction,
        method=f"{direction.method.removesuffix(_MARK)}{_MARK}",
        vector=vector,
        second=second,
        centres=(float(zero @ vector), float((fitting @ second).mean())),
        scales=(1 / float(np.linalg.norm(new)), direction.scales[1]),
    )
    turned = dataclasses.replace(turned, positions=turned.project(fitting))
    return TaughtDirection(turned, angle(unit(old), vector))
