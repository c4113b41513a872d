"""`moralscope reproduce`: the papers' tables beside ours."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.app.cli.options import Json, Out, Seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.jobs.reproduce import ChoiceReproduction, WordRow
    from moralscope.jobs.reproduce_words import WordsReproduction

app = typer.Typer(help="The papers' tables beside ours.", no_args_is_help=True)


@app.callback()
def reproduce() -> None:
    """The papers' tables beside ours."""


@app.command()
def choice(
    encoders: Annotated[
        str, typer.Option("--encoders", help="Encoders, separated by commas.")
    ] = "use-lite,minilm,mpnet",
    json: Json = False,
    out: Out = None,
    seed: Seed = 0,
) -> None:
    """The Moral Choice Machine (Jentzsch et al. 2019): every table and figure, per encoder.

    Biases are sums over the prompts, as the paper prints them. WEAT values, dos and don'ts are
    our own on googlenews-26k, beside the values printed in the papers; with MORALSCOPE_DATA also
    beside all published ones. The AFINN validation needs 'pip install afinn' or MORALSCOPE_DATA.
    """
    from moralscope.app.cli.output import emit, fetching
    from moralscope.jobs.records import check_writable
    from moralscope.jobs.reproduce import reproduce_choice

    if out is not None:
        check_writable(out)
    names = [name.strip() for name in encoders.split(",") if name.strip()]
    with fetching() as progress:
        record = reproduce_choice(names, seed=seed, progress=progress)
    emit(record, json=json, path=out, show=_show)


def _show(record: "RunRecord") -> None:
    from moralscope.app.cli.output import out, print_warnings

    for result in record.results:
        out.print(f"\n{result.encoder}", style="bold underline")
        out.print(_figures(result, record.statistics["paper"]))
        out.print(_words("Table 2: ten dos and don'ts by bias", result.top_dos, result.top_donts))
        out.print(_words("Table 1: gender bias of occupations", result.female, result.male))
        for row in result.rankings:
            out.print(f"Table 3: {row.question}", style="bold")
            for answer, ours, printed in zip(row.answers, row.ours, row.paper, strict=True):
                out.print(f"  {answer:<22}{ours:+.2f}   paper {printed:+.2f}")
    words = record.statistics["words"]
    if words is not None:
        _show_vocabulary(words)
    print_warnings(record)


def _figures(result: "ChoiceReproduction", paper: Any) -> "Table":
    from moralscope.app.cli.output import correlation_rows, plain_table

    table = plain_table("figure", "ours", "paper")
    for label, ours, printed in (
        ("dos, mean (sd)", result.dos, paper["dos"]),
        ("don'ts, mean (sd)", result.donts, paper["donts"]),
    ):
        table.add_row(
            label, f"{ours.mean:+.3f} ({ours.sd:.3f})", f"{printed.mean:+.3f} ({printed.sd:.2f})"
        )
    table.add_row(
        "t (Student)", f"{result.student.t:.2f}{result.student.stars}", f"{paper['t']}***"
    )
    table.add_row("t (Welch)", f"{result.welch.t:.2f}{result.welch.stars}", "")
    for label, found in (
        ("r with WEAT as printed", result.weat_printed),
        ("r with WEAT as published, all words", result.weat_published),
        ("r with WEAT of our vectors", result.weat_ours),
    ):
        if found is None:
            table.add_row(label, "not measured: see the notes", "")
            continue
        first, *inner = correlation_rows(label, found)
        table.add_row(*first, f"{paper['r']}***")
        for row in inner:
            table.add_row(*row, "")
    table.add_row("female-biased occupations", f"{result.female_right} of 10", "10 of 10")
    table.add_row("male-biased occupations", f"{result.male_right} of 10", "10 of 10")
    return table


def _show_vocabulary(words: "WordsReproduction") -> None:
    from moralscope.app.cli.output import correlation_rows, out, plain_table
    from moralscope.app.cli.words_extract import show_extracted, valence_table

    out.print(f"\nWords of {words.vectors}", style="bold underline")
    table = plain_table("WEAT values, ours against", "r")
    for label, found in (
        ("the papers' tables", words.agreement),
        ("all published", words.agreement_published),
    ):
        if found is not None:
            for row in correlation_rows(label, found):
                table.add_row(*row)
    table.add_row("not in the vocabulary", ", ".join(words.missing))
    out.print(table)
    if words.extraction is not None:
        show_extracted(words.extracted, words.extraction)
    if words.validation is not None:
        out.print(valence_table(words.validation))


def _words(title: str, left: "Sequence[WordRow]", right: "Sequence[WordRow]") -> "Table":
    """Lay out two lists side by side; the WEAT columns only where there is a WEAT value."""
    from moralscope.app.cli.output import plain_table

    fields = ["ours", "paper", "weat_ours", "weat_paper"]
    if not any(row.weat_ours or row.weat_paper for row in (*left, *right)):
        fields = fields[:2]
    titles = ["word", *(name.replace("weat_", "WEAT, ") for name in fields)]
    table = plain_table(*titles, *(f"{name} " for name in titles), title=title)
    for pair in zip(left, right, strict=True):
        cells: list[str] = []
        for row in pair:
            values = [getattr(row, name) for name in fields]
            cells += [row.word, *("" if value is None else f"{value:+.3f}" for value in values)]
        table.add_row(*cells)
    return table
