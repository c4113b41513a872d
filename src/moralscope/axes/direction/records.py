"""What a run record says of a moral direction: how it was fitted, its map, its layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moralscope.axes.direction.components import Prominence, Stability
from moralscope.axes.direction.fitting import Anchors
from moralscope.core.records import Statistics, absent
from moralscope.stats.correlation import Correlation


@dataclass(frozen=True, slots=True)
class MapPoint:
    """Where an action that a direction was fitted from lies on the map."""

    action: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionMap(Statistics):
    """Actions in two dimensions, the moral one horizontal."""

    points: Sequence[tuple[float, float]]
    """one a result, in the order of the results"""
    fitting: Sequence[MapPoint]
    x_label: str
    y_label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectionFigures(Statistics):
    """What was found when a moral direction was fitted."""

    fit: str
    method: str
    fitted_on: int
    scale: str = "standard deviations of the fitting actions from their middle"
    raw_scale: float
    raw: str = "the paper's raw projection is score * raw_scale"
    anchors: Anchors
    separation: float
    """share of good and bad anchor pairs in the right order"""
    validation: Mapping[str, float]
    """the same, cross-validated, by method"""
    explained_variance: Sequence[float]
    explained_variance_differences: Sequence[float]
    stands_out: bool
    prominence: Prominence
    stability: Stability


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """What a layer's direction looks like."""

    layer: int
    variance: float
    """the first component's share"""
    separation: float
    """share of held-out good and bad actions in the right order"""
    stability: float
    """median angle in degrees of refits on other actions"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCurve(Statistics):
    """The directions of all layers of a language model, and which was chosen."""

    chosen: int
    curve: Sequence[LayerFigures]
    scores: Sequence[Sequence[float]] | None = absent()
    """of each action in each layer: (layers, actions)"""
    people: Sequence[Correlation] | None = absent()
    """each layer's scores with people's yes rates, where there are ratings"""
