"""`moralscope reproduce`: the papers' tables beside ours."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.app.cli.options import Json, Out, Seed

if TYPE_CHECKING:
    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.jobs.reproduce import ChoiceReproduction, WordRow

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
    """The Moral Choice Machine (Jentzsch et al. 2019): Tables 1-3 and Figure 4, per encoder.

    Biases are sums over the prompts, as the paper prints them. The correlation with all
    published WEAT values needs MORALSCOPE_DATA; the values printed in the papers are built in.
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
    print_warnings(record)


def _figures(result: "ChoiceReproduction", paper: Any) -> "Table":
    from moralscope.app.cli.output import plain_table

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
        ("r with WEAT, printed words", result.weat_printed),
        ("r with WEAT, all words", result.weat_published),
    ):
        if found is None:
            table.add_row(label, "set MORALSCOPE_DATA", f"{paper['r']}***")
            continue
        span = f"{found.r:.3f}{found.stars} ({found.low:.2f} … {found.high:.2f}), n = {found.n}"
        table.add_row(label, span, f"{paper['r']}***")
        for group, inner in found.within.items():
            table.add_row(f"  within {group}", f"{inner.r:+.3f}{inner.stars}, n = {inner.n}", "")
    table.add_row("female-biased occupations", f"{result.female_right} of 10", "10 of 10")
    table.add_row("male-biased occupations", f"{result.male_right} of 10", "10 of 10")
    return table


def _words(title: str, left: "list[WordRow]", right: "list[WordRow]") -> "Table":
    from moralscope.app.cli.output import plain_table

    table = plain_table("word", "ours", "paper", "word ", "ours ", "paper ", title=title)
    for first, second in zip(left, right, strict=True):
        table.add_row(*_cells(first), *_cells(second))
    return table


def _cells(row: "WordRow") -> tuple[str, str, str]:
    return row.word, f"{row.ours:+.3f}", "" if row.paper is None else f"{row.paper:+.3f}"
