"""`moralscope interop`: where the files lie that other tools read."""

from pathlib import Path
from typing import Annotated

import typer

from moralscope.cli.output import fetching

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
