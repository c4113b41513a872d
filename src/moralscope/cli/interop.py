"""`moralscope interop`: where the files lie that other tools read."""

from pathlib import Path

import typer

app = typer.Typer(
    help="Print where the files lie that other tools read: lm-eval's tasks, promptfoo's assertion.",
    no_args_is_help=True,
)
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
