"""Teach a moral direction a user's corrections, and say what else moved.

A correction is "eat meat: fine", "eat meat, +1", or a row of a CSV with action and label. A label
names a side of the axis and how far; a number is the wanted score itself. What is wrong is said by
line; an action with two different labels is refused.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from moralscope.axes.build import LocalModels
from moralscope.axes.direction.axis import DirectionAxis, build_direction
from moralscope.axes.direction.paper import load_paper
from moralscope.axes.direction.saved import save_direction
from moralscope.axes.prompts import question_rows
from moralscope.axes.score import DEMO_ACTIONS
from moralscope.core.errors import InputError, UnknownName
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Encoder, Floats
from moralscope.core.records import NOT_ADVICE, RunRecord, Statistics
from moralscope.core.registry import did_you_mean
from moralscope.io.actions import ActionList, check_actions
from moralscope.io.documents import read_document
from moralscope.io.files import check_writable, model_refs
from moralscope.io.tables import Layout, TableFile
from moralscope.models.encoders import load_encoder
from moralscope.stats.correlation import Correlation, correlate
from moralscope.stats.summary import unit_rows
from moralscope.steer.linear import TaughtDirection, teach_direction
from moralscope.steer.options import TeachOptions

# In standard deviations of the actions that the axis was fitted on.
LABELS = {
    "good": 1.0,
    "right": 1.0,
    "fine": 0.5,
    "okay": 0.5,
    "ok": 0.5,
    "neutral": 0.0,
    "bad": -1.0,
    "wrong": -1.0,
}
_MAX_SCORE = 10.0
_EXAMPLE = "write 'eat meat: fine' or 'eat meat, +1'"
MAX_CORRECTIONS = 2000
_FAR = 45.0  # degrees
_ALIKE = 0.8
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Correction:
    """What an action should score; under a label, more of the same side is right too."""

    action: str
    label: str
    target: float

    @property
    def one_sided(self) -> bool:
        """A label other than neutral is met by anything beyond its target."""
        return self.label in LABELS and self.target != 0

    def gap_target(self, score: float) -> float:
        """Return the score to aim for, given the present one."""
        beyond = self.one_sided and score * self.target > 0 and abs(score) > abs(self.target)
        return score if beyond else self.target

    def is_met(self, score: float) -> bool:
        """Say whether a score is on the wanted side, or near the wanted number."""
        return score * self.target > 0 if self.one_sided else abs(score - self.target) <= 0.25


@dataclass(frozen=True, slots=True)
class TaughtScore:
    """An action's score on the taught axis with its interval, and what it was before."""

    action: str
    score: float
    low: float
    high: float
    prompts: tuple[float, ...]
    before: float
    change: float


@dataclass(frozen=True, slots=True)
class CorrectionOutcome:
    """A correction and whether it took."""

    action: str
    label: str
    target: float
    before: float
    after: float
    took: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TeachStatistics(Statistics):
    """Whether the corrections took, and what they did to the other actions."""

    angle_degrees: float  # how far the axis turned
    lessons: Sequence[CorrectionOutcome]
    took: int
    agreement: Correlation  # of the other actions' scores, before and after
    changed_side: Sequence[str]
    mean_absolute_change: float


