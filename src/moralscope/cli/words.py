"""`moralscope words`: what a vocabulary or a corpus associates with good and bad."""

from pathlib import Path
from typing import Annotated

import typer

from moralscope.axes.options import CorrelateOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import OutputOptions, input_flag, read_given
from moralscope.cli.output import counting, emit_to, fetching, starting
from moralscope.core.errors import InputError
from moralscope.words.options import (
    AssociateOptions,
    CorporaOptions,
    ExtractOptions,
    ValidateOptions,
)

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
        Path | None, input_flag("--file", "One word per line; - reads stdin.", short="-f")
    ] = None,
) -> None:
    """Score words by how near their vectors are to good and to bad words; run WEAT.

    A word's score is its mean cosine with the positive set minus that with the negative set.
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
        emit_to(output, associate(listed, options, vectors=model))
        return
    names = [name.strip() for name in (options.tests or "").split(",") if name.strip()]
    tests = "all" if names == ["all"] else names
    emit_to(output, associate_tests(tests, options, vectors=model))


@app.command()
@takes
def extract(options: ExtractOptions, output: OutputOptions) -> None:
    """Extract the most positive and most negative verbs of a vocabulary: its dos and don'ts.

    Conjugations count as their base form. Verbs in the papers' lists show their rank.

    Example: moralscope words extract --vectors googlenews-26k --count 25
    """
    from moralscope.words.extract import extract

    starting(options.vectors, quiet=output.json)
    with fetching() as progress:
        record = extract(options=options, progress=progress)
    emit_to(output, record)


@app.command()
@takes
def validate(options: ValidateOptions, output: OutputOptions) -> None:
    """Rate dos and don'ts by a valence lexicon: mean, sd and t, unrated words as 0 or left out.

    Example: moralscope words validate
    """
    from moralscope.words.valence import validate

    emit_to(output, validate(options))


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
    emit_to(output, correlate_words(options, encoder=model, vectors=table))


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
        input_flag("--over-time", "Follow one folder of files with years over time.", "PATH"),
    ] = None,
) -> None:
    """Compare how corpora value actions: what moved, what they share, what changed over time.

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
            pairs = []
            for named in corpora or []:
                name, equals, path = named.partition("=")
                if not (name.strip() and equals and path):
                    raise InputError(f"'{named}' is not NAME=PATH", "write it like bible=texts/kjv")
                pairs.append((name.strip(), Path(path).expanduser()))
            record = compare_corpora(pairs, options, report=report)
    emit_to(output, record)
