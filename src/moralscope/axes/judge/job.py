"""Judge actions with trained experts: the `judge` axis of `score`, for actions and for rows."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moralscope.axes.build import AxisOptions, Report, check_judge
from moralscope.axes.judge.judge import (
    PHRASE_WORDINGS,
    SENTENCE_WORDINGS,
    Judge,
    JudgedAction,
    best_task,
    unused,
)
from moralscope.axes.judge.rows import JudgeRows
from moralscope.axes.people import human_agreement
from moralscope.axes.ratings import Ratings
from moralscope.core.errors import InputError
from moralscope.core.records import NOT_ADVICE, RunRecord
from moralscope.io.actions import ActionList, check_actions, check_text
from moralscope.stats import summarise
from moralscope.stories.experts import ExpertSet, prepare_experts

EXPERTS = "mpnet"
FEW = 256  # so many rows are asked about in every wording; more in one, unless told otherwise
TRAINED = (
    "the judge repeats what crowd workers wrote in Moral Stories (US English, everyday life); its "
    "probabilities were calibrated on sentences such as theirs, not on short phrases"
)


def judge(
    given: Sequence[str] | ActionList | JudgeRows,
    *,
    options: AxisOptions | None = None,
    experts: ExpertSet | None = None,
    human: Path | Ratings | None = None,
    report: Report | None = None,
) -> RunRecord:
    """Judge actions, or rows with a norm and context, each by the expert that fits it.

    Parameters
    ----------
    given
        Actions, or rows (`jobs.judge_rows.read_rows`).
    options
        `AxisOptions("judge", experts=..., norm=..., wordings=...)`. The norm serves rows that
        have none of their own.
    experts
        Experts that are loaded already; else those that the options name.
    human
        Ratings by people (CSV: action, yes, no) to set beside the scores.
    report
        Called with (done, total) as the work goes on.

    Examples
    --------
    >>> record = judge(["kill time"], options=AxisOptions("judge", experts="scripted"))
    >>> record.results[0].task, record.results[0].verdict
    ('action', None)
    """
    chosen = options or AxisOptions("judge")
    check_options(chosen)
    rows, paraphrases, ignored = _rows(given, chosen.norm)
    loaded = experts or prepare_experts(chosen.experts or EXPERTS)
    wordings = chosen.wordings or (None if len(rows) <= FEW else 1)
    axis = Judge(loaded, norm=chosen.norm, wordings=wordings)
    results = (
        axis.score([row["action"] for row in rows], paraphrases, report)
        if paraphrases
        else axis.judge(rows, report)
    )
    found = {"human": human_agreement(results, human, chosen.seed)} if human else {}
    return RunRecord(
        "score",
        seed=chosen.seed,
        config=_config(axis, loaded, rows),
        models=[loaded.ref],
        results=results,
        statistics={**_statistics(results), **found},
        warnings=[
            NOT_ADVICE,
            TRAINED,
            *_notes(axis, rows, ignored),
            *(found["human"].warnings if human else ()),
        ],
    )


def check_options(options: AxisOptions) -> None:
    """Refuse options that a judge cannot work with, before any weights are loaded."""
    check_judge(options)
    if options.norm is None:
        return
    if not options.norm.strip():
        raise InputError("the norm is empty", 'write it out, e.g. "It\'s rude to be late."')
    check_text(options.norm, "--norm", "line", 1)


def _rows(
    given: Sequence[str] | ActionList | JudgeRows, norm: str | None
) -> tuple[list[dict[str, str]], Sequence[Sequence[str]] | None, Sequence[str]]:
    """Return rows that hold the norm where they have none, paraphrases and unread columns."""
    filled = {"norm": norm.strip()} if norm else {}
    if isinstance(given, JudgeRows):
        return [{**filled, **row} for row in given.rows], None, given.ignored
    listed = given if isinstance(given, ActionList) else check_actions(given)
    return [{**filled, "action": action} for action in listed.actions], listed.paraphrases, ()


def _config(axis: Judge, experts: ExpertSet, rows: Sequence[dict[str, str]]) -> dict[str, Any]:
    columns = dict.fromkeys(name for row in rows for name in row)
    return {
        "axis": axis.name,
        "experts": experts.ref.name,
        **({"norm": axis.norm} if axis.norm else {}),
        "columns": list(columns),
        "score": "2 P(moral) - 1 of the first wording",
        "prompts": [form.format("ACTION") for form in PHRASE_WORDINGS[: axis.wordings]],
        "sentence_wordings": [form.format("ACTION") for form in SENTENCE_WORDINGS[: axis.wordings]],
        "interval": "range over the wordings" if axis.wordings > 1 else "none: one wording",
        "actions": len(rows),
    }


def _statistics(results: Sequence[Any]) -> dict[str, Any]:
    judged = [result for result in results if isinstance(result, JudgedAction)]
    verdicts = Counter(result.verdict for result in judged if result.verdict)
    return {
        "scores": summarise([result.score for result in judged]),
        "tasks": dict(Counter(result.task for result in judged)),
        **({"verdicts": dict(verdicts)} if verdicts else {}),
        "positive": sum(result.low > 0 for result in judged),
        "negative": sum(result.high < 0 for result in judged),
        "undecided": sum(result.low <= 0 <= result.high for result in judged),
    }


def _notes(axis: Judge, rows: Sequence[dict[str, str]], ignored: Sequence[str]) -> list[str]:
    lines = []
    if axis.wordings == 1:
        lines.append(
            f"each action was asked about in one wording, so there is no interval: --wordings "
            f"{len(PHRASE_WORDINGS)} gives one and takes {len(PHRASE_WORDINGS)} times as long"
        )
    if ignored:
        lines.append(f"columns that were not read: {', '.join(name[:60] for name in ignored[:20])}")
    idle = Counter(name for row in rows for name in unused(row, best_task(row, axis.experts.tasks)))
    lines += [
        f"'{name}' of {count:,} row{'s' * (count > 1)} was not read: no expert takes it with the "
        "row's other columns"
        for name, count in idle.items()
    ]
    return lines
