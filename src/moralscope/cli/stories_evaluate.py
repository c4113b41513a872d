"""`moralscope stories evaluate` and `people`: experts measured, and what people say of texts."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import (
    clean,
    counting,
    emit_to,
    fetching,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.stories.options import (
    ALL,
    EvaluateInput,
    EvaluateOptions,
    PeopleReadOptions,
    PeopleWriteInput,
    PeopleWriteOptions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.stories.evaluate import Evaluated

_WIDE, _SETTING = 100, 14  # columns of the terminal, and of a setting where it has fewer
_SHORT = {"norm_distance": "ND", "lexical_bias": "LB", "minimal_pairs": "MP", ALL: ALL}

people = typer.Typer(
    help="A blinded human evaluation: sheets for raters, their ratings as Tables 4-6.",
    no_args_is_help=True,
)


@takes
def evaluate(given: EvaluateInput, options: EvaluateOptions, output: ReportOutput) -> None:
    """Measure experts: accuracy, F1, calibration, and whether they read the norm.

    Stories that the experts were trained on are left out and counted. Intervals are bootstraps
    over stories. With mpnet on two cores the whole grid takes about half an hour: choose --tasks
    and --split, or draw --max-stories 200.

    Example: moralscope stories evaluate --tasks action+norm --split norm_distance
    """
    from moralscope.stories.evaluate import evaluate
    from moralscope.stories.experts import prepare_experts
    from moralscope.stories.reading import load_stories

    if given.for_people is not None:
        _for_people(given.for_people, given, options.seed, output)
        return
    stories = given.stories or "Moral Stories"
    starting(given.experts, given.against, reading=stories, quiet=output.json)
    listed = load_stories(given.stories).stories
    with fetching() as progress:
        first = prepare_experts(given.experts, progress=progress)
        second = prepare_experts(given.against, progress=progress) if given.against else None
    with counting("evaluating") as progressed:
        record = evaluate(first, listed, options, against=second, report=progressed)
    emit_to(output, record, show_evaluated)


def _for_people(folder: Path, given: EvaluateInput, seed: int, output: ReportOutput) -> None:
    """Do what `stories people write` does where there are runs, else `stories people read`."""
    from moralscope.stories.people import read_people, write_people
    from moralscope.stories.reading import load_stories

    if not given.runs:
        emit_to(output, read_people(folder, seed=seed), _show_ratings)
        return
    stories = load_stories(given.stories).stories if given.stories else None
    emit_to(output, write_people(given.runs, folder, stories, seed=seed), _show_written)


@people.command("write")
@takes
def people_write(
    given: PeopleWriteInput, options: PeopleWriteOptions, output: RecordOutput
) -> None:
    """Write blinded sheets for raters, and the key that stays with you.

    Every strategy is judged on the same samples; its name is on no sheet.

    Example: moralscope stories people write sample.json ranking.json --to pack
    """
    from moralscope.stories.people import write_people
    from moralscope.stories.reading import load_stories

    stories = load_stories(given.stories).stories if given.stories else None
    emit_to(output, write_people(given.runs, given.to, stories, options), _show_written)


@people.command("read")
@takes
def people_read(options: PeopleReadOptions, output: RecordOutput) -> None:
    """Read ratings back: the paper's table with intervals, agreement and paired tests.

    Example: moralscope stories people read pack
    """
    from moralscope.stories.people import read_people

    found = read_people(options.folder, key=options.key, seed=options.seed)
    emit_to(output, found, _show_ratings)


def show_evaluated(record: "RunRecord") -> None:
    """Draw the grid, then what there is about norms, other experts and words."""
    config, cells = record.config, record.results
    part = "" if config["part"] == ALL else f"the {config['part']} part of "
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
    table = plain_table(*titles)
    for column in table.columns:
        column.no_wrap = True
    return table


def _setting(task: str) -> str:
    """Break a long setting before a plus, where the terminal is too narrow for it."""
    from textwrap import wrap

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


def _show_written(record: "RunRecord") -> None:
    """Print what is in the pack and where it lies."""
    found = record.statistics
    strategies = ", ".join(found["strategies"])
    out.print(clean(f"{found['items']:,} texts on {found['samples']:,} samples: {strategies}"))
    out.print(clean(f"sheets for raters: {Path(found['sheets'][0]).parent}"))
    out.print(clean(f"key, not for raters: {found['key']}"))
    print_warnings(record)


def _show_ratings(record: "RunRecord") -> None:
    """Print ratings as Table 4, 5 or 6, the paper's rows below ours."""
    found = record.statistics
    criteria = list(found["agreement"])
    sides = "total | moral | immoral" if record.config["task"] != "norm" else "total"
    table = plain_table("strategy", *criteria, title=f"share of yes, {sides}")
    for row in record.results:
        table.add_row(clean(row.strategy), *(_cells(row.criteria[name]) for name in criteria))
    for row in found["paper"]:
        shown = [" ".join(f"{value:.2f}" for value in row.people[name]) for name in criteria]
        table.add_row(clean(f"paper: {row.name}"), *shown, style="dim")
    out.print(table)
    agreed = plain_table("agreement", "alpha", "95 % interval", "raters agree", "texts")
    for name, value in found["agreement"].items():
        defined = not isnan(value.alpha)
        alpha = f"{value.alpha:.2f}" if defined else "undefined"
        span = f"{value.low:.2f} … {value.high:.2f}" if defined else ""
        share = f"{value.share:.0%}" if value.units else ""
        agreed.add_row(name, alpha, span, share, f"{value.units:,}")
    out.print(agreed)
    show_comparisons(found["comparisons"], 100.0)
    print_warnings(record)


def show_comparisons(rows: Any, scale: float = 1.0) -> None:
    """Print paired differences with intervals and p-values."""
    if not rows:
        return
    pairs = dict.fromkeys((row.first, row.second) for row in rows)
    for pair in pairs:
        title = f"{pair[0]} less {pair[1]}" + (", points" if scale == 100.0 else "")
        table = plain_table("metric", "difference", "95 % interval", "p", "p (Holm)")
        for row in rows:
            if (row.first, row.second) == pair:
                span = f"{row.low * scale:+.2f} … {row.high * scale:+.2f}"
                difference = f"{row.difference * scale:+.2f}"
                metric = row.metric.replace("_", " ")
                table.add_row(metric, difference, span, _p(row.p), _p(row.p_holm))
        out.print(clean(title), style="bold")
        out.print(table)


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _cells(values: Any) -> str:
    shown = " ".join(f"{value.value:.2f}" for value in values.values())
    total = values["total"]
    return f"{shown} ({total.low:.2f} … {total.high:.2f})"
