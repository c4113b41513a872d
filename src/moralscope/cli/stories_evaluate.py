"""`moralscope stories evaluate`: experts on the test parts, beside the paper's tables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.options import Json, Out, Report, Seed, Stories

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.stories.evaluate import Evaluated

_ALL = "all"
_WIDE, _SETTING = 100, 14  # columns of the terminal, and of a setting where it has fewer
_SHORT = {"norm_distance": "ND", "lexical_bias": "LB", "minimal_pairs": "MP", "all": "all"}


def evaluate(
    experts: Annotated[
        str, typer.Option("--experts", help="mpnet, minilm, scripted, or a folder of 'train'.")
    ] = "mpnet",
    against: Annotated[
        str | None, typer.Option("--against", help="A second set, for paired tests.")
    ] = None,
    tasks: Annotated[
        str | None, typer.Option("--tasks", help="Rows of the task table, by commas; else all.")
    ] = None,
    split: Annotated[
        str, typer.Option("--split", help="norm_distance, lexical_bias, minimal_pairs, or all.")
    ] = _ALL,
    part: Annotated[
        str, typer.Option("--part", help="test, dev, or all: every story of the file.")
    ] = "test",
    stories: Stories = None,
    reversed_: Annotated[
        bool,
        typer.Option("--reversed/--no-reversed", help="Also measure reversed and swapped norms."),
    ] = True,
    shortcuts: Annotated[
        bool, typer.Option("--shortcuts", help="Also measure a bag of words on the same split.")
    ] = False,
    calibrate: Annotated[
        bool, typer.Option("--calibrate/--no-calibrate", help="Also fit a temperature on dev.")
    ] = True,
    max_stories: Annotated[
        int | None,
        typer.Option("--max-stories", min=2, help="Measure on so many, drawn by the seed."),
    ] = None,
    for_people: Annotated[
        Path | None,
        typer.Option(
            "--for-people",
            metavar="DIR",
            help="No experts: write the texts of --runs as blinded sheets for raters into DIR; "
            "without --runs read the ratings in DIR.",
        ),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--runs",
            metavar="RUN.json",
            help="With --for-people: a record of 'stories generate' or 'chain'; may be repeated.",
        ),
    ] = None,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Measure experts: accuracy, F1, calibration, and whether they read the norm.

    Stories that the experts were trained on are left out and counted. Intervals are bootstraps
    over stories. With mpnet on two cores the whole grid takes about half an hour: choose --tasks
    and --split, or draw --max-stories 200.

    Example: moralscope stories evaluate --tasks action+norm --split norm_distance
    """
    from moralscope.cli.output import counting, emit, fetching
    from moralscope.stories.data_files import load_stories
    from moralscope.stories.evaluate import EvaluateOptions, evaluate
    from moralscope.stories.experts import prepare_experts

    if for_people is not None:
        record, show = _people(for_people, runs or [], stories, seed)
        emit(record, json=json, path=out, show=show, report=report)
        return
    if runs:
        raise typer.BadParameter("--runs goes with --for-people; 'stories metrics' measures texts")
    options = EvaluateOptions(
        _names(tasks),
        () if split == _ALL else _names(split),
        part,
        reversed_,
        shortcuts,
        calibrate,
        max_stories,
        seed,
    )
    listed = load_stories(stories).stories
    with fetching() as progress:
        first = prepare_experts(experts, progress=progress)
        second = prepare_experts(against, progress=progress) if against else None
    with counting("evaluating") as progressed:
        record = evaluate(first, listed, options, against=second, report=progressed)
    emit(record, json=json, path=out, show=show_evaluated, report=report)


