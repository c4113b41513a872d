"""`moralscope stories split`: the adversarial splits, their metrics and their leaks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.options import Encoder, Json, Out, Report, Seed
from moralscope.cli.stories_stats import Malformed, StoryPath

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord


def _place(path: Path | None) -> Path | None:
    if path is not None:
        from moralscope.io.files import check_writable

        check_writable(path)
    return path


def split(
    file: StoryPath = None,
    encoder: Encoder = "minilm",
    membership: Annotated[
        Path | None,
        typer.Option(
            "--membership",
            metavar="FILE",
            callback=_place,
            help="Write the stories again (JSONL) with these splits as their membership.",
        ),
    ] = None,
    near: Annotated[
        float, typer.Option("--near", help="Similarity from which two texts are near-duplicates.")
    ] = 0.9,
    malformed: Malformed = "stop",
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Split stories by norm distance, lexical bias and minimal pairs; audit the leaks.

    Section 3.1 of Emelin et al. 2021, with Table 1 beside it. Official membership in the data is
    compared with ours.

    Example: moralscope stories split my_stories.jsonl --membership with_splits.jsonl
    """
    from moralscope.cli.output import counting, emit, fetching
    from moralscope.models.encoders import load_encoder
    from moralscope.stories.data_files import load_stories
    from moralscope.stories.split import stories_split, write_membership

    stories = load_stories(file, malformed=malformed)
    with fetching() as progress:
        model = load_encoder(encoder, progress)
    with counting("splitting") as bar:
        record = stories_split(stories, encoder=model, threshold=near, seed=seed, progress=bar)
    if membership is not None:
        write_membership(record, stories, membership)
    emit(record, json=json, path=out, show=_show, report=report)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import out, plain_table, print_warnings

    parts = plain_table(
        "split", "part", "stories", "samples", "metric", "paper", "official", "in both"
    )
    for row in record.statistics["parts"]:
        name = row["split"] if row["kind"] == "both" else f"{row['split']} {row['kind']}"
        parts.add_row(
            name if row["part"] == "train" else "",
            row["part"],
            f"{row['stories']:,}",
            f"{row['samples']:,}",
            _number(row["mean"]),
            _number(row["paper"]),
            _number(row["official_mean"]),
            "" if row["official_overlap"] is None else f"{row['official_overlap']:,}",
        )
    out.print(parts)
    out.print("held-out stories with a twin in another part: near (exact)", style="bold")
    out.print(_leak_table(record.statistics["leaks"]))
    print_warnings(record)


def _leak_table(leaks: Any) -> Any:
    """One row for each split and sentence, one column for each crossing."""
    from moralscope.cli.output import plain_table

    rows: dict[tuple[str, str], dict[str, str]] = {}
    for leak in leaks:
        row = rows.setdefault((leak.split, leak.field), {})
        row[f"{leak.part} in {leak.into}"] = f"{leak.near:,} ({leak.exact:,})"
    crossings = ("test in train", "dev in train", "test in dev")
    table = plain_table("split", "of", *crossings)
    for (split, field), row in rows.items():
        table.add_row(split, field, *(row.get(crossing, "") for crossing in crossings))
    return table


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.2f}"
