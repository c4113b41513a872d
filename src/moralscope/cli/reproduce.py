"""`moralscope reproduce`: the papers' tables beside ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.cli import reproduce_integrity
from moralscope.cli.options import Figure, Json, Out, Report, Seed, Stories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.papers.choice import ChoiceReproduction, WordRow
    from moralscope.papers.direction import BiasTable, FitReproduction, ProjectionRow
    from moralscope.papers.words import WordsReproduction

app = typer.Typer(help="The papers' tables beside ours.", no_args_is_help=True)


@app.callback()
def reproduce() -> None:
    """The papers' tables beside ours."""


Encoders = Annotated[str, typer.Option("--encoders", help="Encoders, separated by commas.")]


@app.command()
def choice(
    encoders: Encoders = "use-lite,minilm,mpnet",
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """The Moral Choice Machine (Jentzsch et al. 2019): every table and figure, per encoder.

    Biases are sums over the prompts, as the paper prints them. WEAT values, dos and don'ts are
    our own on googlenews-26k, beside the values printed in the papers; with MORALSCOPE_DATA also
    beside all published ones. The AFINN validation needs 'pip install afinn' or MORALSCOPE_DATA.
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.papers.choice import reproduce_choice

    with fetching() as progress:
        record = reproduce_choice(_names(encoders), seed=seed, progress=progress)
    emit(record, json=json, path=out, show=_show, report=report)


@app.command()
def direction(
    encoders: Encoders = "use-lite,minilm,mpnet",
    json: Json = False,
    out: Out = None,
    report: Report = None,
    figure: Figure = None,
    seed: Seed = 0,
) -> None:
    """The Moral Compass (Schramowski et al. 2019): every table and figure, per encoder.

    Projections are in standard deviations of the fitting actions, good above zero; the paper's m
    has the opposite sign. WEAT values are the printed ones, our own on googlenews-26k and, with
    MORALSCOPE_DATA, all published ones.
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.papers.direction import reproduce_direction

    with fetching() as progress:
        record = reproduce_direction(_names(encoders), seed=seed, progress=progress)
    emit(record, json=json, path=out, show=_show_directions, report=report, figure=figure)


@app.command()
def stories(
    experts: Annotated[
        str,
        typer.Option(
            "--experts",
            help="mpnet, minilm, scripted or folders of 'stories train', by commas: each split is "
            "measured with the set trained on it, else with the first.",
        ),
    ] = "mpnet",
    tasks: Annotated[
        str | None, typer.Option("--tasks", help="Rows of the task table, by commas; else all.")
    ] = None,
    file: Stories = None,
    encoder: Annotated[
        str, typer.Option("--encoder", help="For the splits of Table 1; 'none' leaves them out.")
    ] = "minilm",
    max_stories: Annotated[
        int | None,
        typer.Option("--max-stories", min=2, help="Measure on so many, drawn by the seed."),
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--runs",
            metavar="RUN.json",
            help="A run of 'stories generate' or 'chain' on --part test, for Tables 4-6 and 15-17; "
            "may be repeated.",
        ),
    ] = None,
    judge: Annotated[
        str, typer.Option("--judge", help="Experts that judge the runs; they ranked none of them.")
    ] = "minilm",
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Moral Stories (Emelin et al. 2021): data, classification and texts beside the paper's.

    With mpnet on two cores all cells take about an hour; --max-stories 200 takes minutes.
    """
    from moralscope.cli.output import counting, emit, fetching
    from moralscope.models.encoders import load_encoder
    from moralscope.papers.stories import reproduce_stories
    from moralscope.papers.stories_texts import text_tables
    from moralscope.stories.data_files import load_stories
    from moralscope.stories.evaluate import EvaluateOptions
    from moralscope.stories.experts import prepare_experts

    options = EvaluateOptions(_names(tasks or ""), max_stories=max_stories, seed=seed)
    listed = load_stories(file)
    with fetching() as progress:
        sets = [prepare_experts(name, progress=progress) for name in _names(experts)]
        model = None if encoder == "none" else load_encoder(encoder, progress)
        grader = prepare_experts(judge, progress=progress) if runs else None
    if not sets:
        raise typer.BadParameter("name some experts")
    texts = text_tables(runs or (), listed.stories, judge=grader, seed=seed)
    with counting("evaluating") as progressed:
        record = reproduce_stories(
            listed, sets, options, encoder=model, texts=texts, report=progressed
        )
    emit(record, json=json, path=out, show=_show_stories, report=report)


def _show_stories(record: "RunRecord") -> None:
    from moralscope.cli.output import out, plain_table, print_warnings

    for found in record.results:
        table = plain_table("", "column", "ours", "interval", "paper", title=found.name)
        digits = _digits([row.ours if row.paper is None else row.paper for row in found.rows])
        table.columns[1].justify = "left"
        named = ""
        for row in found.rows:
            spread = "" if row.low is None else f"{row.low:.2f} … {row.high:.2f}"
            values = ["" if v is None else f"{v:,.{digits}f}" for v in (row.ours, row.paper)]
            table.add_row(
                "" if row.row == named else row.row, row.column, values[0], spread, values[1]
            )
            named = row.row
        out.print(table)
        out.print()
    print_warnings(record)


def _digits(values: "Sequence[float | None]") -> int:
    """Return how many decimals a table needs: none for counts, three where all are shares."""
    known = [value for value in values if value is not None]
    if all(value > 100 for value in known):
        return 0
    return 3 if all(abs(value) <= 1 for value in known) else 2


def _names(encoders: str) -> list[str]:
    return [name.strip() for name in encoders.split(",") if name.strip()]


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import out, print_warnings

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
    from moralscope.cli.output import correlation_rows, plain_table

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
    from moralscope.cli.output import correlation_rows, out, plain_table
    from moralscope.cli.words import show_extracted, valence_table

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
    from moralscope.cli.output import plain_table

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


def _show_directions(record: "RunRecord") -> None:
    from moralscope.cli.output import correlation_rows, out, plain_table, print_warnings

    for result in record.results:
        out.print(f"\n{result.encoder}", style="bold underline")
        out.print(_biases("Table 7: mean bias, our top ten of the dos and don'ts", result.table7))
        out.print(_biases("Table 8: mean bias, our top ten with context", result.table8))
        table = plain_table("Figure 2: bias against WEAT", "r")
        for name, found in result.bias_weat.items():
            for row in correlation_rows(name, found):
                table.add_row(*row)
        out.print(table)
        for fit in result.fits:
            _show_fit(fit)
        for part in (result.fits[0].atomic, result.fits[0].contextual):
            out.print(_projections(part))
    print_warnings(record)


def _show_fit(fit: "FitReproduction") -> None:
    from moralscope.cli.output import correlation_rows, out, plain_table

    out.print(f"\nDirection by {fit.direction['method']} ({fit.fit})", style="bold")
    for label, key in (("actions", ""), ("differences", "_differences")):
        shares = fit.direction[f"explained_variance{key}"][:5]
        line = " ".join(f"{share:.1%}" for share in shares)
        out.print(f"Figure 3: variance explained, PCA of {label}: {line} …")
    table = plain_table("direction against", "rho or r")
    for label, group in (("Table 9, order of", fit.agreement), ("WEAT,", fit.weat)):
        for name, found in group.items():
            for row in correlation_rows(f"{label} {name}", found):
                table.add_row(*row)
    out.print(table)


def _biases(title: str, found: "BiasTable") -> "Table":
    from moralscope.cli.output import plain_table

    titles = ("action", "ours", "BERT", "USE")
    table = plain_table(*titles, *(f"{name} " for name in titles), title=title)
    for pair in zip(found.dos, found.donts, strict=True):
        cells: list[str] = []
        for row in pair:
            cells += [row.action, *(_number(value) for value in (row.ours, row.bert, row.use))]
        table.add_row(*cells)
    return table


def _projections(rows: "Sequence[ProjectionRow]") -> "Table":
    from moralscope.cli.output import plain_table

    table = plain_table(
        "action", "ours", "raw", "BERT m", "USE m", title="Table 9, ours by pca (m < 0 is good)"
    )
    for row in sorted(rows, key=lambda row: -row.ours):
        table.add_row(
            row.action, *(_number(value) for value in (row.ours, row.raw, row.bert, row.use))
        )
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"


app.command("integrity")(reproduce_integrity.integrity)
