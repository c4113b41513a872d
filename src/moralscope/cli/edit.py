"""`moralscope edit` removes a direction from embeddings; `moralscope teach` corrects an axis."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.options import Encoder, Json, Out, Report, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord
    from moralscope.steer.corrections import Correction

_SHOWN = 10


def edit(
    encoder: Encoder = "minilm",
    remove: Annotated[
        str, typer.Option("--remove", help="gender, or a name of your own with --pairs.")
    ] = "gender",
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs", metavar="FILE", help="Your pairs: CSV first,second[,kind], or a YAML list."
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option("--source", help="Of what gender is made: template, pairs, or both."),
    ] = "both",
    keep: Annotated[
        str, typer.Option("--keep", help="Axes that must stay: choice,direction, one, or none.")
    ] = "choice,direction",
    strength: Annotated[
        float, typer.Option("--strength", help="0 removes nothing, 1 all of it.")
    ] = 1.0,
    components: Annotated[
        int, typer.Option("--components", min=1, help="Leading components of the pairs.")
    ] = 8,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Save the edit (safetensors)."),
    ] = None,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Remove a direction, such as gender, from an encoder's embeddings and keep its moral one.

    Prints the gender bias of occupations and the moral scores before and after, and how well
    gender can still be told afterwards.

    Example: moralscope edit --encoder mpnet --remove gender --save mpnet-gender.safetensors
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.models.encoders import load_encoder
    from moralscope.steer.edit import EditSettings, check_edit, edit

    axes = [] if keep == "none" else [name.strip() for name in keep.split(",")]
    settings = EditSettings(source, components, pairs, seed)
    check_edit(remove, axes, strength, settings)
    with fetching() as progress:
        model = load_encoder(encoder, progress)
    record = edit(model, remove=remove, keep=axes, strength=strength, settings=settings, save=save)
    emit(record, json=json, path=out, show=_show_edit, report=report)


def teach(
    correct: Annotated[
        list[str] | None,
        typer.Option("--correct", metavar="TEXT", help='"eat meat: fine"; may be repeated.'),
    ] = None,
    corrections: Annotated[
        Path | None,
        typer.Option("--corrections", metavar="FILE", help="The same, a line each, or a CSV."),
    ] = None,
    encoder: Encoder = "minilm",
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="Actions to look at for what moved."),
    ] = None,
    fit: Annotated[str, typer.Option("--fit", help="pca or labelled.")] = "pca",
    axis_file: Annotated[
        Path | None,
        typer.Option("--axis-file", metavar="FILE", help="Start from a saved direction."),
    ] = None,
    template: Annotated[
        str, typer.Option("--template", help="moral, or a YAML/CSV file of your own.")
    ] = "moral",
    reach: Annotated[
        float, typer.Option("--reach", help="How far a correction carries to other actions.")
    ] = 1.0,
    save_axis: Annotated[
        Path | None,
        typer.Option("--save-axis", metavar="FILE", help="Save the taught direction."),
    ] = None,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Correct the moral direction ("eat meat: fine") and see what else moved.

    Labels: good, right; fine, okay; neutral; bad, wrong; or a score such as +1, in standard
    deviations of the actions that the direction was fitted on.

    Example: moralscope teach --correct "eat meat: fine" --save-axis mine.safetensors
    """
    from moralscope.axes.options import AxisOptions
    from moralscope.cli.output import emit, fetching
    from moralscope.io.actions import read_actions
    from moralscope.models.encoders import load_encoder
    from moralscope.steer.teach import teach

    lessons = _lessons(correct or [], corrections)
    listed = read_actions(file) if file else None
    axis = AxisOptions(axis="direction", template=template, fit=fit, axis_file=axis_file, seed=seed)
    with fetching() as progress:
        model = load_encoder(encoder, progress)
    record = teach(lessons, encoder=model, axis=axis, actions=listed, reach=reach, save=save_axis)
    emit(record, json=json, path=out, show=_show_teach, report=report)


def _lessons(given: list[str], file: Path | None) -> "list[Correction]":
    from moralscope.steer.corrections import parse_corrections, read_corrections

    if not given and file is None:
        raise typer.BadParameter('give --correct "eat meat: fine" or --corrections FILE')
    read = read_corrections(file) if file else []
    return [*read, *(parse_corrections(given) if given else [])]


def _show_edit(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table, print_warnings

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
    for name, title in (("probe", "linear probe"), ("neighbours", "nearest neighbours")):
        values = [f"{getattr(leaks[when], name):.0%}" for when in ("before", "after")]
        table.add_row(title, *values, "50%")
    out.print(table)
    _print_changes(record)
    print_warnings(record)


def _print_changes(record: "RunRecord") -> None:
    """Print the words and actions that moved most, on each axis."""
    from moralscope.cli.output import clean, out, plain_table

    for axis in dict.fromkeys(row.axis for row in record.results):
        rows = sorted(
            (row for row in record.results if row.axis == axis), key=lambda row: -abs(row.change)
        )
        table = plain_table(f"largest changes, {axis}", "before", "after", "change")
        for row in list({row.text: row for row in rows}.values())[:_SHOWN]:
            table.add_row(
                clean(row.text), f"{row.before:+.4f}", f"{row.after:+.4f}", f"{row.change:+.4f}"
            )
        out.print(table)


def _show_teach(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    found = record.statistics
    table = plain_table("correction", "wanted", "before", "after", "took")
    for lesson in found["lessons"]:
        table.add_row(
            clean(lesson.action),
            clean(lesson.label),
            f"{lesson.before:+.2f}",
            f"{lesson.after:+.2f}",
            "yes" if lesson.took else "no",
        )
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
        table.add_row(
            clean(row.action), f"{row.before:+.2f}", f"{row.score:+.2f}", f"{row.change:+.2f}"
        )
    out.print(table)
    print_warnings(record)
