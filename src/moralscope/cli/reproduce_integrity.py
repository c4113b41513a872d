"""`moralscope reproduce integrity`: Tables 1 to 4 of Ziems et al. 2022 beside ours."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.options import Json, Out, Report, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

Columns = Annotated[
    str | None,
    typer.Option("--columns", help="Where names differ: prompt=question,reply=answer,…"),
]
Malformed = Annotated[
    str, typer.Option("--malformed", help="What a malformed line does: stop, or skip it.")
]


def integrity(
    mic: Annotated[
        Path | None,
        typer.Option("--mic", metavar="FILE", help="MIC.csv; else MORALSCOPE_DATA/mic/MIC.csv."),
    ] = None,
    generated: Annotated[
        Path | None,
        typer.Option(
            "--generated",
            metavar="FILE",
            help="Rules of generators: JSONL with model (a row of Table 1), prompt, reply, rule.",
        ),
    ] = None,
    experts: Annotated[
        str | None,
        typer.Option("--experts", help="Attribute experts for Table 3: a name or a folder."),
    ] = None,
    columns: Columns = None,
    malformed: Malformed = "stop",
    encoder: Annotated[
        str, typer.Option("--encoder", help="For the SBERT row; 'none' leaves it out.")
    ] = "minilm",
    bertscore: Annotated[
        str,
        typer.Option("--bertscore", help="minilm, mpnet, scripted, a folder, a hub id, or 'none'."),
    ] = "minilm",
    max_exchanges: Annotated[
        int | None,
        typer.Option("--max-exchanges", min=2, help="Measure on so many, drawn by the seed."),
    ] = None,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """The Moral Integrity Corpus (Ziems et al. 2022): Tables 1 to 4 beside your data's.

    Without the corpus, which its authors hand out, the published figures and what is needed.
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.io.tables import parse_columns
    from moralscope.papers.integrity import (
        SourceNames,
        prepare_sources,
        reproduce_integrity,
    )

    names = SourceNames(
        mic,
        parse_columns(columns),
        malformed,
        generated,
        experts,
        encoder,
        bertscore,
        max_exchanges,
    )
    with fetching() as progress:
        sources = prepare_sources(names, progress)
    record = reproduce_integrity(sources, seed=seed)
    emit(record, json=json, path=out, show=_show, report=report)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    for found in record.results:
        table = plain_table("", "column", "ours", "interval", "paper", title=found.name)
        for row in found.rows:
            spread = "" if not _number(row.low) else f"{_number(row.low)} … {_number(row.high)}"
            table.add_row(
                clean(row.row), clean(row.column), _number(row.ours), spread, _number(row.paper)
            )
        out.print(table)
        out.print()
    print_warnings(record)


def _number(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.2f}"
