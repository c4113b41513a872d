"""`moralscope words associate`: words against association sets, and association tests."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.inputs import read_given
from moralscope.cli.options import Figure, Json, Out, Report, Seed, Vectors

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord


def associate(
    words: Annotated[list[str] | None, typer.Argument(help="Words to score.")] = None,
    vectors: Vectors = "googlenews-26k",
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="One word a line; - reads stdin."),
    ] = None,
    sets: Annotated[
        str,
        typer.Option(
            "--sets",
            help="papers, career-family, caliskan-1 … caliskan-10, or a YAML/TOML/JSON file with "
            "positive and negative words.",
        ),
    ] = "papers",
    tests: Annotated[
        str | None,
        typer.Option(
            "--tests",
            help="Run association tests in place of scoring words: all, or names and files "
            "(with target words x and y), separated by commas.",
        ),
    ] = None,
    case: Annotated[
        str, typer.Option("--case", help="exact, or lower: look words up in lower case.")
    ] = "exact",
    missing: Annotated[
        str,
        typer.Option(
            "--missing",
            help="Words of a test that the vectors lack: leave them out, or let the plural "
            "stand in (named in the record).",
        ),
    ] = "leave",
    permutations: Annotated[
        int,
        typer.Option("--permutations", min=100, help="Partitions to sample if p is not exact."),
    ] = 10_000,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    figure: Figure = None,
    seed: Seed = 0,
) -> None:
    """Score words by how near their vectors are to good and to bad words; run WEAT.

    A word's score is its mean cosine with the positive set less that with the negative set.
    --tests compares groups of words: Caliskan's ten tests, or your own.

    Example: moralscope words associate joy poison --vectors googlenews-26k
    """
    from moralscope.cli.output import emit, fetching
    from moralscope.words.associate import associate, associate_tests, prepare_vectors

    if tests is not None and (words or file):
        raise typer.BadParameter("give words or --tests, not both")
    listed = (
        None if tests is not None else read_given(words, file, "words", other=", or --tests all")
    )
    with fetching() as progress:
        model = prepare_vectors(vectors, case=case, progress=progress)
    if listed is not None:
        record = associate(listed, vectors=model, sets=sets, seed=seed)
        emit(record, json=json, path=out, show=_show_words, report=report, figure=figure)
        return
    names = [name.strip() for name in (tests or "").split(",") if name.strip()]
    chosen = "all" if names == ["all"] else names
    record = associate_tests(
        chosen, vectors=model, permutations=permutations, missing=missing, seed=seed
    )
    emit(record, json=json, path=out, show=_show_tests, report=report, figure=figure)


def _show_words(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings, score_table
    from moralscope.core.records import ActionScore

    known = [row for row in record.results if row.score is not None]
    table = score_table([ActionScore(row.word, row.score, row.low, row.high) for row in known])
    table.columns[0].header = "word"
    title = f"association with {record.config['sets']}, {record.config['vectors']}"
    out.print(clean(title), style="bold")
    out.print(table)
    print_warnings(record)


def _show_tests(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table, print_warnings

    table = plain_table("test", "words", "d", "95 % interval", "p", "word2vec", "GloVe")
    for row in record.results:
        published = [row.published.get(kind) for kind in ("word2vec", "glove")]
        printed = [f"{cell.d:+.2f} {cell.p:.2g}" if cell else "" for cell in published]
        figures = ["-"] * 4
        if row.problem is None:
            p = f"{row.p:.2g}" if row.exact else f"~{row.p:.2g}"
            interval = f"{row.low:+.2f}…{row.high:+.2f}"
            figures = [f"{row.n_x}+{row.n_y}", f"{row.effect_size:+.2f}", interval, p]
        table.add_row(clean(row.name), *figures, *printed)
    out.print(clean(f"association tests, {record.config['vectors']}"), style="bold")
    out.print(table)
    key = "word2vec, GloVe: d and p as Caliskan et al. 2017 print them; ~ sampled, not exact"
    out.print(key, style="dim")
    print_warnings(record)
