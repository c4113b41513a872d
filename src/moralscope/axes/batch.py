"""Scores of a corpus: any axis over rows of any number, with the numbers of the one-file path."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from moralscope.axes.build import LocalModels, build_axis, question_encoder
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.drift import int8_drift
from moralscope.axes.options import ScoreOptions
from moralscope.axes.prompts import unread_warning
from moralscope.axes.records import EXACT, DirectionFigures, LayerCurve
from moralscope.batch.job import Batch, BatchJob, Columns, Prepared, read_each
from moralscope.batch.parts import LISTED, Parts, count_true
from moralscope.batch.types import FailedRows, Outcome
from moralscope.core.protocols import Axis
from moralscope.core.records import NOT_ADVICE, Statistics, absent
from moralscope.io.actions import wrong_text
from moralscope.models.encoders import TextEncoder
from moralscope.models.store import Progress
from moralscope.stats.streams import Extremes, HistogramBins, Moments
from moralscope.stats.summary import NO_SUMMARY, Summary

UNREAD = "unread"
_NOT_A_NUMBER = "nan"  # how a missing cell looks when a table of numbers wrote it


@dataclass(frozen=True, slots=True)
class UnreadRows(Statistics):
    """How much of a corpus no model read."""

    rows: int = 0
    tokens: int = 0


_ALL_READ = UnreadRows()
_NONE_FAILED = FailedRows(0, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRow(Statistics):
    """A row at one end of the scores."""

    id: str
    action: str
    score: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusScores(Statistics):
    """What `score` finds in a corpus."""

    scores: Summary = NO_SUMMARY
    lowest_score: float | None = absent()
    highest_score: float | None = absent()
    histogram: HistogramBins | None = None
    """edges, and counts between them"""
    quantiles: Mapping[str, float] = field(default_factory=dict)
    positive: int = 0  # rows whose whole interval lies above zero
    negative: int = 0
    undecided: int = 0
    verdicts: Mapping[str, int] | None = absent()
    unread: UnreadRows = _ALL_READ
    lowest: Sequence[ScoredRow] = ()
    highest: Sequence[ScoredRow] = ()
    direction: DirectionFigures | None = absent()
    layers: LayerCurve | None = absent()
    corpus: Outcome
    failed: FailedRows = _NONE_FAILED


class ScoreBatch(BatchJob):
    """Scores the rows of a corpus on any axis.

    Parameters
    ----------
    options
        The axis, and how its texts are encoded.
    columns
        What the columns that the axis reads are called.
    """

    name = "score"

    def __init__(self, options: ScoreOptions, columns: Columns | None = None) -> None:
        self.options = options.resolved()
        self.columns = columns or {}

    @property
    def reads(self) -> tuple[str, ...]:
        return self.options.kind.columns

    @property
    def light(self) -> bool:
        return (self.options.experts or self.options.encoder or self.options.model) == "scripted"

    def began(self, settings: Mapping[str, Any]) -> "ScoreBatch":
        """Return the job with the batches that the run began with."""
        if not settings:
            return self
        size = settings.get("batch_tokens")
        return ScoreBatch(replace(self.options, batch_tokens=size, calibrate=False), self.columns)

    def prepare(self, progress: Progress | None = None) -> Prepared:
        """Build the axis once."""
        options, kind = self.options, self.options.kind
        # No cache: a resumed run must fit the same direction to the last bit.
        models = LocalModels(progress=progress, cached=False)
        if options.calibrate:
            model = question_encoder(options, models)
            models = replace(models, loaded=model)
            if isinstance(model, TextEncoder):
                size = model.calibrate(load_paper().atomic).batch_tokens
                options = replace(options, batch_tokens=size)
        axis = build_axis(options, models, many=True)
        card = axis.card
        sizes = {"arithmetic": card.arithmetic, "batch_tokens": options.batch_tokens}
        config = {**card.config, **(sizes if "batch_tokens" in kind.reads else {})}
        kinds = {"verdict": pa.string(), UNREAD: pa.int64()}
        writes = (*kind.writes, UNREAD)
        files = {"axis_file": options.axis_file, "fit_actions": options.fit_actions}
        return Prepared(
            state=(options.batch_tokens, axis.state),
            writes=pa.schema([(name, kinds.get(name, pa.float64())) for name in writes]),
            decides={
                **config,
                "questions": card.fingerprint,
                "files": {k: sha256(p.read_bytes()).hexdigest() for k, p in files.items() if p},
                "seed": options.seed,
            },
            config=config,
            models=card.models,
            warnings=[NOT_ADVICE, *card.warnings, *card.doubts, *_drift(axis, options, progress)],
            statistics=card.statistics,
        )

    def load(self, state: Any) -> None:
        """Build the axis from what was read and fitted when the run began."""
        batch_tokens, axis_state = state
        models = LocalModels(cached=False, batch_tokens=batch_tokens)
        self._axis = build_axis(self.options, models, state=axis_state, many=True)

    def __call__(self, batch: Batch) -> dict[str, list[Any]]:
        """Score the rows of a batch."""
        names = {name: self.theirs(name) for name in self.reads}
        there = {ours: batch[theirs] for ours, theirs in names.items() if theirs in batch}
        others = there.pop("paraphrases", None)
        cells = [
            dict(zip(there, values, strict=True)) for values in zip(*there.values(), strict=True)
        ]
        rows = read_each(cells, lambda row: _sentences(row, names))
        wordings = read_each(others, _paraphrases) if others is not None else None
        results = self._axis.score_rows(rows, wordings).results
        writes = (*self.options.kind.writes, UNREAD)
        columns = {name: [getattr(row, name) for row in results] for name in writes}
        return {
            name: [None if isinstance(x, float) and math.isnan(x) else x for x in values]
            for name, values in columns.items()
        }

    def notes(self, statistics: Mapping[str, Any]) -> list[str]:
        """Say how many actions were not read whole."""
        return unread_warning(**statistics[UNREAD])

    def sum_up(self, parts: Parts, prepared: Prepared, outcome: Outcome) -> CorpusScores:
        """Return moments, quantiles, signs, the lowest and the highest."""
        moments, signs, unread = Moments(), Counter[str](), Counter[str]()
        lowest, highest = Extremes[ScoredRow](LISTED), Extremes[ScoredRow](LISTED)
        verdicts: Counter[str] = Counter()

        def described(row: Mapping[str, Any]) -> ScoredRow:
            figures = {name: row[name] for name in ("score", "low", "high")}
            return ScoredRow(id=parts.id(row), action=parts.text(row, "action"), **figures)

        names = parts.known("score", "low", "high", "verdict", UNREAD)
        for table in parts.tables(names):
            scores, low, high = (table.column(name) for name in ("score", "low", "high"))
            moments.add(scores.to_numpy())
            signs["positive"] += count_true(pc.greater(low, 0.0))
            signs["negative"] += count_true(pc.less(high, 0.0))
            inside = pc.and_(pc.less_equal(low, 0.0), pc.greater_equal(high, 0.0))
            signs["undecided"] += count_true(inside)
            if UNREAD in names:
                counts = table.column(UNREAD).to_numpy()
                unread.update(rows=int((counts > 0).sum()), tokens=int(counts.sum()))
            if "verdict" in names:
                said = table.column("verdict").to_pylist()
                verdicts.update(verdict for verdict in said if verdict)
            for sign, extremes in ((1.0, lowest), (-1.0, highest)):
                parts.offer(extremes, sign * scores.to_numpy(), table, described, ("action",))
        return CorpusScores(
            **parts.spread(moments),
            positive=signs["positive"],
            negative=signs["negative"],
            undecided=signs["undecided"],
            verdicts=dict(verdicts) or None,
            unread=UnreadRows(unread["rows"], unread["tokens"]),
            lowest=lowest.items(),
            highest=highest.items(),
            **prepared.statistics,
            corpus=outcome,
            failed=parts.failed(),
        )


def _drift(light: Axis, options: ScoreOptions, progress: Progress | None) -> list[str]:
    """Say what fewer bits change, measured on actions of the papers: the corpus is not read yet."""
    if not options.eight_bits:
        return []
    if light.card.arithmetic == EXACT:
        name = light.card.models[0].name
        return [f"'{name}' cannot be computed in 8 bits here: scores are those of {EXACT}"]
    exact = build_axis(replace(options, eight_bits=False), LocalModels(progress=progress))
    return [str(int8_drift([], exact, light, options.seed))]


def _text(value: Any, column: str) -> str:
    if not isinstance(value, str) or not value.strip() or value.strip().lower() == _NOT_A_NUMBER:
        raise ValueError(f"no text under '{column[:60]}'")
    wrong = wrong_text(value.strip())
    if wrong is not None:
        raise ValueError(f"'{column[:60]}' {wrong[0]}")
    return value.strip()


def _paraphrases(value: Any) -> tuple[str, ...]:
    """Read other wordings: a list, or by bars in one text."""
    texts = value.split("|") if isinstance(value, str) else value or ()
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise ValueError("paraphrases that are no list of texts")
    return tuple(_text(text, "paraphrases") for text in texts if text.strip())


def _sentences(cells: Mapping[str, Any], names: Columns) -> dict[str, str]:
    """Return the sentences of a row; an empty cell is a sentence not given."""
    row = {
        name: _text(value, names[name])
        for name, value in cells.items()
        if value is not None and not (isinstance(value, str) and not value.strip())
    }
    if "action" not in row:
        raise ValueError(f"no text under '{names['action'][:60]}'")
    return row
