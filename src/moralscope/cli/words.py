"""`moralscope words`: what a vocabulary or a corpus associates with good and bad."""

import math
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.axes.options import CorrelateOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import OutputOptions, read_given
from moralscope.cli.output import (
    BAD,
    GOOD,
    clean,
    correlation_rows,
    counting,
    emit_to,
    fetching,
    out,
    plain_table,
    print_warnings,
    score_table,
    starting,
)
from moralscope.core.errors import InputError
from moralscope.words.options import (
    AssociateOptions,
    CorporaOptions,
    ExtractOptions,
    ValidateOptions,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from moralscope.core.records import RunRecord
    from moralscope.words.comparison import ActionDifference

_MOVERS = 12
_TRAJECTORIES = 20
_NAMED = 12
_BLOCKS = "▁▂▃▄▅▆▇█"

app = typer.Typer(
    help="Words: association tests, dos and don'ts of a vocabulary, corpora compared.",
    no_args_is_help=True,
)


@app.command()
@takes
def associate(
    options: AssociateOptions,
    output: OutputOptions,
    words: Annotated[list[str] | None, typer.Argument(help="Words to score.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            metavar="FILE",
            help="One word a line; - reads stdin.",
            rich_help_panel="Input",
        ),
    ] = None,
) -> None:
    """Score words by how near their vectors are to good and to bad words; run WEAT.

    A word's score is its mean cosine with the positive set less that with the negative set.
    --tests compares groups of words: Caliskan's ten tests, or your own.

    Example: moralscope words associate joy poison --vectors googlenews-26k
    """
    from moralscope.words.associate import associate, associate_tests
    from moralscope.words.vectors import load_vectors

    if options.tests is not None and (words or file):
        raise InputError("words and --tests were given", "give one of them")
    listed = None
    if options.tests is None:
        listed = read_given(words, file, "words", other=", or --tests all")
    starting(options.vectors, reading=file, quiet=output.json)
    with fetching() as progress:
        model = load_vectors(options.vectors, case=options.case, progress=progress)
    if listed is not None:
        emit_to(output, associate(listed, options, vectors=model), _show_words)
        return
    names = [name.strip() for name in (options.tests or "").split(",") if name.strip()]
    tests = "all" if names == ["all"] else names
    emit_to(output, associate_tests(tests, options, vectors=model), _show_tests)


@app.command()
@takes
def extract(options: ExtractOptions, output: OutputOptions) -> None:
    """Extract the most positive and most negative verbs of a vocabulary: its dos and don'ts.

    Conjugations count as their base form. Verbs that stand in the papers' lists show their rank.

    Example: moralscope words extract --vectors googlenews-26k --count 25
    """
    from moralscope.words.extract import extract

    starting(options.vectors, quiet=output.json)
    with fetching() as progress:
        record = extract(options=options, progress=progress)
    emit_to(output, record, _show_extract)


@app.command()
@takes
def validate(options: ValidateOptions, output: OutputOptions) -> None:
    """Rate dos and don'ts by a valence lexicon: mean, sd and t, unrated words as 0 or left out.

    Example: moralscope words validate
    """
    from moralscope.words.valence import validate

    emit_to(output, validate(options), _show_validate)


@app.command()
@takes
def correlate(options: CorrelateOptions, output: OutputOptions) -> None:
    """Correlate word association (WEAT) with question/answer bias, pooled and within groups.

    Figure 4 of Jentzsch et al. 2019, for any encoder and any vectors.

    Example: moralscope words correlate --encoder use-lite --figure figure4.svg
    """
    from moralscope.axes.correlate import correlate_words
    from moralscope.models.encoders import load_encoder
    from moralscope.words.vectors import load_vectors

    starting(options.vectors, options.encoder, quiet=output.json)
    with fetching() as progress:
        table = load_vectors(options.vectors, progress=progress)
        model = load_encoder(options.encoder, progress)
    emit_to(output, correlate_words(options, encoder=model, vectors=table), _show_correlation)


@app.command()
@takes
def compare(
    options: CorporaOptions,
    output: OutputOptions,
    corpora: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=PATH …", help="Text files or folders, two or more."),
    ] = None,
    over_time: Annotated[
        Path | None,
        typer.Option(
            "--over-time",
            metavar="PATH",
            help="Follow one folder of files with years over time.",
            rich_help_panel="Input",
        ),
    ] = None,
) -> None:
    """Compare how corpora value actions: what moved, what they share, how it went over time.

    Word vectors are trained on each corpus several times. An action's value is its association
    with good and bad words, as a percentile among the words that all corpora use.

    Example: moralscope words compare bible=kjv/ pali=suttas/
    """
    from moralscope.words.compare import compare_corpora, compare_over_time

    if bool(corpora) == bool(over_time):
        raise InputError("there is nothing to compare", "give corpora as NAME=PATH, or --over-time")
    if options.index is not None and over_time is None:
        raise InputError("--index dates the files of one folder", "add --over-time PATH")
    starting(reading=over_time or ", ".join(corpora or []), quiet=output.json)
    with counting("training") as report:
        if over_time is not None:
            record = compare_over_time(over_time, options, report=report)
        else:
            record = compare_corpora(list(map(_named, corpora or [])), options, report=report)
    emit_to(output, record, _show_corpora if over_time is None else _show_over_time)


