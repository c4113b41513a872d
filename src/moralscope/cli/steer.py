"""`moralscope steer`: push a language model one way, and certify what else that moves."""

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput
from moralscope.cli.output import counting, emit_to, fetching, note, require_gate
from moralscope.steer.options import (
    SteerCheckOptions,
    SteerExportOptions,
    SteerImportOptions,
    SteerMakeOptions,
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
