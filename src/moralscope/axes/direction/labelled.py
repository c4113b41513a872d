"""An axis fixed by labels: difference of means, or linear discriminant with shrinkage.

Which of the two is decided by cross-validation inside the labelled actions alone. Data about
people never enters here. A user's list is plain text, or CSV and JSONL with a `label` beside the
`action`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.direction.components import unit
from moralscope.core.errors import InputError
from moralscope.core.protocols import Floats
from moralscope.io.actions import read_actions
from moralscope.io.tables import Layout, TableFile
from moralscope.stats.correlation import auc

MEANS, LDA = "difference of means", "linear discriminant"
_FOLDS, _REPEATS = 5, 10
_GOOD = {"good", "do", "positive", "yes", "fine", "1", "+1"}
_BAD = {"bad", "don't", "dont", "negative", "no", "wrong", "0", "-1"}
_REMEDY = "write good or bad under 'label'"
Labels = NDArray[np.bool_]  # True is good


def mean_difference(rows: Floats, good: Labels) -> Floats:
    """Return the unit vector from the mean of the bad rows to that of the good ones."""
    return unit(rows[good].mean(axis=0) - rows[~good].mean(axis=0))


def shrunk_discriminant(rows: Floats, good: Labels) -> Floats:
    """Return the unit vector of the linear discriminant with a Ledoit-Wolf covariance.

        w = S*^-1 (mean of good - mean of bad),   S* = (1 - a) S + a (tr S / d) I

    with S the covariance within the classes and `a` after Ledoit and Wolf 2004. S* is inverted
    through the table of n x n products (Woodbury): there are fewer labelled actions than
    dimensions.
    """
    difference = rows[good].mean(axis=0) - rows[~good].mean(axis=0)
    inner = np.where(good[:, None], rows - rows[good].mean(axis=0), rows - rows[~good].mean(axis=0))
    products = inner @ inner.T
    count, dimension = inner.shape
    mean_variance = float(np.trace(products)) / count / dimension
    share = ledoit_wolf_share(products, dimension)
    ridge = max(share, 1e-9) * mean_variance
    if ridge == 0:  # no spread inside the classes: nothing to weigh by
        return unit(difference)
    # Woodbury: (r I + c XᵀX)⁻¹ d = (d - Xᵀ (XXᵀ + (r / c) I)⁻¹ X d) / r, with c = (1 - a) / n. The
    # factor 1 / r goes with the length; the floors keep a = 0 and a = 1 solvable.
    kernel = products + np.eye(count) * (count * ridge / max(1 - share, 1e-9))
    return unit(difference - inner.T @ np.linalg.solve(kernel, inner @ difference))


def ledoit_wolf_share(products: Floats, dimension: int) -> float:
    """Return how far the covariance of centred rows is shrunk, from their inner products."""
    count = len(products)
    squares = float((products**2).sum()) / count**2
    trace = float(np.trace(products)) / count
    spread = (squares - trace**2 / dimension) / dimension
    noise = (float((np.diag(products) ** 2).sum()) / count - squares) / (dimension * count)
    # Rows of equal size in all directions have nothing to shrink towards: their spread is rounding.
    return min(noise, spread) / spread if spread > 1e-15 * trace**2 else 0.0


METHODS: Mapping[str, Callable[[Floats, Labels], Floats]] = {
    MEANS: mean_difference,
    LDA: shrunk_discriminant,
}


def cross_validate(rows: Floats, good: Labels) -> dict[str, float]:
    """Return, by method, how often a held-out good action lies above a held-out bad one (AUC).

    Ten times five stratified folds, drawn from a fixed seed: the choice of a method, and with it
    a score, never depends on the user's seed. Empty when a class is too small to be split.
    """
    if min(good.sum(), (~good).sum()) < _FOLDS:
        return {}
    areas: dict[str, list[float]] = {name: [] for name in METHODS}
    generator = np.random.default_rng(0)
    fold = np.empty(len(good), dtype=np.int64)
    for _ in range(_REPEATS):
        for side in (good, ~good):  # each class is split evenly
            fold[side] = generator.permutation(np.arange(side.sum()) % _FOLDS)
        for number in range(_FOLDS):
            held = fold == number
            for name, fit in METHODS.items():
                scores = rows[held] @ fit(rows[~held], good[~held])
                areas[name].append(auc(scores, good[held]))
    return {name: float(np.mean(values)) for name, values in areas.items()}


@dataclass(frozen=True, slots=True)
class LabelledActions:
    """All actions of a list, and those labelled good and bad."""

    actions: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]


def read_labelled(path: Path, *, all_labelled: bool) -> LabelledActions:
    """Read a list; with `all_labelled` an action without a label is refused, with its line."""
    actions = tuple(read_actions(path).actions)
    sides: dict[bool, list[str]] = {True: [], False: []}
    table = TableFile(path, layout=Layout(lines_as="action", lower=True))
    for line, cells in table.rows():
        if isinstance(cells, str) or not table.header or not cells["action"].strip():
            continue  # plain lines have no labels
        cell = cells.get("label")
        if cell is None and not table.typed:
            continue
        label = "" if cell is None else str(cell).strip()
        word = label.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        if not label:
            if all_labelled:
                raise InputError(f"{path} line {line} has no label", _REMEDY)
        elif word not in _GOOD | _BAD:
            raise InputError(f"{path} line {line} has the label {label[:40]!r}", _REMEDY)
        else:
            sides[word in _GOOD].append(cells["action"].strip())
    if all_labelled and not any(sides.values()):
        raise InputError(f"{path} has no labels", "add a column 'label' with good or bad in it")
    return LabelledActions(actions, tuple(sides[True]), tuple(sides[False]))
