"""`moralscope words extract` and `words validate`: dos and don'ts, and whether people agree."""

import math
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli.options import Donts, Dos, Figure, Json, Out, Report, Seed, Sets, Vectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from moralscope.core.records import RunRecord

Valence = Annotated[
    Path | None,
    typer.Option(
        "--lexicon",
        metavar="FILE",
        help="Valence ratings, word<TAB>rating; by default AFINN (pip install afinn).",
    ),
]


def extract(
    vectors: Vectors = "googlenews-26k",
    sets: Sets = "papers",
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Verbs on each side.")] = 50,
    verbs: Annotated[
        str,
        typer.Option(
            "--verbs",
            help="broad: all that can be a verb; strict: mainly verbs; or a file of base forms.",
        ),
    ] = "broad",
    max_words: Annotated[
        int | None,
        typer.Option("--max-words", min=1, help="Only the first, most frequent words; else all."),
    ] = None,
    any_case: Annotated[
        bool, typer.Option("--any-case", help="Read 'Enjoy' as 'enjoy' instead of leaving it out.")
    ] = False,
    lexicon: Valence = None,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    figure: Figure = None,
    seed: Seed = 0,
) -> None:
    """Extract the most positive and most negative verbs of a vocabulary: its dos and don'ts.

    Conjugations count as their base form. Verbs that stand in the papers' lists show their rank.

    Example: moralscope words extract --vectors googlenews-26k --count 25
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.words.extract import ExtractOptions, extract

    options = ExtractOptions(sets, count, verbs, max_words, any_case, lexicon)
    with fetching() as progress:
        record = extract(vectors, options, progress=progress, seed=seed)
    emit(record, json=json, path=out, show=_show_extract, report=report, figure=figure)


def validate(
    dos: Dos = None,
    donts: Donts = None,
    lexicon: Valence = None,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    figure: Figure = None,
    seed: Seed = 0,
) -> None:
    """Rate dos and don'ts by a valence lexicon: mean, sd and t, unrated words as 0 or left out.

    Example: moralscope words validate
    """
    from moralscope.cli.output import emit
    from moralscope.words.validate import validate

    emit(
        validate(dos, donts, valence=lexicon, seed=seed),
        json=json,
        path=out,
        show=_show_validate,
        report=report,
        figure=figure,
    )


def _show_extract(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    found = record.statistics
    out.print(
        clean(f"{record.config['vectors']}, {found['verbs']:,} verbs in {found['words']:,} words"),
        style="bold",
    )
    show_extracted(record.results, found)
    if found["validation"]:
        out.print(valence_table(found["validation"]))
    print_warnings(record)


def show_extracted(rows: "Sequence[Any]", found: Any) -> None:
    """Print dos beside don'ts with their rank in the papers' lists, and the overlap."""
    from moralscope.cli.output import out, plain_table

    titles = ("do", "score", "95 %", "rank")
    table = plain_table(*titles, "don't", *(f"{title} " for title in titles[1:]))
    table.columns[len(titles)].justify = "left"
    sides = [[row for row in rows if row.side == side] for side in ("do", "don't")]
    for pair in zip_longest(*sides):
        table.add_row(*(cell for row in pair for cell in _cells(row)))
    out.print(table)
    shared = found["overlap"]
    for who, part in (("dos", shared["dos"]), ("don'ts", shared["donts"])):
        out.print(
            f"{who}: {part.found} of {part.of} are in the papers' list, "
            f"of which {part.in_vocabulary} of {part.listed} have a vector"
        )
    out.print(
        f"rank: in {shared['source']}; * rated by a conjugation; ° is an association word itself",
        style="dim",
    )


def _cells(row: Any) -> tuple[Any, ...]:
    from moralscope.cli.output import clean

    if row is None:
        return ("",) * 4
    marks = ("*" if row.form != row.word else "") + ("°" if row.association_word else "")
    interval = f"{row.low:+.2f}…{row.high:+.2f}"
    return clean(row.word + marks), f"{row.score:+.3f}", interval, str(row.paper_rank or "-")


def _show_validate(record: "RunRecord") -> None:
    from moralscope.cli.output import out, print_warnings

    out.print(valence_table(record.statistics))
    print_warnings(record)


def valence_table(found: Any) -> "Table":
    """Lay out both comparisons; beside them the paper's, where the lists are the paper's."""
    from moralscope.cli.output import plain_table

    paper = found.get("paper")
    name = found["lexicon"].name
    table = plain_table("figure", "ours", *(["paper"] if paper else []), title=f"valence by {name}")
    for key, label in (("all_words", "all words"), ("rated_only", "rated only")):
        ours, printed = found[key], paper[key] if paper else None
        for side, who in (("dos", "dos"), ("donts", "don'ts")):
            row = [_spread(getattr(ours, side), getattr(ours, side).population_sd)]
            if printed:
                row.append(_spread(getattr(printed, side), getattr(printed, side).sd))
            table.add_row(f"{label}, {who}: mean (population sd), n", *row)
        row = [_number(ours.test.t, ".2f") + ours.test.stars]
        table.add_row(f"{label}: t", *row, *([f"{printed.t:.2f}***"] if printed else []))
    return table


def _spread(value: Any, sd: float) -> str:
    return f"{_number(value.mean, '+.2f')} ({_number(sd, '.2f')}), {value.n}"


def _number(value: float, spec: str) -> str:
    return "-" if math.isnan(value) else format(value, spec)