def teach(
    corrections: Sequence[str] | Sequence[Correction],
    options: TeachOptions | None = None,
    *,
    encoder: str | Encoder | None = None,
    actions: Sequence[str] | ActionList | None = None,
    **fields: Any,
) -> RunRecord:
    """Refit a direction with corrections; results are sorted by how far an action moved.

    Parameters
    ----------
    corrections
        Such as "eat meat: fine" or "eat meat, +1"; labels are good, right (+1), fine, okay (+0.5),
        neutral (0), bad, wrong (-1), in standard deviations of the fitting actions.
    options
        `TeachOptions`, or its fields as keywords: the `fit` of the direction to start from, or a
        saved one (`axis_file`); the `reach` of a correction; where to `save` the taught direction,
        which `score --axis-file` reads.
    encoder
        A name, a folder, a hub id, or any object with the `Encoder` protocol; else what the
        options name.
    actions
        What to look at for side effects; the papers' and the demo's actions by default.

    Examples
    --------
    >>> record = teach(["eat meat: fine"], encoder="scripted", actions=["eat meat", "kill time"])
    >>> record.statistics["lessons"][0].took, record.results[0].action
    (True, 'eat meat')
    """
    chosen = chosen_options(TeachOptions, options, fields)
    if chosen.save is not None:
        check_writable(chosen.save)
    texts = [item for item in corrections if isinstance(item, str)]
    ready = [item for item in corrections if isinstance(item, Correction)]
    corrected = _one_each([*ready, *(parse_corrections(texts) if texts or not ready else [])])
    if actions is None:
        paper = load_paper()
        actions = list(dict.fromkeys([*DEMO_ACTIONS, *paper.atomic, *paper.contextual]))
    looked_at = actions if isinstance(actions, ActionList) else check_actions(actions)
    name = encoder or chosen.encoder
    model = load_encoder(name) if isinstance(name, str) else name
    old = build_direction(chosen.axis_options(), LocalModels(model))
    template, _ = old.state
    fitting, rows = (
        question_rows(model, template, texts).mean(axis=1)
        for texts in (old.direction.actions, [item.action for item in corrected])
    )
    before = old.direction.project(rows)[:, 0].tolist()
    targets = [item.gap_target(score) for item, score in zip(corrected, before, strict=True)]
    taught = teach_direction(old.direction, fitting, rows, np.array(targets), chosen.reach)
    after = taught.direction.project(rows)[:, 0].tolist()
    lessons = [
        CorrectionOutcome(item.action, item.label, item.target, was, now, item.is_met(now))
        for item, was, now in zip(corrected, before, after, strict=True)
    ]
    if chosen.save is not None:
        save_direction(taught.direction, chosen.save)
    new = DirectionAxis(taught.direction, model, template, seed=chosen.seed)
    moved = [
        TaughtScore(
            *(now.action, now.score, now.low, now.high, now.prompts),
            before=was.score,
            change=now.score - was.score,
        )
        for was, now in zip(old.score(looked_at.actions), new.score(looked_at.actions), strict=True)
    ]
    # Changes of 1e-16 are rounding, which differs by Python and machine: those stay as given.
    moved.sort(key=lambda row: -round(abs(row.change), 9))
    corrected_actions = {lesson.action for lesson in lessons}
    others = [row for row in moved if row.action not in corrected_actions]
    return RunRecord(
        "teach",
        seed=chosen.seed,
        config={
            "encoder": model.name,
            "axis": old.name,
            "fit": old.direction.fit,
            "template": template.name,
            "reach": chosen.reach,
            "scale": "standard deviations of the fitting actions on the old axis",
            "actions": len(moved),
            "saved": str(chosen.save) if chosen.save else None,
            "options": plain_options(chosen),
        },
        models=model_refs([model]),
        results=moved,
        statistics=TeachStatistics(
            angle_degrees=taught.degrees,
            lessons=lessons,
            took=sum(lesson.took for lesson in lessons),
            agreement=correlate(
                [row.before for row in others], [row.score for row in others], seed=chosen.seed
            ),
            changed_side=[row.action for row in others if row.before * row.score < 0],
            mean_absolute_change=(fmean(abs(row.change) for row in others) if others else math.nan),
        ),
        warnings=[NOT_ADVICE, *_notes(taught, lessons, rows - fitting.mean(axis=0))],
    )


def _one_each(corrections: Sequence[Correction]) -> list[Correction]:
    """Leave out what is said twice, and refuse an action that is to score two things."""
    if len(corrections) > MAX_CORRECTIONS:
        raise InputError(
            f"{len(corrections):,} corrections are too many", f"give at most {MAX_CORRECTIONS:,}"
        )
    by_action: dict[str, Correction] = {}
    for correction in corrections:
        known = by_action.setdefault(correction.action, correction)
        if known.target != correction.target:
            raise InputError(
                f"'{correction.action[:60]}' is called {known.label} and {correction.label}",
                "give each action one label",
            )
    return list(by_action.values())


