"""`moralscope stories evaluate`: experts measured."""

from typing import TYPE_CHECKING, Any

from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput
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
from moralscope.stories.options import ALL, EvaluateInput, EvaluateOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.stories.evaluate import TaskEvaluation

_WIDE, _SETTING = 100, 14  # columns of the terminal, and of a setting where it has fewer
_SHORT = {"norm_distance": "ND", "lexical_bias": "LB", "minimal_pairs": "MP", ALL: ALL}


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

    stories = given.stories or "Moral Stories"
    starting(given.experts, given.against, reading=stories, quiet=output.json)
    listed = load_stories(given.stories).stories
    with fetching() as progress:
        first = prepare_experts(given.experts, progress=progress)
        second = prepare_experts(given.against, progress=progress) if given.against else None
    with counting("evaluating") as progressed:
        record = evaluate(first, listed, options, against=second, report=progressed)
    emit_to(output, record, show_evaluated)


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


def _grid(cells: "Sequence[TaskEvaluation]") -> "Table":
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


def _norms(cells: "Sequence[TaskEvaluation]") -> "Table | None":
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


def _paired(cells: "Sequence[TaskEvaluation]", config: Any) -> "Table | None":
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


def _words(cells: "Sequence[TaskEvaluation]") -> "Table | None":
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


def show_comparisons(rows: Any) -> None:
    """Print paired differences with intervals and p-values."""
    if not rows:
        return
    pairs = dict.fromkeys((row.first, row.second) for row in rows)
    for pair in pairs:
        title = f"{pair[0]} less {pair[1]}"
        table = plain_table("metric", "difference", "95 % interval", "p", "p (Holm)")
        for row in rows:
            if (row.first, row.second) == pair:
                span = f"{row.low:+.2f} … {row.high:+.2f}"
                difference = f"{row.difference:+.2f}"
                metric = row.metric.replace("_", " ")
                table.add_row(metric, difference, span, _p(row.p), _p(row.p_holm))
        out.print(clean(title), style="bold")
        out.print(table)


def _p(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"
