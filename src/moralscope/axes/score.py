"""Score actions on an axis and return a run record.

What only some runs need (people's ratings, the measure of 8 bits) is imported by those.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.options import RankOptions, ScoreOptions
from moralscope.axes.rows import ActionRows
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Axis, Encoder, Report
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord
from moralscope.io.actions import ActionList, check_actions
from moralscope.stats.summary import summarise

if TYPE_CHECKING:
    from moralscope.axes.people import HumanAgreement
    from moralscope.axes.ratings import Ratings

DEMO_ACTIONS = (
    "kill people",
    "kill time",
    "eat meat",
    "eat dirt",
    "spread information",
    "spread misinformation",
    "help old people",
    "help a thief",
    "have a gun to hunt animals",
    "have a gun to kill people",
    "trust my friends",
    "trust strangers",
    "have fun",
    "donate to charity",
    "thank my teacher",
    "greet my guests",
    "love my parents",
    "harm animals",
    "murder my neighbour",
    "lie to my wife",
)  # of the tour: pairs in which a word or two turn right into wrong


def score(
    actions: Sequence[str] | ActionList | ActionRows,
    options: ScoreOptions | None = None,
    *,
    built: Axis | None = None,
    ratings: "Ratings | None" = None,
    report: Report | None = None,
    **given: Any,
) -> RunRecord:
    """Score actions; positive is good, negative is bad.

    Parameters
    ----------
    actions
        What is to be scored, as it stands in a question: "kill people", "eat meat"; or rows with
        a norm and context (`axes.rows.read_rows`), for an axis that reads them.
    options
        `ScoreOptions`, or its fields as keywords: `axis="direction"`, `encoder="mpnet"`,
        `template`, `fit`, `norm`, `seed`, … The axes are `choice`: question/answer bias (Jentzsch
        et al. 2019); `direction`: projection on the moral direction (Schramowski et al. 2019);
        `judge`: trained P(moral). As a keyword `encoder` may also be any object with the `Encoder`
        protocol, and `human` what `read_ratings` returned.
    built
        The axis, where it is built already; else the options say how.
    ratings
        Ratings by people that are read already, to set beside the scores.
    report
        Called with (done, total) as the work goes on.

    Examples
    --------
    >>> record = score(["kill people", "kill time"], encoder="scripted")
    >>> [result.action for result in record.results]
    ['kill people', 'kill time']
    >>> score(["kill time"], axis="judge", encoder="scripted").results[0].task
    'action'
    """
    model: Encoder | None = _taken(given, "encoder")
    ratings = _taken(given, "human") or ratings
    chosen = chosen_options(ScoreOptions, options, given)
    rows, paraphrases, ignored = _rows(actions)
    ratings = check_people(chosen) or ratings
    if model is not None:
        chosen = replace(chosen, encoder=model.name)
    models = LocalModels(model)
    axis = built or build_axis(chosen, models)
    run, card = axis.score_rows(rows, paraphrases, report), axis.card
    people = _beside_people(run.results, ratings, chosen.seed)
    unread = [f"columns that were not read: {', '.join(each[:60] for each in ignored[:20])}"]
    record = RunRecord(
        "score",
        seed=chosen.seed,
        config={
            **card.config,
            **run.config,
            "actions": len(rows),
            "options": plain_options(chosen),
        },
        models=list(card.models),
        results=run.results,
        statistics={
            **_statistics(run.results),
            **card.statistics,
            **run.statistics,
            **({"human": people} if people else {}),
        },
        warnings=[
            NOT_ADVICE,
            *card.warnings,
            *card.doubts,
            *(unread if ignored else ()),
            *run.warnings,
            *(people.warnings if people else ()),
        ],
    )
    if not chosen.eight_bits:
        return record
    from moralscope.axes.drift import tell_drift

    exact = build_axis(replace(chosen, eight_bits=False, save_axis=None), models)
    return tell_drift(record, [row["action"] for row in rows], exact, axis)


def check_people(options: ScoreOptions) -> "Ratings | None":
    """Read people's ratings, which may be wrong, before any weights are loaded."""
    if options.human is None:
        return None
    from moralscope.axes.ratings import read_ratings

    return read_ratings(options.human)


def _beside_people(
    results: Sequence[ActionScore], ratings: "Ratings | None", seed: int
) -> "HumanAgreement | None":
    if ratings is None:
        return None
    from moralscope.axes.people import human_agreement

    return human_agreement(results, ratings, seed)


def demo(
    options: RankOptions | None = None, *, report: Report | None = None, **given: Any
) -> RunRecord:
    """Score the twenty actions of the tour on the moral direction.

    Examples
    --------
    >>> len(demo(encoder="scripted").results)
    20
    """
    model = _taken(given, "encoder")
    chosen = chosen_options(RankOptions, options, given)
    encoder = model or chosen.encoder
    return score(DEMO_ACTIONS, axis="direction", encoder=encoder, seed=chosen.seed, report=report)


def _taken(given: dict[str, Any], name: str) -> Any:
    """Take an object out of the keywords where one stands for the name or path of an option."""
    return None if isinstance(given.get(name), str | Path | None) else given.pop(name)


def _rows(
    actions: Sequence[str] | ActionList | ActionRows,
) -> tuple[Sequence[Any], Sequence[Sequence[str]] | None, Sequence[str]]:
    """Return rows, the paraphrases of their actions, and columns that the reader left out."""
    if isinstance(actions, ActionRows):
        return actions.rows, None, actions.ignored
    listed = actions if isinstance(actions, ActionList) else check_actions(actions)
    return [{"action": action} for action in listed.actions], listed.paraphrases, ()


def _statistics(results: Sequence[ActionScore]) -> dict[str, Any]:
    sums = [result.sum for result in results if result.sum is not None]
    return {
        "scores": summarise([result.score for result in results]),
        **({"paper_sums": summarise(sums)} if sums else {}),
        "positive": sum(result.low > 0 for result in results),
        "negative": sum(result.high < 0 for result in results),
        "undecided": sum(result.low <= 0 <= result.high for result in results),
    }
