"""`moralscope compare`: models on the same actions, two saved runs, or a folder of runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from moralscope.axes.compare_options import CompareOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import (
    ActionFile,
    Actions,
    Columns,
    OutputOptions,
    input_flag,
    read_given,
)
from moralscope.cli.output import counting, emit_to, fetching, require_gate, starting
from moralscope.core.errors import InputError
from moralscope.core.options import Options, option_fields
from moralscope.runs.options import CompareRunsOptions


@takes
def compare(
    context: typer.Context,
    options: CompareOptions,
    saved: CompareRunsOptions,
    output: OutputOptions,
    actions: Actions = None,
    file: ActionFile = None,
    columns: Columns = None,
    runs: Annotated[
        tuple[Path, Path] | None,
        input_flag(
            "--runs",
            "Two saved runs of score or audit instead: records (JSON) or corpus folders.",
            "BEFORE AFTER",
        ),
    ] = None,
    watch: Annotated[
        Path | None,
        input_flag(
            "--watch",
            "A folder of runs over time instead: has it drifted since the first? Records of "
            "audit, survey or score, or logs (.jsonl with 'flag'). Or the guard's log file.",
            "FOLDER",
        ),
    ] = None,
) -> None:
    """Compare models on the same actions: where they differ, and how alike they rank.

    Scores are standardised for each encoder. Differences are paired prompt by prompt, with
    bootstrap intervals and p-values corrected (Holm) for the number of comparisons. Two folders
    with checkpoints of one model can be compared too; --gate then guards a release.

    --models takes encoders, language models, endpoints and people side by side.

    --language de asks in German; --language en,de,zh asks one model in each of these about the same
    actions (ours, or --file with a column for each language) and checks first whether languages are
    measured alike.

    With --runs two saved runs are paired item by item, for CI; nothing is computed again.

    With --watch a folder of runs is tested for drift. You may look after every run: false alarms
    come in at most 1 % of sequences. Exit 3 when a drift is found.

    Example: moralscope compare --encoders minilm,mpnet --file actions.txt --gate "r>=0.7"
    """
    from moralscope.axes.build import LocalModels
    from moralscope.axes.compare import FIGURES, build_compared, compare
    from moralscope.io.tables import parse_columns
    from moralscope.runs.compare import compare_runs
    from moralscope.stats.gates import parse_gate

    if watch is not None:
        from moralscope.runs.watch import watch_runs

        others = ("actions", "file", "columns", "runs", "gate", "seed")
        kinds = (CompareOptions, CompareRunsOptions)
        _refuse(context, (*others, *(n for k in kinds for n in _unshared(k))), "--watch")
        record = watch_runs(watch)
        emit_to(output, record)
        record.statistics.require()
        return
    if runs is not None:
        _refuse(
            context, ("actions", "file", "columns", "figure", *_unshared(CompareOptions)), "--runs"
        )
        record = compare_runs(*runs, saved)
        emit_to(output, record)
        require_gate(record)
        return
    _refuse(context, _unshared(CompareRunsOptions), "--encoders")
    if len(options.language) > 1:
        _refuse(context, ("actions",), "several languages")
        from moralscope.axes.languages import compare_languages
        from moralscope.axes.parallel import read_parallel

        parallel = None if file is None else read_parallel(file)
        with counting("languages") as step:
            emit_to(output, compare_languages(parallel, options, report=step))
        return
    if options.gate is not None:
        parse_gate(options.gate, FIGURES)  # refused before any weights are fetched
    starting(*options.names, reading=file, quiet=output.json)
    names = parse_columns(columns, ("action", "paraphrases"), like="action=text")
    listed = read_given(actions, file or (None if actions else options.human), columns=names)
    with fetching() as progress:
        models = LocalModels(progress=progress)
        built = [build_compared(options, name, models) for name in options.names]
    with counting("comparing") as step:
        record = compare(listed, options, built=built, report=step)
    emit_to(output, record)
    require_gate(record)


def _unshared(kind: type[Options]) -> list[str]:
    """Name the options that encoders and runs do not share."""
    return [field.name for field in option_fields(kind) if field.name not in ("gate", "seed")]


def _refuse(context: typer.Context, names: Iterable[str], beside: str) -> None:
    """Refuse options that were typed and would not be read."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            typed = name if name == "actions" else f"--{name.replace('_', '-')}"
            raise InputError(f"{typed} cannot be combined with {beside}", "leave it out")
