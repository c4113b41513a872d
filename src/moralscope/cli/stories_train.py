"""`moralscope stories train`: experts of your own, on CPU or GPU."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.options import Json, Seed, Stories

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord
    from moralscope.stories.train import Moment

Rank = Annotated[int, typer.Option("--rank", min=1, max=256, help="Rank of the adapter.")]


def train(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="A row of the task table (action+norm, 'action|context', …), 'all' for every "
            "classification task in one adapter, or 'texts' for every generation task.",
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the expert goes.")],
    split: Annotated[str, typer.Option("--split", help="Whose train part to learn from.")] = (
        "norm_distance"
    ),
    members: Annotated[
        str | None,
        typer.Option(
            "--members",
            metavar="KIND",
            help="action or consequence: the kind whose split counts, where the two differ.",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            help="mpnet or minilm (texts: smollm2, gemma3-270m), a folder, or a hub id.",
        ),
    ] = None,
    base_is: Annotated[
        str | None,
        typer.Option("--base-is", help="The base folder is a copy of this model of the store."),
    ] = None,
    stories: Stories = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="The paper's settings: every weight, rate 1e-5, batch 16, 100 tokens, its pairs "
            "alone (texts: Table 11).",
        ),
    ] = False,
    grid: Annotated[bool, typer.Option("--grid", help="Search the paper's grid on dev.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Train every weight, no adapter.")] = False,
    rank: Rank = 16,
    epochs: Annotated[
        int | None, typer.Option("--epochs", min=0, help="Passes over the train part, at most: 4.")
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option("--learning-rate", min=0.0, help="Rate at its peak: 4e-4 (texts: 1e-3)."),
    ] = None,
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, help="Pairs a step: 64 (texts: 32).")
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(
            "--max-length", min=8, max=512, help="Tokens that are read: 128 (texts: 200)."
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option("--patience", min=1, help="Epochs without a better dev: 2 (texts: 3)."),
    ] = None,
    contrast: Annotated[
        bool | None,
        typer.Option(
            "--contrast/--no-contrast",
            help="Reverse, restate and swap norms, so that they are read; not with --paper.",
        ),
    ] = None,
    reversed_weight: Annotated[
        float,
        typer.Option(
            "--reversed-weight",
            min=0.0,
            help="Weight of a pair whose norm is reversed, beside an official one.",
        ),
    ] = 1.0,
    consistency: Annotated[
        float,
        typer.Option(
            "--consistency",
            min=0.0,
            help="Read every batch twice with other dropout; answers that differ cost this much.",
        ),
    ] = 0.0,
    behaviours: Annotated[
        bool | None,
        typer.Option(
            "--behaviours/--no-behaviours",
            help="Learn bare behaviours from what norms say of them; not with --paper.",
        ),
    ] = None,
    ethics: Annotated[
        bool, typer.Option("--ethics", help="Learn ETHICS beside (below MORALSCOPE_DATA).")
    ] = False,
    test: Annotated[
        bool, typer.Option("--test", help="Report the test part too. Once, at the end.")
    ] = False,
    start: Annotated[
        list[Path] | None,
        typer.Option(
            "--start",
            metavar="DIR",
            help="Go on from an adapter; experts: given several times, from their mean.",
        ),
    ] = None,
    drafts: Annotated[
        Path | None,
        typer.Option(
            "--drafts",
            metavar="RUN.json",
            help="Texts: a run of 'stories chain consequence-ranking' on the train part, from "
            "whose candidates refinement is learnt.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Only the first N stories of each part.")
    ] = None,
    json: Json = False,
    seed: Seed = 0,
) -> None:
    """Train experts on Moral Stories and write them, with their card, to a folder.

    An adapter (LoRA) and a small head on a base of the store, or every weight of any model.
    The epoch is chosen on dev; a run that was stopped goes on where it was when the same command
    is given again. Scores, tables and chains take the folder by --experts DIR.

    Example: moralscope stories train action+norm --to my-expert --base minilm --epochs 2
    """
    given = {
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch,
        "patience": patience,
    }
    from moralscope.cli.output import emit, fetching
    from moralscope.stories.train import TrainOptions, train_task

    options = TrainOptions(
        task=task,
        split=split,
        members=members,
        base=base,
        base_is=base_is,
        rank=None if full else rank,
        paper=paper,
        grid=grid,
        max_length=max_length,
        contrast=contrast,
        reversed_weight=reversed_weight,
        consistency=consistency,
        behaviours=behaviours,
        ethics=ethics,
        test=test,
        limit=limit,
        start=tuple(start or ()),
        drafts=drafts,
        schedule={name: value for name, value in given.items() if value is not None},
        seed=seed,
    )
    with fetching() as progress, watching(quiet=json) as report:
        record = train_task(options, to, stories, report, progress)
    emit(record, json=json, path=None, show=show_training)


@contextmanager
def watching(*, quiet: bool) -> "Iterator[Callable[[Moment], None]]":
    """Show loss, dev and time left: a bar in a terminal, and a line for every look at dev."""
    from moralscope.cli.output import note, training_bar

    with training_bar() as bar:

        def report(moment: "Moment") -> None:
            bar(moment)
            if moment.looked and not quiet:
                dev = ", ".join(f"{name} {value:.3f}" for name, value in moment.dev.items())
                note(f"epoch {moment.epoch}: loss {moment.loss:.3f}; dev {dev}")

        yield report


def show_training(record: "RunRecord") -> None:
    """Draw the figures of a training run."""
    from moralscope.cli.output import out, plain_table, print_warnings

    found: dict[str, dict[str, Any]] = record.statistics["figures"]
    parts = list(found)
    table = plain_table("task", *parts)
    for group in found["dev"]:
        if group not in {"epoch", "loss", "score"}:
            values = (found[part].get(group) for part in parts)
            cells = ["—" if value is None else f"{value:.3f}" for value in values]
            table.add_row(group, *cells)
    out.print(table)
    history = record.statistics["history"]
    out.print(
        f"{history['steps']} steps, {history['examples_per_second']:.0f} examples a second, "
        f"best after epoch {found['dev']['epoch']:.0f}"
    )
    out.print(f"written to {record.config['out']}")
    print_warnings(record)
