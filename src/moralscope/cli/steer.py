"""`moralscope steer`: push a language model, and certify what moved; `edit`, `teach`: encoders."""

from pathlib import Path
from typing import Annotated

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput, input_flag
from moralscope.cli.output import (
    counting,
    emit_to,
    fetched_encoder,
    fetching,
    note,
    require_gate,
    starting,
)
from moralscope.core.errors import InputError
from moralscope.steer.options import (
    EditOptions,
    SteerCheckOptions,
    SteerExportOptions,
    SteerImportOptions,
    SteerMakeOptions,
    TeachOptions,
)

app = typer.Typer(
    help="Steer a language model with a calibrated vector, and certify what it changes.",
    no_args_is_help=True,
)


@app.command()
@takes
def make(options: SteerMakeOptions, output: ReportOutput) -> None:
    """Make a steering vector from pairs of texts, one wanted and one not.

    In each layer the vector points from the unwanted texts to the wanted ones. Its strength is
    found by bisection: on neutral text it moves the model's next word by --kl, on average.

    A first look follows: does it move what is wanted, and leave harmless requests alone? A vector
    that does not is saved with a warning.

    Use it with --steer in score, survey, audit --revise and stories chain.

    Example: moralscope steer make --model smollm2 --save decline.safetensors
    """
    from moralscope.steer.contrasts import load_contrasts
    from moralscope.steer.make import make_vector

    load_contrasts(options.pairs)  # refused before any weights are fetched
    with fetching() as progress:
        record = make_vector(None, options, progress=progress)
    emit_to(output, record)
    if not output.json:
        note(f"steering vector: {options.save}")


@app.command()
@takes
def check(options: SteerCheckOptions, output: ReportOutput) -> None:
    """Certify a steering vector: what it moved as wanted, and what else it moved.

    The plain model, the steered one and one with a random vector of equal norm answer the same
    questions. For each measure it shows how far it moved, and whether that is more than chance
    (paired tests, Holm-corrected) and more than with the random vector.

    Example: moralscope steer check decline.safetensors --gate "collateral<=0.5" --report c.html
    """
    from moralscope.steer.check import check_vector

    with fetching() as progress, counting("checking") as step:
        record = check_vector(None, options, report=step, progress=progress)
    emit_to(output, record)
    require_gate(record)


@app.command()
@takes
def export(options: SteerExportOptions) -> None:
    """Write a vector for llama.cpp (a GGUF control vector) or for lm-eval (a .pt file).

    The file includes the strength: use scale 1.

    Example: moralscope steer export decline.safetensors --to gguf --save decline.gguf
    """
    from moralscope.steer.exchange import export_vector

    vector = export_vector(options)
    layers = ", ".join(map(str, vector.info.layers))
    note(f"{options.to} vector of {vector.info.model}, layers {layers}: {options.save}")


@app.command("import")
@takes
def import_(options: SteerImportOptions) -> None:
    """Read a vector of llama.cpp, repeng or lm-eval for a model, and save it as ours.

    Such files do not name their model: make sure that it is this one. Only width and layers are
    checked.

    Example: moralscope steer import happy.gguf --model tinyllama --save happy.safetensors
    """
    from moralscope.steer.exchange import import_vector

    info = import_vector(options)
    layers = ", ".join(map(str, info.layers))
    note(f"steering vector for {info.model}, layers {layers}: {options.save}")


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
