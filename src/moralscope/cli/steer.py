"""`moralscope steer`: push a language model one way, and certify what else that moves."""

from typing import TYPE_CHECKING, Any

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput
from moralscope.cli.output import (
    clean,
    counting,
    emit_to,
    fetching,
    note,
    out,
    plain_table,
    print_gate,
    print_warnings,
)
from moralscope.steer.options import (
    SteerCheckOptions,
    SteerExportOptions,
    SteerImportOptions,
    SteerMakeOptions,
)

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

app = typer.Typer(
    help="Steer a language model with a calibrated vector, and certify what it moved and what "
    "else it moved.",
    no_args_is_help=True,
)


@app.command()
@takes
def make(options: SteerMakeOptions, output: ReportOutput) -> None:
    """Make a steering vector from pairs of texts, one wanted and one not.

    In each layer the vector leads from the unwanted texts to the wanted ones. Its strength is found
    by bisection: on neutral text it moves the model's next word by --kl, on average.

    Use it with --steer in score, survey, audit --revise and stories chain.

    Example: moralscope steer make --model smollm2 --kl 0.5 --save decline.safetensors
    """
    from moralscope.steer.contrasts import load_contrasts
    from moralscope.steer.make import make_vector

    load_contrasts(options.pairs)  # refused before any weights are fetched
    with fetching() as progress:
        record = make_vector(None, options, progress=progress)
    emit_to(output, record, show_make)
    if not output.json:
        note(f"steering vector: {options.save}")


@app.command()
@takes
def check(options: SteerCheckOptions, output: ReportOutput) -> None:
    """Certify a steering vector: what it moved as wanted, and what else it moved.

    The plain model, the steered one and one with a random vector of equal norm answer the same
    questions. Told for each: how far it moved, and whether that is more than chance (paired tests,
    Holm-corrected) and more than what the random vector does.

    Example: moralscope steer check decline.safetensors --gate "collateral<=0.5" --report c.html
    """
    from moralscope.steer.check import check_vector

    with fetching() as progress, counting("checking") as step:
        record = check_vector(None, options, report=step, progress=progress)
    emit_to(output, record, show_check)
    if record.statistics["gate"] is not None:
        record.statistics["gate"].require()


@app.command()
@takes
def export(options: SteerExportOptions) -> None:
    """Write a vector for llama.cpp (a GGUF control vector) or for lm-eval (a .pt file).

    The strength is multiplied in: use it with scale 1.

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

    Such files name no weights: that it was made for this model is your word. Width and layers are
    checked.

    Example: moralscope steer import happy.gguf --model tinyllama --save happy.safetensors
    """
    from moralscope.steer.exchange import import_vector

    info = import_vector(options)
    layers = ", ".join(map(str, info.layers))
    note(f"steering vector for {info.model}, layers {layers}: {options.save}")


def show_make(record: "RunRecord") -> None:
    """Print what was made."""
    config, found = record.config, record.statistics
    title = f"{config['model']}: {found['pairs']:,} pairs of {config['pairs']}, {config['method']}"
    out.print(clean(title), style="bold")
    table = plain_table("layer", "length", "held-out pairs told apart")
    for row in record.results:
        table.add_row(str(row.layer), f"{row.length:.3f}", f"{row.separation:.0%}")
    out.print(table)
    each = found["calibration"]
    out.print(
        f"strength {each.strength:.4g}: KL {each.kl:.3f} on {each.texts} neutral texts "
        f"(wanted {each.target:g})"
    )
    print_warnings(record)


def show_check(record: "RunRecord") -> None:
    """Print a certificate."""
    config, found = record.config, record.statistics
    about = f"{config['model']} steered: layers {config['layers'][0]}-{config['layers'][-1]}"
    out.print(
        clean(f"{about}, {config['method']}, strength {config['strength']:.4g}"), style="bold"
    )
    for title, wanted in (("moved as wanted", True), ("moved besides", False)):
        table = plain_table(title, "n", "plain", "change", "in sd", "p (Holm)", "random")
        for row in record.results:
            if row.wanted is wanted:
                table.add_row(clean(row.figure), str(row.n), *_cells(row))
        out.print(table)
    figures = found["figures"]
    out.print("* moved (p < 0.05, Holm); † moved otherwise than by a random vector of equal norm")
    out.print(
        f"KL on held-out neutral text {figures['kl']:.3f}; largest collateral "
        f"{figures['collateral']:.2f} sd ({clean(found['largest'])})"
    )
    print_gate(found["gate"])
    print_warnings(record)


def _cells(row: Any) -> list[str]:
    span = row.change
    # Rounded first, and zero added: no minus before a zero.
    ends = (span.value, span.low, span.high, row.random)
    value, low, high, random = (f"{round(each, 3) + 0.0:+.3f}" for each in ends)
    star, cross = (" *" if p < 0.05 else "  " for p in (row.p_holm, row.p_random_holm))
    cross = cross.replace("*", "†")
    effect = f"{round(row.effect, 2) + 0.0:+.2f}"
    return [
        f"{row.plain:.3f}",
        f"{value} ({low} … {high})",
        effect,
        f"{row.p_holm:.3f}{star}",
        f"{random}{cross}",
    ]