def _notes(
    taught: TaughtDirection, lessons: Sequence[CorrectionOutcome], rows: Floats
) -> list[str]:
    """Say which corrections did not take, which pull against each other, and how far all went."""
    notes = [
        f"'{lesson.action}' was to be {lesson.label} and is {lesson.after:+.2f}: "
        "it cannot be met together with the other corrections"
        for lesson in lessons
        if not lesson.took
    ]
    unit = unit_rows(rows)
    cosines = unit @ unit.T
    opposed = [
        (first, second)
        for first in range(len(lessons))
        for second in range(first)
        if lessons[first].target * lessons[second].target < 0 and cosines[first, second] > _ALIKE
    ]
    notes += [
        f"'{lessons[second].action}' ({lessons[second].label}) and '{lessons[first].action}' "
        f"({lessons[first].label}) are nearly the same to this encoder (cosine "
        f"{cosines[first, second]:.2f}): the corrections contradict each other"
        for first, second in opposed[:_NAMED]
    ]
    if taught.degrees > _FAR:
        notes.append(
            f"the axis turned by {taught.degrees:.0f} degrees: these corrections ask for another "
            "axis, not for a corrected one"
        )
    return notes


def parse_corrections(texts: Sequence[str]) -> list[Correction]:
    """Parse corrections given by hand."""
    rows = [(line, *_split(text, "correction", line)) for line, text in enumerate(texts, 1)]
    return _checked(rows, "correction")


def read_corrections(path: Path) -> list[Correction]:
    """Read a CSV with columns action and label, or lines such as "eat meat: fine"."""
    document = read_document(path, "corrections", _EXAMPLE)
    source = f"{path} line"
    if path.suffix.lower() != ".csv":
        lines = enumerate(document.content.splitlines(), 1)
        split = ((line, *_split(text, source, line)) for line, text in lines if text.strip())
        return _checked(split, source)
    layout = Layout(order=("action", "label"))
    table = TableFile(document.content, name=str(path), kind=".csv", layout=layout)
    cells = table.strict_rows(layout.order, "give action,label")
    rows = [(line, row["action"].strip(), row["label"].strip()) for line, row in cells]
    return _checked([row for row in rows if any(row[1:])], source)


def _split(text: str, source: str, line: int) -> tuple[str, str]:
    cut = max(text.rfind(":"), text.rfind(","))
    if cut < 0:
        raise InputError(f"{source} {line} ({text.strip()[:60]!r}) has no label", _EXAMPLE)
    return text[:cut].strip(), text[cut + 1 :].strip()


def _checked(rows: Iterable[tuple[int, str, str]], source: str) -> list[Correction]:
    corrections: dict[str, tuple[int, Correction]] = {}
    for line, action, label in rows:
        if not action:
            raise InputError(f"{source} {line} names no action", _EXAMPLE)
        check_actions([action])
        target = LABELS.get(label.lower())
        if target is None:
            try:
                target = float(label)
            except ValueError:
                raise UnknownName(
                    f"{source} {line} has the unknown label {label[:40]!r}",
                    f"{did_you_mean(label, LABELS)}, or a score such as +1",
                ) from None
            if not math.isfinite(target) or abs(target) > _MAX_SCORE:
                raise InputError(
                    f"{source} {line} wants the score {label[:40]}",
                    f"give a score from {-_MAX_SCORE:g} to {_MAX_SCORE:g}",
                )
        correction = Correction(action, label.lower(), target)
        before, known = corrections.setdefault(action, (line, correction))
        if known.target != correction.target:
            raise InputError(
                f"{source} {line} calls '{action[:60]}' {label}, "
                f"{source} {before} calls it {known.label}",
                "give each action one label",
            )
    if not corrections:
        raise InputError("no corrections were given", _EXAMPLE)
    return [correction for _, correction in corrections.values()]
