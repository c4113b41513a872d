"""Teach a moral direction a user's corrections, and say what else moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moralscope.axes.build import LocalModels
from moralscope.axes.direction import Direction, DirectionAxis, load_paper, save_direction
from moralscope.axes.direction.axis import build_direction
from moralscope.axes.options import AxisOptions
from moralscope.axes.prompts import question_rows
from moralscope.axes.score import DEMO_ACTIONS
from moralscope.axes.templates import load_template
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, RunRecord
from moralscope.io.actions import ActionList, check_actions
from moralscope.io.run_records import check_writable, model_refs
from moralscope.models.encoders import load_encoder
from moralscope.stats import correlate
from moralscope.stats.summary import unit_rows
from moralscope.steer.corrections import Correction, parse_corrections
from moralscope.steer.teaching import REACH, Taught, teach_direction

JOB = "teach"
MAX_CORRECTIONS = 2000
_FAR = 45.0  # degrees
_ALIKE = 0.8
_NAMED = 5
Floats = NDArray[np.float64]


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
class Lesson:
    """A correction and whether it took."""

    action: str
    label: str
    target: float
    before: float
    after: float
    took: bool


def teach(
    corrections: Sequence[str] | Sequence[Correction],
    *,
    encoder: str | Encoder = "minilm",
    axis: AxisOptions | None = None,
    actions: Sequence[str] | ActionList | None = None,
    reach: float = REACH,
    save: Path | None = None,
) -> RunRecord:
    """Refit a direction with corrections; results are sorted by how far an action moved.

    Parameters
    ----------
    corrections
        Such as "eat meat: fine" or "eat meat, +1"; labels are good, right (+1), fine, okay (+0.5),
        neutral (0), bad, wrong (-1), in standard deviations of the fitting actions.
    encoder
        A name, a folder, a hub id, or any object with the `Encoder` protocol.
    axis
        The direction to start from: its fit, its own actions, or a saved one.
    actions
        What to look at for side effects; the papers' and the demo's actions by default.
    reach
        How far a correction carries to other actions.
    save
        Where to write the taught direction; `score --axis-file` reads it.

    Examples
    --------
    >>> record = teach(["eat meat: fine"], encoder="scripted", actions=["eat meat", "kill time"])
    >>> record.statistics["lessons"][0].took, record.results[0].action
    (True, 'eat meat')
    """
    if save is not None:
        check_writable(save)
    corrected = _corrections(corrections)
    listed = _listed(actions)
    model = load_encoder(encoder) if isinstance(encoder, str) else encoder
    options = axis or AxisOptions(axis="direction")
    if options.axis != DirectionAxis.name:
        raise InputError(f"the axis '{options.axis}' is not fitted", "teach the axis 'direction'")
    old = build_direction(options, LocalModels(model))
    template = load_template(options.template)
    fitting, rows = (
        question_rows(model, template, texts).mean(axis=1)
        for texts in (old.direction.actions, [item.action for item in corrected])
    )
    taught, lessons = _taught(old.direction, corrected, fitting, rows, reach)
    if save is not None:
        save_direction(taught.direction, save)
    new = DirectionAxis(taught.direction, model, template, seed=options.seed)
    moved = _moved(old, new, listed)
    return RunRecord(
        JOB,
        seed=options.seed,
        config={
            "encoder": model.name,
            "axis": options.axis,
            "fit": old.direction.fit,
            "template": template.name,
            "reach": reach,
            "scale": "standard deviations of the fitting actions on the old axis",
            "actions": len(moved),
            "saved": str(save) if save else None,
        },
        models=model_refs([model]),
        results=moved,
        statistics=_statistics(taught, lessons, moved, options.seed),
        warnings=[NOT_ADVICE, *_notes(taught, lessons, rows - fitting.mean(axis=0))],
    )


def _taught(
    direction: Direction,
    corrected: Sequence[Correction],
    fitting: Floats,
    rows: Floats,
    reach: float,
) -> tuple[Taught, list[Lesson]]:
    before = direction.project(rows)[:, 0].tolist()
    targets = [item.gap_target(score) for item, score in zip(corrected, before, strict=True)]
    taught = teach_direction(direction, fitting, rows, np.array(targets), reach)
    after = taught.direction.project(rows)[:, 0].tolist()
    return taught, [
        Lesson(item.action, item.label, item.target, was, now, item.is_met(now))
        for item, was, now in zip(corrected, before, after, strict=True)
    ]


def _corrections(given: Sequence[str] | Sequence[Correction]) -> list[Correction]:
    texts = [item for item in given if isinstance(item, str)]
    ready = [item for item in given if isinstance(item, Correction)]
    lessons = [*ready, *(parse_corrections(texts) if texts or not ready else [])]
    if len(lessons) > MAX_CORRECTIONS:
        raise InputError(
            f"{len(lessons):,} corrections are too many", f"give at most {MAX_CORRECTIONS:,}"
        )
    sides: dict[str, Correction] = {}
    for lesson in lessons:
        known = sides.setdefault(lesson.action, lesson)
        if known.target != lesson.target:
            raise InputError(
                f"'{lesson.action[:60]}' is called {known.label} and {lesson.label}",
                "give each action one label",
            )
    return list(sides.values())


def _listed(actions: Sequence[str] | ActionList | None) -> Sequence[str]:
    if actions is None:
        paper = load_paper()
        return list(dict.fromkeys([*DEMO_ACTIONS, *paper.atomic, *paper.contextual]))
    listed = actions if isinstance(actions, ActionList) else check_actions(actions)
    return listed.actions


def _moved(old: DirectionAxis, new: DirectionAxis, actions: Sequence[str]) -> list[TaughtScore]:
    pairs = zip(old.score(actions), new.score(actions), strict=True)
    rows = [
        TaughtScore(
            now.action,
            now.score,
            now.low,
            now.high,
            now.prompts,
            before=was.score,
            change=now.score - was.score,
        )
        for was, now in pairs
    ]
    return sorted(rows, key=lambda row: -abs(row.change))


def _statistics(
    taught: Taught, lessons: Sequence[Lesson], moved: Sequence[TaughtScore], seed: int
) -> dict[str, Any]:
    named = {lesson.action for lesson in lessons}
    others = [row for row in moved if row.action not in named]
    return {
        "angle_degrees": taught.degrees,
        "lessons": lessons,
        "took": sum(lesson.took for lesson in lessons),
        "agreement": correlate(
            [row.before for row in others], [row.score for row in others], seed=seed
        ),
        "changed_side": [row.action for row in others if row.before * row.score < 0],
        "mean_absolute_change": float(np.mean([abs(row.change) for row in others]))
        if others
        else float("nan"),
    }


def _notes(taught: Taught, lessons: Sequence[Lesson], rows: Floats) -> list[str]:
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
