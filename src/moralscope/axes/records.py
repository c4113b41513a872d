"""What `score` finds in sum: typed, and as it stands in the run record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moralscope.axes.direction.components import Prominence, Stability
from moralscope.axes.direction.fitting import Anchors
from moralscope.axes.drift import Drift
from moralscope.axes.framings import Framings
from moralscope.axes.people import HumanAgreement
from moralscope.core.records import Interval, SampleInterval, Statistics, Usage, absent
from moralscope.stats.correlation import Correlation
from moralscope.stats.gates import GateResult
from moralscope.stats.summary import Summary


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageFigures(Statistics):
    """What a language model's answers looked like."""

    answer_mass: Interval
    """probability that lies on a valid answer"""
    neutral: Sequence[float] | None = absent()
    """log-odds of yes after neutral phrases, which every score is measured from"""
    usage: Usage | None = absent()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreStatistics(Statistics):
    """What `score` finds in sum."""

    scores: Summary
    paper_sums: Summary | None = absent()
    positive: int
    """actions whose whole interval lies above zero"""
    negative: int
    undecided: int
    direction: DirectionFigures | None = absent()
    layers: LayerCurve | None = absent()
    map: ActionMap | None = absent()
    language: LanguageFigures | None = absent()
    tasks: Mapping[str, int] | None = absent()
    """how many actions each expert judged"""
    verdicts: Mapping[str, int] | None = absent()
    people_agreement: Mapping[str, SampleInterval] | None = None
    """r with people's yes rates by population; None: nobody measured these weights"""
    framings: Framings | None = absent()
    gate: GateResult | None = absent()
    human: HumanAgreement | None = absent()
    drift: Drift | None = absent()
