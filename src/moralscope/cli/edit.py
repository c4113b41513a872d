"""`moralscope edit` removes a direction from embeddings; `moralscope teach` corrects an axis."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput
from moralscope.cli.output import (
    clean,
    emit_to,
    fetching,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.core.errors import InputError
from moralscope.steer.options import EditOptions, TeachOptions

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

_SHOWN = 10


@takes
def edit(options: EditOptions, output: ReportOutput) -> None:
    """Remove a direction, such as gender, from an encoder's embeddings and keep its moral one.

    Prints the gender bias of occupations and the moral scores before and after, and how well
    gender can still be told afterwards.

    Example: moralscope edit --encoder mpnet --remove gender --save mpnet-gender.safetensors
    """
    from moralscope.models.encoders import load_encoder
    from moralscope.steer.edit import check_edit, edit

    check_edit(options)
    starting(options.encoder, quiet=output.json)
    with fetching() as progress:
        model = load_encoder(options.encoder, progress)
    emit_to(output, edit(model, options), _show_edit)


@takes
def teach(
    options: TeachOptions,
    output: ReportOutput,
    correct: Annotated[
        list[str] | None,
        typer.Option(
            "--correct",
            metavar="TEXT",
            help='"eat meat: fine"; may be repeated.',
            rich_help_panel="Input",
        ),
    ] = None,
    corrections: Annotated[
        Path | None,
        typer.Option(
            "--corrections",
            metavar="FILE",
            help="The same, a line each, or a CSV.",
            rich_help_panel="Input",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="Actions to look at for what moved.",
            rich_help_panel="Input",
        ),
    ] = None,
) -> None:
    """Correct the moral direction ("eat meat: fine") and see what else moved.

    Labels: good, right; fine, okay; neutral; bad, wrong; or a score such as +1, in standard
    deviations of the actions that the direction was fitted on.

    Example: moralscope teach --correct "eat meat: fine" --save-axis mine.safetensors
    """
    from moralscope.io.actions import read_actions
    from moralscope.models.encoders import load_encoder
    from moralscope.steer.teach import parse_corrections, read_corrections, teach

    if not correct and corrections is None:
        raise InputError(
            "no corrections were given", 'give --correct "eat meat: fine" or --corrections FILE'
        )
    starting(options.encoder, reading=file or corrections, quiet=output.json)
    read = read_corrections(corrections) if corrections else []
    lessons = [*read, *(parse_corrections(correct) if correct else [])]
    listed = read_actions(file) if file else None
    with fetching() as progress:
        model = load_encoder(options.encoder, progress)
    record = teach(lessons, options, encoder=model, actions=listed)
    emit_to(output, record, _show_teach)


def _show_edit(record: "RunRecord") -> None:
    config, found = record.config, record.statistics
    out.print(clean(f"{config['encoder']} without {config['remove']}"), style="bold")
    out.print(
        clean(
            f"removed: {config['dimensions_removed']} dimensions, {config['source']}, "
            f"strength {config['strength']:g}; kept: {', '.join(config['keep']) or 'nothing'}"
        )
    )
    table = plain_table("mean |bias|", "template", "before", "after", "fall", "centred", "spread")
    for row in found["gender"]:
        table.add_row(
            f"{row.n} {row.words}",
            row.template,
            f"{row.before:.4f}",
            f"{row.after:.4f}",
            *(f"{fall:.0f} %" for fall in (row.fall, row.centred_fall, row.spread_fall)),
        )
    out.print(table)
    apart = found["pairs"]
    out.print(
        f"the two sides of the pairs: {apart['before']:.3f} apart before, {apart['after']:.3f} "
        f"after ({apart['fall']:.0f} % nearer)"
    )
    table = plain_table("moral scores before/after", "r", "95 % interval", "n")
    for axis, row in found["moral"].items():
        table.add_row(axis, f"{row.r:.4f}", f"{row.low:.4f} … {row.high:.4f}", str(row.n))
    out.print(table)
    leaks = found["leakage"]
    table = plain_table("gender can still be told by", "before", "after", "chance")
    before, after = leaks["before"], leaks["after"]
    table.add_row("linear probe", f"{before.probe:.0%}", f"{after.probe:.0%}", "50%")
    near = f"{before.neighbours:.0%}", f"{after.neighbours:.0%}"
    table.add_row("nearest neighbours", *near, "50%")
    out.print(table)
    _print_changes(record)
    print_warnings(record)


def _print_changes(record: "RunRecord") -> None:
    """Print the words and actions that moved most, on each axis."""
    for axis in dict.fromkeys(row.axis for row in record.results):
        rows = sorted(
            (row for row in record.results if row.axis == axis), key=lambda row: -abs(row.change)
        )
        table = plain_table(f"largest changes, {axis}", "before", "after", "change")
        for row in list({row.text: row for row in rows}.values())[:_SHOWN]:
            values = (row.before, row.after, row.change)
            table.add_row(clean(row.text), *(f"{value:+.4f}" for value in values))
        out.print(table)


def _show_teach(record: "RunRecord") -> None:
    found = record.statistics
    table = plain_table("correction", "wanted", "before", "after", "took")
    for lesson in found["lessons"]:
        values = (f"{lesson.before:+.2f}", f"{lesson.after:+.2f}", "yes" if lesson.took else "no")
        table.add_row(clean(lesson.action), clean(lesson.label), *values)
    out.print(table)
    agreement = found["agreement"]
    out.print(
        f"the axis turned by {found['angle_degrees']:.1f} degrees; "
        f"r of the other actions before/after {agreement.r:.3f} (n = {agreement.n}); "
        f"{len(found['changed_side'])} changed side"
    )
    named = {lesson.action for lesson in found["lessons"]}
    table = plain_table("what else moved", "before", "after", "change")
    for row in [row for row in record.results if row.action not in named][:_SHOWN]:
        values = (row.before, row.score, row.change)
        table.add_row(clean(row.action), *(f"{value:+.2f}" for value in values))
    out.print(table)
    print_warnings(record)