def _named(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not (name.strip() and equals and path):
        raise InputError(f"'{text}' is not NAME=PATH", "write it like bible=texts/kjv")
    return name.strip(), Path(path).expanduser()


def _show_words(record: "RunRecord") -> None:
    from moralscope.core.records import ActionScore

    known = [row for row in record.results if row.score is not None]
    table = score_table([ActionScore(row.word, row.score, row.low, row.high) for row in known])
    table.columns[0].header = "word"
    title = f"association with {record.config['sets']}, {record.config['vectors']}"
    out.print(clean(title), style="bold")
    out.print(table)
    print_warnings(record)


def _show_tests(record: "RunRecord") -> None:
    table = plain_table("test", "words", "d", "95 % interval", "p", "word2vec", "GloVe")
    for row in record.results:
        cells = [row.published.get(kind) for kind in ("word2vec", "glove")]
        printed = [f"{cell.d:+.2f} {cell.p:.2g}" if cell else "" for cell in cells]
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


def _show_extract(record: "RunRecord") -> None:
    found = record.statistics
    size = f"{found['verbs']:,} verbs in {found['words']:,} words"
    out.print(clean(f"{record.config['vectors']}, {size}"), style="bold")
    show_extracted(record.results, found)
    if found["validation"]:
        out.print(valence_table(found["validation"]))
    print_warnings(record)


def show_extracted(rows: "Sequence[Any]", found: Any) -> None:
    """Print dos beside don'ts with their rank in the papers' lists, and the overlap."""
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
    if row is None:
        return ("",) * 4
    marks = ("*" if row.form != row.word else "") + ("°" if row.association_word else "")
    interval = f"{row.low:+.2f}…{row.high:+.2f}"
    return clean(row.word + marks), f"{row.score:+.3f}", interval, str(row.paper_rank or "-")


def _show_validate(record: "RunRecord") -> None:
    out.print(valence_table(record.statistics))
    print_warnings(record)


def valence_table(found: Any) -> "Table":
    """Lay out both comparisons; beside them the paper's, where the lists are the paper's."""
    paper = found.get("paper")
    name = found["lexicon"].name
    table = plain_table("figure", "ours", *(["paper"] if paper else []), title=f"valence by {name}")
    for key, label in (("all_words", "all words"), ("rated_only", "rated only")):
        ours, printed = found[key], paper[key] if paper else None
        theirs = (printed.dos, printed.donts) if printed else (None, None)
        for who, side, other in zip(("dos", "don'ts"), (ours.dos, ours.donts), theirs, strict=True):
            row = [_spread(side, side.population_sd)]
            if other:
                row.append(_spread(other, other.sd))
            table.add_row(f"{label}, {who}: mean (population sd), n", *row)
        row = [_number(ours.test.t, ".2f") + ours.test.stars]
        table.add_row(f"{label}: t", *row, *([f"{printed.t:.2f}***"] if printed else []))
    return table


def _spread(value: Any, sd: float) -> str:
    return f"{_number(value.mean, '+.2f')} ({_number(sd, '.2f')}), {value.n}"


def _number(value: float, spec: str) -> str:
    return "-" if math.isnan(value) else format(value, spec)


def _show_correlation(record: "RunRecord") -> None:
    config, found = record.config, record.statistics
    title = f"association in {config['vectors']} against bias of {config['encoder']}"
    table = plain_table("figure", "value", rows=correlation_rows("r", found["correlation"]))
    for side, values in found["bias"].items():
        table.add_row(f"bias of {side}, mean (sd)", f"{values.mean:+.4f} ({values.sd:.4f})")
    table.add_row("t (Student)", f"{found['t'].t:.2f}{found['t'].stars}")
    out.print(clean(title), style="bold")
    out.print(table)
    print_warnings(record)


def _show_corpora(record: "RunRecord") -> None:
    for text in record.config["corpora"]:
        out.print(clean(f"{text['name']}: {text['words']:,} words in {text['files']} files"))
    pairs = dict.fromkeys((row.first.corpus, row.second.corpus) for row in record.results)
    for pair in pairs:
        rows = [row for row in record.results if (row.first.corpus, row.second.corpus) == pair]
        out.print(_movers(rows[:_MOVERS], *pair))
    agreement = record.statistics["agreement"]
    for label, words in (
        ("dos in all", agreement.dos),
        ("don'ts in all", agreement.donts),
        ("a do in one, a don't in another", agreement.divergent),
    ):
        listed = ", ".join(words[:_NAMED]) + (" …" if len(words) > _NAMED else "")
        out.print(clean(f"{label} ({len(words)}): {listed or 'none'}"))
    print_warnings(record)


def _movers(rows: "list[ActionDifference]", first: str, second: str) -> "Table":
    titles = (first, second, "change", "95 % interval", "displaced", f"near it in {first}")
    title = f"biggest movers, {first} to {second} (percentiles of value)"
    table = plain_table("action", *titles, f"in {second}", title=title)
    table.columns[-2].justify = table.columns[-1].justify = "left"
    for row in rows:
        change = clean(f"{row.change:+.0f}")
        change.stylize(GOOD if row.change > 0 else BAD)
        table.add_row(
            clean(row.action),
            f"{row.first.percentile:.0f}",
            f"{row.second.percentile:.0f}",
            change,
            f"{row.low:+.0f} … {row.high:+.0f}",
            f"{row.displacement:.2f}",
            clean(", ".join(row.first.neighbours[:3])),
            clean(", ".join(row.second.neighbours[:3])),
        )
    return table


def _show_over_time(record: "RunRecord") -> None:
    periods = record.config["periods"]
    title = f"percentile of value, {periods[0]} … {periods[-1]}"
    table = plain_table("action", "trajectory", "first", "last", "change", "95 %", title=title)
    for row in record.results[:_TRAJECTORIES]:
        values = {point.period: point.percentile for point in row.points}
        table.add_row(
            clean(row.action),
            sparkline([values.get(period) for period in periods]),
            f"{row.points[0].percentile:.0f}",
            f"{row.points[-1].percentile:.0f}",
            f"{row.change:+.0f}",
            f"{row.low:+.0f} … {row.high:+.0f}",
        )
    out.print(table)
    hidden = len(record.results) - _TRAJECTORIES
    if hidden > 0:
        out.print(f"… {hidden:,} more actions, and every interval: --json or --out", style="dim")
    print_warnings(record)


def sparkline(percentiles: "list[float | None]") -> str:
    """Draw percentiles as blocks, a dot where there is none.

    Examples
    --------
    >>> sparkline([0, 50, None, 100])
    '▁▅·█'
    """
    top = len(_BLOCKS) - 1
    return "".join(
        "·" if value is None else _BLOCKS[min(top, max(0, round(value / 100 * top)))]
        for value in percentiles
    )
