"""Score actions on a moral axis and return a run record."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from moralscope.axes.build import Axis, AxisOptions, Report, build_axis
from moralscope.axes.choice import Template, load_template
from moralscope.axes.direction import Direction, DirectionAxis, save_direction
from moralscope.axes.people import human_agreement
from moralscope.axes.ratings import Ratings, read_ratings
from moralscope.core.errors import InputError
from moralscope.core.protocols import Encoder
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord
from moralscope.io.actions import ActionList, check_actions
from moralscope.io.run_records import check_writable, model_refs
from moralscope.models.encoders import load_encoder
from moralscope.stats import summarise

_SHIFTED = (
    "question/answer scores are shifted against zero by the model's taste for yes or no: "
    "compare actions with each other, not with zero"
)
_MIDDLE = (
    "zero is the middle of the actions the direction was fitted on, not a border between right "
    "and wrong; one is their standard deviation"
)


def score(  # noqa: PLR0913 (the public door of the package: one keyword for each option)
    actions: Sequence[str] | ActionList,
    *,
    axis: str | AxisOptions = "choice",
    encoder: str | Encoder | None = None,
    template: str = "moral",
    fit: str = "pca",
    human: Path | Ratings | None = None,
    save_axis: Path | None = None,
    seed: int = 0,
    report: Report | None = None,
    build: Callable[[AxisOptions, Encoder], Axis] = build_axis,
) -> RunRecord:
    """Score actions; positive is good, negative is bad.

    Parameters
    ----------
    actions
        What is to be scored, as it stands in a question: "kill people", "eat meat".
    axis
        `choice`: question/answer bias (Jentzsch et al. 2019); `direction`: projection on the
        moral direction (Schramowski et al. 2019); `judge`: trained P(moral) (`jobs.judge`); or
        `AxisOptions`, which then also give template, fit and seed.
    encoder
        A name, a folder, a hub id, or any object with the `Encoder` protocol; `minilm` if none is
        given. On the judge axis: the base whose experts judge, else mpnet.
    template
        `moral`, `gender`, or a YAML/CSV file of your own.
    fit
        How a direction is fitted: `pca`, or `labelled` dos and don'ts.
    human
        Ratings by people (CSV: action, yes, no), or what `jobs.ratings` read of them, to set
        beside the scores.
    save_axis
        Where to write the fitted direction; `AxisOptions(file=...)` loads it.
    seed
        Seeds the bootstrap over prompts (and paraphrases) behind every interval.
    report
        Called with (done, total) as the work goes on.
    build
        What makes the axis; who keeps axes for many calls gives them here.

    Examples
    --------
    >>> record = score(["kill people", "kill time"], encoder="scripted")
    >>> [result.action for result in record.results]
    ['kill people', 'kill time']
    """
    options = axis if isinstance(axis, AxisOptions) else AxisOptions(axis, template, fit, seed=seed)
    listed = actions if isinstance(actions, ActionList) else check_actions(actions)
    _check_files(human, save_axis)
    if options.name == "judge":
        return _judge(listed, options, encoder, human, report)
    questions = load_template(options.template)
    chosen = encoder or "minilm"
    model = load_encoder(chosen) if isinstance(chosen, str) else chosen
    moral_axis = build(options, model)
    if save_axis is not None:
        _save(moral_axis, save_axis)
    results, found = _score(moral_axis, listed, report)
    if human is not None:
        found["human"] = human_agreement(results, human, options.seed)
    noted = found["human"].warnings if human is not None else ()
    return RunRecord(
        "score",
        seed=options.seed,
        config=_config(moral_axis, model, questions, len(results)),
        models=model_refs([model]),
        results=results,
        statistics={**_statistics(results), **found},
        warnings=[NOT_ADVICE, *axis_warnings(moral_axis, questions), *noted],
    )


def _judge(
    listed: ActionList,
    options: AxisOptions,
    encoder: str | Encoder | None,
    human: Path | Ratings | None,
    report: Report | None,
) -> RunRecord:
    from moralscope.axes.judge.job import judge

    base = encoder if isinstance(encoder, str | None) else encoder.name
    named = replace(options, experts=options.experts or base)
    return judge(listed, options=named, human=human, report=report)


def _check_files(human: Path | Ratings | None, save_axis: Path | None) -> None:
    """Refuse what cannot be read or written before any work is done."""
    if isinstance(human, Path):
        read_ratings(human)
    if save_axis is not None:
        check_writable(save_axis)


def _save(axis: Axis, path: Path) -> None:
    if not isinstance(axis, DirectionAxis):
        raise InputError(f"the axis '{axis.name}' is not fitted", "save one of --axis direction")
    save_direction(axis.direction, path)


def _score(
    axis: Axis, listed: ActionList, report: Report | None
) -> tuple[list[ActionScore], dict[str, Any]]:
    """Score actions; a direction also says what it is and where its map puts them."""
    if not isinstance(axis, DirectionAxis):
        return axis.score(listed.actions, listed.paraphrases, report), {}
    results, places = axis.score_and_place(listed.actions, listed.paraphrases, report)
    direction = axis.direction
    fitting = [
        {"action": action, "x": x, "y": y}
        for action, (x, y) in zip(direction.actions, direction.positions.tolist(), strict=True)
    ]
    placed = {
        "points": places,
        "fitting": fitting,
        "x_label": f"moral direction ({direction.method})",
        "y_label": "strongest component at right angles to it",
    }
    return results, {"direction": describe_direction(direction), "map": placed}


def describe_direction(direction: Direction) -> dict[str, Any]:
    """Return what a record says about a direction."""
    return {
        "fit": direction.fit,
        "method": direction.method,
        "fitted_on": len(direction.actions),
        "scale": "standard deviations of the fitting actions from their middle",
        "raw_scale": direction.scales[0],
        "raw": "the paper's raw projection is score * raw_scale",
        "anchors": direction.anchors,
        "separation": direction.separation,
        "validation": direction.validation,
        "explained_variance": direction.explained,
        "explained_variance_differences": direction.explained_differences,
        "stands_out": direction.prominence.stands_out,
        "prominence": direction.prominence,
        "stability": direction.stability,
    }


def _config(axis: Axis, encoder: Encoder, template: Template, actions: int) -> dict[str, Any]:
    fitted = {"fit": axis.direction.fit} if isinstance(axis, DirectionAxis) else {}
    return {
        "axis": axis.name,
        **fitted,
        "encoder": encoder.name,
        "template": template.name,
        "prompts": [prompt.question for prompt in template.prompts],
        "interval": "95 % percentile bootstrap over prompts",
        "actions": actions,
    }


def _statistics(results: Sequence[ActionScore]) -> dict[str, Any]:
    sums = [result.sum for result in results if result.sum is not None]
    return {
        "scores": summarise([result.score for result in results]),
        **({"paper_sums": summarise(sums)} if sums else {}),
        "positive": sum(result.low > 0 for result in results),
        "negative": sum(result.high < 0 for result in results),
        "undecided": sum(result.low <= 0 <= result.high for result in results),
    }


def axis_warnings(axis: Axis, template: Template) -> list[str]:
    """Say how scores on an axis are to be read, a line each."""
    if isinstance(axis, DirectionAxis):
        return [_MIDDLE, *direction_warnings(axis.direction)]
    return [_SHIFTED] if template.name == "moral" else []


def direction_warnings(direction: Direction) -> list[str]:
    """Say why a direction should not be trusted, a line each."""
    lines = []
    first, angle = direction.prominence, direction.stability.bootstrap_degrees_median
    if direction.fit == "pca" and not first.stands_out:
        lines.append(
            f"the first component does not stand out: it explains {first.share:.1%} of the "
            f"variance, {first.ratio:.2f} times the second (wanted: 1.5 times, and more than "
            f"{first.broken_stick:.1%}); look at the anchors, or use --fit labelled"
        )
    held_out = direction.validation.get(direction.method, direction.separation)
    if held_out < 0.75:
        lines.append(
            f"the direction puts only {held_out:.0%} of good and bad anchor pairs in the right "
            "order: it may not be moral"
        )
    if angle > 45:
        lines.append(
            f"the direction is unstable: fitted on actions drawn anew it turns by {angle:.0f} "
            "degrees (median)"
        )
    return lines
