"""`moralscope edit` removes a direction from embeddings; `moralscope teach` corrects an axis."""

from pathlib import Path
from typing import Annotated

from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput, input_flag
from moralscope.cli.output import emit_to, fetched_encoder, starting
from moralscope.core.errors import InputError
from moralscope.steer.options import EditOptions, TeachOptions


@takes
def edit(options: EditOptions, output: ReportOutput) -> None:
    """Remove a direction, such as gender, from an encoder's embeddings and keep its moral one.

    Prints the gender bias of occupations and the moral scores before and after, and how well gender
    can still be predicted afterwards.

    Example: moralscope edit --encoder mpnet --remove gender --save mpnet-gender.safetensors
    """
    from moralscope.steer.edit import check_edit, edit

    check_edit(options)
    starting(options.encoder, quiet=output.json)
    emit_to(output, edit(fetched_encoder(options.encoder), options))


@takes
def teach(
    options: TeachOptions,
    output: ReportOutput,
    correct: Annotated[
        list[str] | None, input_flag("--correct", '"eat meat: fine"; may be repeated.', "TEXT")
    ] = None,
    corrections: Annotated[
        Path | None, input_flag("--corrections", "The same, one per line, or a CSV.")
    ] = None,
    file: Annotated[
        Path | None, input_flag("--file", "Actions to check for what moved.", short="-f")
    ] = None,
) -> None:
    """Correct the moral direction ("eat meat: fine") and see what else moved.

    Labels: good, right; fine, okay; neutral; bad, wrong; or a score such as +1, in standard
    deviations of the actions that the direction was fitted on.

    Example: moralscope teach --correct "eat meat: fine" --save-axis mine.safetensors
    """
    from moralscope.io.actions import read_actions
    from moralscope.steer.teach import parse_corrections, read_corrections, teach

    if not correct and corrections is None:
        raise InputError(
            "no corrections were given", 'give --correct "eat meat: fine" or --corrections FILE'
        )
    starting(options.encoder, reading=file or corrections, quiet=output.json)
    read = read_corrections(corrections) if corrections else []
    lessons = [*read, *(parse_corrections(correct) if correct else [])]
    listed = read_actions(file) if file else None
    model = fetched_encoder(options.encoder)
    emit_to(output, teach(lessons, options, encoder=model, actions=listed))
