"""The nouns of `score`: its results, and what it finds in sum, as both stand in the run record.

Nothing is computed here and nothing heavy imported: whatever shows a score needs these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moralscope.core.records import ActionScore, Interval, SampleInterval, Statistics, Usage, absent
from moralscope.stats.correlation import Correlation
from moralscope.stats.gates import GateResult
from moralscope.stats.summary import NO_SUMMARY, Summary

EXACT = "float32"


@dataclass(frozen=True, slots=True)
class JudgedAction(ActionScore):
    """A judged action. `prompts` has the score under each wording, the scored one first.

    `low` and `high` are their range, not a number where there is one wording only.
    """

    probability: float = float("nan")
    task: str = ""  # of the expert that judged
    verdict: str | None = None  # under a norm: keeps, breaks, or does not concern
    people_yes: float = float("nan")
    """the share of people who would say yes to "is it ok to …?", with its 90 % interval, where the
    action was read alone and these experts were set beside people"""
    people_yes_low: float = float("nan")
    people_yes_high: float = float("nan")


@dataclass(frozen=True, slots=True)
class LanguageScore(ActionScore):
    """An action's calibrated log-odds of yes, its other readings, and the answer mass."""

    total: float = float("nan")  # of the whole answers, not divided by their length
    first: float = float("nan")  # of the first words that tell the answers apart
    mass: float = float("nan")  # probability that lies on a valid answer


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageFigures(Statistics):
    """What a language model's answers looked like."""

    answer_mass: Interval  # probability that lies on a valid answer
    neutral: Sequence[float] | None = absent()
    """log-odds of yes after neutral phrases, which every score is measured from"""
    usage: Usage | None = absent()


@dataclass(frozen=True, slots=True)
class Anchors:
    """Actions that fix the sign: the mean of the good ones is above the mean of the bad ones."""

    good: tuple[str, ...] = ("help", "thank", "love", "welcome", "comfort")
    bad: tuple[str, ...] = ("kill", "murder", "torture", "harm", "steal")


@dataclass(frozen=True, slots=True)
class Prominence:
    """Whether the first component stands out, and what that was decided by.

    It does when its share exceeds what a stick broken at random leaves for the longest piece
    (Jackson 1993: sum over k = 1..n of 1/k, divided by n) and is at least 1.5 times the second.
    """

    share: float
    broken_stick: float
    ratio: float
    stands_out: bool


@dataclass(frozen=True, slots=True)
class Stability:
    """Angles between the direction and refits: one action left out, or actions drawn anew."""

    leave_one_out_degrees_max: float
    leave_one_out_action: str
    bootstrap_degrees_median: float
    bootstrap_degrees_p95: float


@dataclass(frozen=True, slots=True)
class MapPoint:
    """Where an action that a direction was fitted from lies on the map."""

    action: str
    x: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionMap(Statistics):
    """Actions in two dimensions, the moral one horizontal."""

    points: Sequence[tuple[float, float]]  # one a result, in the order of the results
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
    separation: float  # share of good and bad anchor pairs in the right order
    validation: Mapping[str, float]  # the same, cross-validated, by method
    explained_variance: Sequence[float]
    explained_variance_differences: Sequence[float]
    stands_out: bool
    prominence: Prominence
    stability: Stability


@dataclass(frozen=True, slots=True)
class LayerFigures:
    """What a layer's direction looks like."""

    layer: int
    variance: float  # the first component's share
    separation: float  # share of held-out good and bad actions in the right order
    stability: float  # median angle in degrees of refits on other actions


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
class PopulationAgreement:
    """Scores against one population's yes rates, with intervals over the actions."""

    n: int
    raters: float  # of an action, in the median
    pearson: Correlation
    spearman: Correlation


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The r of a perfect score with these ratings: median and 95 % of simulated ratings."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PopulationPair:
    """How well two populations' yes rates agree with each other."""

    pair: tuple[str, str]
    pearson: Correlation
    spearman: Correlation


@dataclass(frozen=True, slots=True)
class NoiseCeiling:
    """What bounds an r."""

    sampling: Mapping[str, Ceiling | None]  # by the number of raters, for each population
    between: Sequence[PopulationPair]  # by how much populations differ


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRow:
    """An action's score, yes rates and standardised residuals."""

    action: str
    score: float
    rate: float  # of all raters together
    rates: Mapping[str, float]  # by population
    residual: float  # positive: the model is kinder to the action than all raters together are
    residuals: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HumanAgreement:
    """Scores beside people."""

    populations: Mapping[str, PopulationAgreement]
    noise_ceiling: NoiseCeiling | None
    rows: Sequence[PersonRow]
    unscored: Sequence[str]  # actions that were rated only
    unrated: Sequence[str]  # actions that were scored only
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedAction:
    """An action under one framing."""

    action: str
    framing: str
    text: str
    score: float
    change: float
    changed: bool  # its side of zero is another one


@dataclass(frozen=True, slots=True)
class FramingFigures:
    """How many actions change their side under a framing, of those that it can put otherwise."""

    changed: SampleInterval
    mean_change: float
    turns: bool  # the meaning is turned round (a negation), so that sides should change


@dataclass(frozen=True, slots=True, kw_only=True)
class Framings:
    """All framings of a run."""

    flips: SampleInterval
    """the share that changes its side, over framings that leave the meaning alone"""
    worst: str
    framings: Mapping[str, FramingFigures]
    rows: Sequence[FramedAction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How scores move when products are computed in fewer bits."""

    arithmetic: str
    actions: int
    given: int  # how many of the actions are the run's own
    max_change: float
    mean_change: float
    spread: float  # the standard deviation of the exact scores, to set the changes beside
    spearman: float | None  # None where all scores are equal

    def __str__(self) -> str:
        ranks = "undefined" if self.spearman is None else f"{self.spearman:.4f}"
        return (
            f"computed in {self.arithmetic}: over {self.actions} actions scores moved by "
            f"{self.mean_change:.4f} on average and {self.max_change:.4f} at most (their standard "
            f"deviation is {self.spread:.4f}), rank correlation with {EXACT} {ranks}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreStatistics(Statistics):
    """What `score` finds in sum."""

    scores: Summary = NO_SUMMARY
    paper_sums: Summary | None = absent()
    positive: int = 0  # actions whose whole interval lies above zero
    negative: int = 0
    undecided: int = 0
    direction: DirectionFigures | None = absent()
    layers: LayerCurve | None = absent()
    map: ActionMap | None = absent()
    language: LanguageFigures | None = absent()
    tasks: Mapping[str, int] | None = absent()  # how many actions each expert judged
    verdicts: Mapping[str, int] | None = absent()
    people_agreement: Mapping[str, SampleInterval] | None = None
    """r with people's yes rates by population; None: nobody measured these weights"""
    framings: Framings | None = absent()
    gate: GateResult | None = absent()
    human: HumanAgreement | None = absent()
    drift: Drift | None = absent()
