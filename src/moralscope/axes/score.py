"""Score actions on an axis and return a run record.

Rows for an axis that reads more than actions come from CSV or JSONL with `action`, and a norm, say:
bad input is refused with the line that holds it, and whole, since results must match the file line
by line. A column whose name is a slip of a known one is refused; any other is not read, and said.
What only some runs need (people's ratings, the measure of 8 bits) is imported by those.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moralscope.axes.build import LocalModels, build_axis
from moralscope.axes.measured import people_agreement
from moralscope.axes.options import AXIS_OPTIONS, DemoOptions, ScoreOptions, default_axis
from moralscope.axes.prompts import unread_warning
from moralscope.axes.records import ScoreStatistics
from moralscope.core.errors import InputError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.protocols import Axis, Encoder, LanguageModel, Report, Row
from moralscope.core.records import NOT_ADVICE, ActionScore, RunRecord, SampleInterval
from moralscope.io.actions import MAX_ACTIONS, ActionList, check_actions, check_text
from moralscope.io.tables import Layout, TableFile
from moralscope.stats.summary import summarise

if TYPE_CHECKING:
    from moralscope.axes.ratings import Ratings

_LAYOUT = Layout(lower=True, remedy="give CSV or JSONL with an 'action' column")
_NOT_A_NUMBER = "nan"  # how a missing cell looks when a table of numbers wrote it
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


@dataclass(frozen=True, slots=True)
class ActionRows:
    """The sentences of each row, by column, and the columns of the file that nobody reads."""

    rows: Sequence[Mapping[str, str]]
    ignored: Sequence[str] = ()


def score(
    actions: Sequence[str] | ActionList | ActionRows,
    options: ScoreOptions | None = None,
    *,
    built: Axis | None = None,
    ratings: "Ratings | None" = None,
    report: Report | None = None,
    **keywords: Any,
) -> RunRecord:
    """Score actions; positive is good, negative is bad.

    Parameters
    ----------
    actions
        What is to be scored, as it stands in a question: "kill people", "eat meat"; or rows with
        a norm and context (`read_rows`), for an axis that reads them.
    options
        `ScoreOptions`, or its fields as keywords: `axis="direction"`, `encoder="mpnet"`,
        `template`, `fit`, `norm`, `seed`, … The axes are `judge`: experts trained on people's
        judgments; `choice`: question/answer bias (Jentzsch et al. 2019); `direction`: projection on
        the moral direction (Schramowski et al. 2019). As a keyword `encoder` may also be any object
        with the `Encoder` protocol, which is asked itself (choice, unless said otherwise),
        `model` any with the `LanguageModel` protocol, and `human` what `read_ratings` returned.
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
    # An object may stand for the name or path of an option.
    objects = {
        name: keywords.pop(name)
        for name in ("encoder", "model", "human")
        if not isinstance(keywords.get(name), str | Path | None)
    }
    encoder: Encoder | None = objects.get("encoder")
    speaker: LanguageModel | None = objects.get("model")
    ratings = objects.get("human") or ratings
    names = keywords.keys() & AXIS_OPTIONS
    if encoder is not None and keywords.get("axis") is None:
        keywords["axis"] = default_axis(names, encoder.name, trained=False)
    if speaker is not None and keywords.get("axis") is None:
        keywords["axis"] = default_axis({*names, "model"}, None)
    chosen = chosen_options(ScoreOptions, options, keywords).resolved()
    ignored: Sequence[str] = ()
    rows: Sequence[Row]
    if isinstance(actions, ActionRows):
        rows, paraphrases = actions.rows, None
        names_left = ", ".join(name[:60] for name in actions.ignored[:20])
        ignored = [f"columns that were not read: {names_left}"] if names_left else []
    else:
        listed = actions if isinstance(actions, ActionList) else check_actions(actions)
        rows = [{"action": action} for action in listed.actions]
        paraphrases = listed.paraphrases
    ratings = check_score(chosen) or ratings
    if encoder is not None:
        chosen = replace(chosen, encoder=encoder.name)
    if speaker is not None:
        chosen = replace(chosen, model=speaker.name)
    models = LocalModels(encoder, speaker=speaker)
    axis = built or build_axis(chosen, models)
    run, card = axis.score_rows(rows, paraphrases, report), axis.card
    figures = {**card.statistics, **run.statistics}
    if chosen.framings:
        from moralscope.axes.framings import gate_framings, score_framings

        figures["framings"] = score_framings(axis, rows, run.results)
        if chosen.gate is not None:
            figures["gate"] = gate_framings(chosen.gate, figures["framings"])
    people = None
    if ratings is not None:
        from moralscope.axes.people import human_agreement, layer_agreement

        people = figures["human"] = human_agreement(run.results, ratings, chosen.seed)
        if "layers" in figures:
            layers = figures["layers"]
            by_layer = layer_agreement(layers.scores, run.results, ratings, chosen.seed)
            figures["layers"] = replace(layers, people=by_layer)
    asked = {"actions": len(rows), "options": plain_options(chosen)}
    agreement = people_agreement(card, own_fit=chosen.is_own_fit)
    unread = [result.unread for result in run.results]
    record = RunRecord(
        "score",
        seed=chosen.seed,
        config={**card.config, **run.config, **asked},
        models=list(card.models),
        results=run.results,
        statistics=_statistics(run.results, figures, agreement),
        warnings=[
            NOT_ADVICE,
            *(*card.warnings, *card.doubts, *ignored),
            *unread_warning(rows=sum(count > 0 for count in unread), tokens=sum(unread)),
            *(*run.warnings, *(people.warnings if people else ())),
        ],
    )
    if not chosen.eight_bits:
        return record
    from moralscope.axes.drift import tell_drift

    exact = build_axis(replace(chosen, eight_bits=False, save_axis=None), models)
    return tell_drift(record, [row["action"] for row in rows], exact, axis)