def _people(
    folder: Path, runs: "Sequence[Path]", stories: Path | None, seed: int
) -> "tuple[RunRecord, Callable[[RunRecord], None]]":
    """Do what `stories people write` does where there are runs, else `stories people read`."""
    from moralscope.cli.stories_people import show_ratings, show_written
    from moralscope.stories.data_files import load_stories
    from moralscope.stories.people_pack import read_people, write_people

    if not runs:
        return read_people(folder, seed=seed), show_ratings
    given = load_stories(stories).stories if stories else None
    return write_people(runs, folder, given, seed=seed), show_written


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def show_evaluated(record: "RunRecord") -> None:
    """Draw the grid, then what there is about norms, other experts and words."""
    from moralscope.cli.output import out, print_warnings

    config, cells = record.config, record.results
    part = "" if config["part"] == _ALL else f"the {config['part']} part of "
    out.print(
        f"{config['experts']} on {part}{config['stories']:,} stories "
        f"({config['complete_stories']:,} of them with all seven sentences)",
        style="bold",
    )
    out.print(_grid(cells))
    for table in (_norms(cells), _paired(cells, config), _words(cells)):
        if table is not None:
            out.print()
            out.print(table)
    print_warnings(record)


def _narrow(*titles: str) -> "Table":
    """Return a table whose numbers stay whole where the terminal is narrow."""
    from moralscope.cli.output import plain_table

    table = plain_table(*titles)
    for column in table.columns:
        column.no_wrap = True
    return table


def _setting(task: str) -> str:
    """Break a long setting before a plus, where the terminal is too narrow for it."""
    from textwrap import wrap

    from moralscope.cli.output import out

    if out.width >= _WIDE:
        return task
    return "\n".join(line.replace(" +", "+") for line in wrap(task.replace("+", " +"), _SETTING))


def _grid(cells: "Sequence[Evaluated]") -> "Table":
    table = _narrow("setting", "", "accuracy", "paper", "F1", "paper ", "ECE", "T dev", "n", "seen")
    for cell in cells:
        found = cell.measured
        table.add_row(
            _setting(cell.task),
            _SHORT[cell.split],
            _figure(found.accuracy),
            _paper(cell.paper_accuracy),
            f"{found.f1.value:.3f}",
            _paper(cell.paper_f1),
            f"{found.ece:.3f}",
            f"{cell.calibration.temperature:.2f}" if cell.calibration else "",
            f"{found.samples:,}",
            f"{cell.seen:,}" if cell.seen else "",
        )
    return table


def _norms(cells: "Sequence[Evaluated]") -> "Table | None":
    table = _narrow("norm reversed", "", "wording", "accuracy", "as written", "share", "swapped")
    for cell in cells:
        swapped = f"{cell.swapped.rejected.value:.3f}" if cell.swapped else ""
        for found in cell.reversed:
            table.add_row(
                _setting(cell.task),
                _SHORT[cell.split],
                str(found.variant + 1),
                _figure(found.accuracy),
                f"{found.original.value:.3f}",
                f"{found.coverage:.0%}",
                "" if found.variant else swapped,
            )
    return table if table.row_count else None


def _paired(cells: "Sequence[Evaluated]", config: Any) -> "Table | None":
    table = _narrow(f"against {config.get('against')}", "", "difference", "p (McNemar)")
    for cell in cells:
        if cell.against is not None:
            found = cell.against
            spread = f"({found.difference.low:+.3f} … {found.difference.high:+.3f})"
            table.add_row(
                _setting(cell.task),
                _SHORT[cell.split],
                f"{found.difference.value:+.3f} {spread}",
                f"{found.p:.2g}",
            )
    return table if table.row_count else None


def _words(cells: "Sequence[Evaluated]") -> "Table | None":
    from moralscope.cli.output import plain_table

    table = plain_table("bag of words", "split", "accuracy", "words for", "words against")
    for cell in cells:
        if cell.shortcut is not None:
            found = cell.shortcut
            sides = [
                ", ".join(each.word for each in side[:3])
                for side in (found.for_positive, found.for_negative)
            ]
            table.add_row(_setting(cell.task), _SHORT[cell.split], _figure(found.accuracy), *sides)
    return table if table.row_count else None


def _figure(found: Any) -> str:
    return f"{found.value:.3f} ({found.low:.2f}…{found.high:.2f})"


def _paper(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
