"""`moralscope rules train`: experts for the attributes of rules, and the generator of rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.options import Json, Out, Seed, Stories
from moralscope.cli.stories_train import show_training, watching

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

GENERATOR = "generator"


def train(
    task: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="alignment, foundations, severity, consensus, 'attributes' for all that the data "
            "has in one adapter, or 'generator' for what writes rules.",
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where it goes.")],
    base: Annotated[
        str | None,
        typer.Option("--base", help="mpnet or minilm (generator: smollm2), a folder, or a hub id."),
    ] = None,
    base_is: Annotated[
        str | None,
        typer.Option("--base-is", help="The base folder is a copy of this model of the store."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="MIC.csv",
            help="Learn from annotations, with the paper's settings; else from Moral Stories and "
            "SOCIAL-CHEM-101 below MORALSCOPE_DATA.",
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="What --data calls them: prompt=Q,reply=A.")
    ] = None,
    stories: Stories = None,
    exchanges: Annotated[
        Path | None,
        typer.Option(
            "--exchanges",
            metavar="FILE",
            help="Judged exchanges (YAML or like MIC.csv) that help to choose the epoch.",
        ),
    ] = None,
    start: Annotated[
        list[Path] | None,
        typer.Option(
            "--start", metavar="DIR", help="Go on from experts; several times: from their mean."
        ),
    ] = None,
    head: Annotated[
        bool,
        typer.Option(
            "--head", help="Fit only alignment's last layer, on --start: minutes on a CPU."
        ),
    ] = False,
    rank: Annotated[
        int | None,
        typer.Option("--rank", min=1, max=256, help="Rank of the adapter: 16; --data: none."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Train every weight, no adapter.")] = False,
    grid: Annotated[
        bool, typer.Option("--grid", help="Try the paper's learning rates on dev.")
    ] = False,
    paper: Annotated[
        bool, typer.Option("--paper", help="Generator: the paper's settings (section 5.1).")
    ] = False,
    rule_only: Annotated[
        bool,
        typer.Option("--rule-only", help="Generator: learn the rule's tokens, not the exchange's."),
    ] = False,
    epochs: Annotated[
        int | None,
        typer.Option("--epochs", min=0, help="At most: 4; --data: 8. 0: the mean of --start."),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option("--learning-rate", min=0.0, help="At its peak: 4e-4; --data: 3e-5."),
    ] = None,
    batch: Annotated[
        int | None, typer.Option("--batch", min=1, help="Pairs a step: 64; --data: 16.")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option("--max-length", min=8, max=512, help="Tokens that are read: 128.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option("--patience", min=1, help="Epochs without a better dev: 2.")
    ] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Report the test part too. Once, at the end.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, help="Only the first N stories and rules of each part."),
    ] = None,
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """Train what audits use, and write it, with its card, to a folder.

    The epoch is chosen on dev; a run that was stopped goes on where it was when the same command is
    given again. Audits take the folder by --experts DIR, or --generator DIR.

    Example: moralscope rules train attributes --to my-experts --base minilm --epochs 2
    """
    from moralscope.cli.output import emit, fetching

    given: dict[str, Any] = {
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch,
        "patience": patience,
    }
    shared: dict[str, Any] = {
        "base": base,
        "base_is": base_is,
        "data": data,
        "columns": _columns(columns),
        "max_length": max_length,
        "limit": limit,
        "schedule": {name: value for name, value in given.items() if value is not None},
        "seed": seed,
    }
    own: dict[str, Any] = {"stories": stories, "exchanges": exchanges, "grid": grid, "test": test}
    own |= {"start": tuple(start or ()), "head": head}
    settings = {name: value for name, value in shared.items() if value is not None}
    with fetching() as progress, watching(quiet=json) as report:
        if task == GENERATOR:
            _refuse({**own, "epochs 0": epochs == 0}, task)
            from moralscope.rules.train_generator import RuleTrainOptions, train_generator

            ranked = {"rank": None} if full else {"rank": rank} if rank else {}
            options = RuleTrainOptions(**settings, **ranked, paper=paper, rule_only=rule_only)
            record = train_generator(options, to, report=report, progress=progress)
        else:
            _refuse({"paper": paper, "rule-only": rule_only}, task)
            from moralscope.rules.train import AttributeOptions, train_attributes

            chosen = AttributeOptions(task=task, rank=rank, full=full, **settings, **own)
            record = train_attributes(chosen, to, report=report, progress=progress)
    emit(record, json=json, path=out, show=_show)


def _columns(told: str | None) -> dict[str, str]:
    from moralscope.io.tables import parse_columns

    return parse_columns(told)


def _refuse(given: dict[str, Any], task: str) -> None:
    """Name an option that this training cannot use."""
    for name, value in given.items():
        if value:
            raise typer.BadParameter(f"--{name} is not for '{task}'")


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import out

    show_training(record)
    found = record.statistics.get("baselines")
    if found:
        out.print(
            f"foundations without a model, on {found['part']}: commonest answer "
            f"{found['majority']:.3f}, every label {found['always']:.3f}, words "
            f"{found['keywords']:.3f} (macro-F1)"
        )
    for name, (rewritten, acts) in record.statistics.get("counts", {}).get("rewritten", {}).items():
        share = rewritten / max(acts, 1)
        out.print(f"{name}: {rewritten:,} of {acts:,} acts rewritten ({share:.1%})")