def _statistics(
    results: Sequence[ActionScore],
    figures: Mapping[str, Any],
    people: Mapping[str, SampleInterval] | None,
) -> ScoreStatistics:
    """Sum up scores; `figures` is what only some axes and some runs have."""
    sums = [result.sum for result in results if result.sum is not None]
    return ScoreStatistics(
        scores=summarise([result.score for result in results]),
        paper_sums=summarise(sums) if sums else None,
        positive=sum(result.low > 0 for result in results),
        negative=sum(result.high < 0 for result in results),
        undecided=sum(result.low <= 0 <= result.high for result in results),
        people_agreement=people,
        **figures,
    )


def check_score(options: ScoreOptions) -> "Ratings | None":
    """Read the gate and people's ratings, which may be wrong, before any weights are loaded."""
    if options.gate is not None:
        from moralscope.axes.framings import gate_figures
        from moralscope.stats.gates import parse_gate

        parse_gate(options.gate, gate_figures())
    if options.human is None:
        return None
    from moralscope.axes.ratings import read_ratings

    return read_ratings(options.human)


def demo(
    options: DemoOptions | None = None,
    *,
    built: Axis | None = None,
    report: Report | None = None,
    **keywords: Any,
) -> RunRecord:
    """Score the twenty actions of the tour on the judge's axis."""
    chosen = chosen_options(DemoOptions, options, keywords)
    return score(DEMO_ACTIONS, chosen.score_options(), built=built, report=report)


def read_rows(
    path: Path,
    columns: Sequence[str],
    max_rows: int = MAX_ACTIONS,
    called: Mapping[str, str] | None = None,
) -> ActionRows:
    """Read these columns of a table; an empty cell or null is a sentence not given.

    `called` says what the table calls them, where that is not what we do.
    """
    names = {name: name for name in columns} | dict(called or {})
    table = TableFile(path, layout=replace(_LAYOUT, others=True), columns=names)
    theirs = {name.lower() for name in names.values()}
    ignored: dict[str, None] = {}
    rows: list[Mapping[str, str]] = []
    for line, cells in table.strict_rows(
        (), "write one object per line in JSONL; quote commas in CSV"
    ):
        if not rows and not table.typed:
            _unknown({*table.header} - theirs, columns, f"{path} line 1")
            table.require(["action"], f"{path} line 1")
        if len(rows) == max_rows:
            problem = f"{path} holds more than {max_rows:,} rows"
            raise InputError(problem, "score it in parts, or as a corpus with --out DIR")
        ignored.update(dict.fromkeys(_unknown(cells, columns, f"{path} line {line}")))
        row: dict[str, str] = {}
        for name in columns:
            value = cells.get(name)
            if value is None:
                continue
            if not isinstance(value, str) or value.strip().lower() == _NOT_A_NUMBER:
                problem = f"{path} line {line} has no text under '{name}'"
                raise InputError(problem, "write it as text")
            check_text(value, str(path), "line", line)
            if value.strip():
                row[name] = value.strip()
        if "action" not in row:
            raise InputError(f"{path} line {line} has no action", "add what is to be scored")
        rows.append(row)
    if not rows:
        raise InputError(f"{path} holds no rows", _LAYOUT.remedy)
    return ActionRows(rows, tuple(ignored))


def _unknown(names: Iterable[str], columns: Sequence[str], where: str) -> list[str]:
    unknown = [name for name in names if name not in columns]
    for name in unknown:
        near = difflib.get_close_matches(name.lower(), columns, n=1, cutoff=0.75)
        if near:
            raise InputError(f"{where} has a column '{name[:60]}'", f"did you mean '{near[0]}'?")
    return unknown
