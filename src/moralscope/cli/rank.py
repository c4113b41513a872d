"""`moralscope rank`: candidate answers to a free question."""

from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.axes.options import RankOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import OutputOptions
from moralscope.cli.output import clean, emit_to, fetching, out, print_warnings

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord


@takes
def rank(
    question: Annotated[str, typer.Argument(help="A question, e.g. 'What am I afraid of?'")],
    answers: Annotated[list[str], typer.Argument(help="Candidate answers.")],
    options: RankOptions,
    output: OutputOptions,
) -> None:
    """Rank candidate answers to a question by cosine similarity.

    Example: moralscope rank "What should I put in the toaster?" bread "old pizza" "my hamster"
    """
    from moralscope.axes.choice import rank
    from moralscope.models.encoders import load_encoder

    with fetching() as progress:
        model = load_encoder(options.encoder, progress)
    emit_to(output, rank(question, answers, options, model=model), _show)


def _show(record: "RunRecord") -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("answer", overflow="fold", max_width=60)
    table.add_column("cosine", justify="right")
    for row in record.results:
        table.add_row(clean(row.answer), f"{row.score:+.3f}")
    out.print(clean(record.config["question"]), style="bold")
    out.print(table)
    print_warnings(record)
