"""What `score` finds in sum: typed, and as it stands in the run record."""

from collections.abc import Mapping
from dataclasses import dataclass

from moralscope.axes.direction.records import ActionMap, DirectionFigures, LayerCurve
from moralscope.axes.drift import Drift
from moralscope.axes.framings import Framings
from moralscope.axes.language import LanguageFigures
from moralscope.axes.people import HumanAgreement
from moralscope.core.records import SampleInterval, Statistics, absent
from moralscope.stats.gates import GateResult
from moralscope.stats.summary import NO_SUMMARY, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreStatistics(Statistics):
    """What `score` finds in sum."""

    scores: Summary = NO_SUMMARY
    paper_sums: Summary | None = absent()
    positive: int = 0
    """actions whose whole interval lies above zero"""
    negative: int = 0
    undecided: int = 0
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
