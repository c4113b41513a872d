"""What a saved run is called: its own title, or one made from what it holds.

Beside a record the page keeps notes (`PageNotes`): the title and the tags that its owner gave, the
file it came from, what was asked, and what people say of its verdicts (`Remark`).
"""

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.io.run_records import check_record, text

MAX_TITLE = 160
SHOWN = ("axis", "encoder", "encoders", "recipe", "generator", "rulebook", "experts")
_SAID = 28  # characters of a text in a title
_FIGURES = {
    "share flagged": ("flagged", "value"),
    "share without a verdict": ("abstained", "value"),
    "mean score": ("score", "mean"),
    "mean score of the actions": ("scores", "mean"),
}  # of a run's statistics, that can be followed over runs


@dataclass(frozen=True, slots=True)
class ChosenLabel:
    """What a person says of one rule: whether the reply breaks it."""

    rule: str
    broken: bool


@dataclass(frozen=True, slots=True)
class Remark:
    """What a person says of one reply; only its labels are data that something can learn from."""

    result: int
    """Its index among the results."""
    status: str = ""
    """agree, disagree, later or nothing yet"""
    note: str = ""
    labels: Sequence[ChosenLabel] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not (self.status or self.note or self.labels)

    @staticmethod
    def upgraded(plain: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a saved remark as this version has it; 0.9 preset its label, which is not kept."""
        if "verdict" not in plain:
            return plain
        said = {"status": plain["verdict"], "note": plain.get("comment", "")}
        return {"result": plain["result"], **said}


@dataclass(frozen=True, slots=True)
class PageNotes:
    """What the page keeps beside a record."""

    title: str = ""
    source: str = ""  # the name of the file that was uploaded
    request: Mapping[str, Any] = field(default_factory=dict)
    remarks: Sequence[Remark] = ()
    tags: Sequence[str] = ()


# What a title needs of a row: records of every version and of every axis have it.
@dataclass(frozen=True, slots=True)
class _Action:
    action: str
    score: float


@dataclass(frozen=True, slots=True)
class _Verdict:
    flag: bool


@dataclass(frozen=True, slots=True)
class _Reply:
    verdict: _Verdict
    reply: str = ""


@dataclass(frozen=True, slots=True)
class _Story:
    norm: str | None = None
    choice: str = ""


def notes_of(plain: Any) -> PageNotes:
    """Return what the page keeps beside a record; nothing, where it is of a command."""
    page = plain.get("page") if isinstance(plain, Mapping) else None
    return decode(PageNotes, page or {}, "the run's notes")


def run_figures(plain: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of a plain record that can be followed over runs.

    Examples
    --------
    >>> run_figures({"statistics": {"flagged": {"value": 0.25}, "score": {"mean": None}}})
    {'share flagged': 0.25}
    """
    statistics = plain.get("statistics")
    sums = statistics if isinstance(statistics, Mapping) else {}
    figures = {}
    for name, (outer, inner) in _FIGURES.items():
        value = sums[outer].get(inner) if isinstance(sums.get(outer), Mapping) else None
        if isinstance(value, int | float) and math.isfinite(value):
            figures[name] = float(value)
    return figures


def title_of(record: Any) -> str:
    """Return the title of a plain record; the page keeps one that its owner gave beside it."""
    plain = check_record(record)
    notes = notes_of(plain)
    return notes.title[:MAX_TITLE] or run_title(plain, notes.source[:MAX_TITLE])


def run_title(plain: Mapping[str, Any], source: str = "") -> str:
    """Say in one line what a run was about, from what it holds."""
    job, config, title = plain["job"], plain["config"], ""
    with contextlib.suppress(InputError):  # an older or odd record
        title = _title(job, config, plain["results"], source) if plain["results"] else ""
    rest = ", ".join(text(config[key]) for key in SHOWN if config.get(key))
    return (title or f"{job}{': ' if rest else ''}{rest}")[:MAX_TITLE]


def _title(job: str, config: Mapping[str, Any], results: Any, source: str) -> str:
    """Return the title of a job whose results tell something; "" of any other."""
    of_source = f" of {source}" if source else ""
    if job == "score":
        actions = [row for row in decode(list[_Action], results) if not math.isnan(row.score)]
        actions.sort(key=lambda row: row.score)
        count = f"{len(actions):,} action{'' if len(actions) == 1 else 's'}"
        model = config.get("model") or config.get("encoder") or config.get("experts")
        head = ", ".join(text(part) for part in (count, config.get("axis"), model) if part)
        ends = actions if len(actions) < 3 else (actions[0], actions[-1])
        return f"{head}{of_source}: {' … '.join(_cut(row.action) for row in ends)}"
    if job == "compare":
        models = text(config.get("models") or config.get("encoders"))
        return f"{len(results):,} actions{of_source}, {text(config.get('axis'))}: {models}"
    if job == "survey":
        kind = "dilemmas" if config.get("kind") == "dilemmas" else "statements"
        what = source or f"{text(config.get('items'))} {kind}"
        return f"survey of {what}: {text(config.get('models'))}"
    if job == "audit":
        replies = decode(list[_Reply], results)
        flagged = sum(row.verdict.flag for row in replies)
        if len(replies) == 1 and not source:
            return f"audit of “{_cut(replies[0].reply, 60)}”: {'' if flagged else 'not '}flagged"
        what = source or f"{len(replies):,} replies"
        return f"audit of {what}: {flagged:,} of {len(replies):,} flagged"
    if job == "audit conversations":
        flagged = sum(row.verdict.flag for row in decode(list[_Reply], results))
        return f"conversations{of_source}: {flagged:,} of {len(results):,} flagged"
    if job == "chain":
        story = decode(_Story, results[0])
        return f"{text(config.get('recipe'))}: {_cut(story.norm or story.choice, 80)}"
    return ""


def _cut(value: str, most: int = _SAID) -> str:
    line = " ".join(value.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
