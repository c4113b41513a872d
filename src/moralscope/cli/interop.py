"""`moralscope interop`, `export` and `mcp`: for other tools, CI systems, the hub and agents."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from moralscope.cli.declare import takes
from moralscope.cli.output import fetching, note
from moralscope.core.errors import InputError
from moralscope.interop.options import ExportOptions, McpOptions

app = typer.Typer(
    help="Print where the files are that other tools read: tasks, an assertion, language models.",
    no_args_is_help=True,
)
_LARGEST = 500_000_000  # bytes of an export
_FOLDER = Path(__file__).parents[1] / "interop"


@app.command("lm-eval-path")
def lm_eval_path() -> None:
    """Print the folder of our tasks for lm-eval.

    Example: lm-eval run --include_path "$(moralscope interop lm-eval-path)" …
    """
    typer.echo(_FOLDER / "lm_eval_tasks")


@app.command("promptfoo-path")
def promptfoo_path() -> None:
    """Print the file of our Python assertion for promptfoo.

    Example: value: file://PATH:get_assert
    """
    typer.echo(_FOLDER / "promptfoo.py")


@app.command("label-studio-config")
def label_studio_config() -> None:
    """Print the labelling config of the tasks that 'export --format label-studio' writes.

    Example: moralscope interop label-studio-config > config.xml
    """
    from moralscope.interop.labelling import LABEL_STUDIO_CONFIG

    typer.echo(LABEL_STUDIO_CONFIG, nl=False)


@app.command("answers")
def answers(
    file: Annotated[
        Path, typer.Argument(help="A JSON export of Label Studio, or Argilla's records.")
    ],
) -> None:
    """Print people's answers from Label Studio or Argilla as a table for 'agreement'.

    Example: moralscope interop answers export.json > answers.csv
    """
    from moralscope.interop.labelling import read_answers
    from moralscope.io.documents import read_document
    from moralscope.io.files import csv_bytes

    document = read_document(file, "the export", "give the tool's JSON export", _LARGEST)
    rows = read_answers(document.json_values(), str(file))
    typer.echo(csv_bytes([list(rows[0]), *(row.values() for row in rows)]), nl=False)


@app.command("model-path")
def model_path(
    name: Annotated[str, typer.Argument(help="smollm2, gemma3-270m, tinyllama.")] = "smollm2",
) -> None:
    """Print the folder of a language model as transformers, lm-eval and inspect_ai load it.

    Example: lm-eval run --model hf --model_args pretrained="$(moralscope interop model-path)" …
    """
    from moralscope.models.language.conversion import resolve_base

    with fetching() as progress:
        folder, _ = resolve_base(name, progress=progress)
    typer.echo(folder)


@takes
def mcp(options: McpOptions) -> None:
    """Serve audit, score and rules as tools for an agent (MCP over stdin and stdout).

    An MCP client starts it. Models are loaded at the first call and stay loaded.

    Example: moralscope mcp --rulebook rules.yaml
    """
    from moralscope.interop.mcp import build_server
    from moralscope.interop.replies import audit_options

    chosen = audit_options(list(options.rulebooks) or None, experts=options.experts)
    build_server(chosen).run()


@takes
def export(options: ExportOptions) -> None:
    """Export a run as JUnit XML, SARIF, a Markdown summary or labelling tasks; or weights.

    The run is an audit, or any run with a gate. Weights are exported for Hugging Face's hub.
    Nothing is sent anywhere.

    Example: moralscope export audit.json --to audit.xml
    """
    from moralscope.interop.exports import FORMATS, SUFFIXES

    source, target = Path(options.source).expanduser(), options.to
    by_suffix = SUFFIXES.get(target.suffix) if target is not None else None
    is_run = source.is_file() or source.suffix == ".json"
    form = options.format or by_suffix or ("markdown" if is_run else "hub")
    if form == "hub":
        from moralscope.interop.hub import write_hub_folder

        if target is None:
            raise InputError("weights go into a folder", "name one: --to DIR")
        for path in write_hub_folder(options.source, target):
            note(f"wrote {path}")
        return
    if options.format is None and by_suffix is None and target is not None:
        raise InputError(f"{target} could be of any format", "name one: --format junit")
    from moralscope.interop.exports import read_results
    from moralscope.interop.labelling import LABELLING
    from moralscope.io.files import check_writable, read_run, write_whole

    text = {**FORMATS, **LABELLING}[form](read_results(read_run(source), str(source)))
    if target is None:
        sys.stdout.write(text)
        return
    check_writable(target)
    write_whole(target, [text.encode()])
    note(f"{form}: {target}")
