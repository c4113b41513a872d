"""`moralscope words`: what a vocabulary or a corpus associates with good and bad."""

import typer

from moralscope.cli import words_associate, words_compare, words_correlate, words_extract

app = typer.Typer(
    help="Words: association tests, dos and don'ts of a vocabulary, corpora compared.",
    no_args_is_help=True,
)

app.command("associate")(words_associate.associate)
app.command("extract")(words_extract.extract)
app.command("validate")(words_extract.validate)
app.command("correlate")(words_correlate.correlate)
app.command("compare")(words_compare.compare)
