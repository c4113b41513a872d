"""`moralscope reproduce`: the papers' tables beside ours."""

from typing import TYPE_CHECKING

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import OutputOptions, ReportOutput
from moralscope.cli.output import emit_to, fetching, out, starting
from moralscope.papers.options import (
    AllOptions,
    ChoiceOptions,
    EncodersOptions,
    IntegrityOptions,
    StoriesOptions,
)

if TYPE_CHECKING:
    from moralscope.papers import PaperTable

app = typer.Typer(help="Print the papers' tables next to ours.", no_args_is_help=True)


@app.callback()
def reproduce() -> None:
    """Print the papers' tables next to ours."""


@app.command()
@takes
def choice(options: ChoiceOptions, output: OutputOptions) -> None:
    """The Moral Choice Machine (Jentzsch et al. 2019): every table and figure, per encoder.

    Biases are sums over the prompts, as the paper prints them. WEAT values are our own on
    googlenews-26k, dos and don'ts on it and on glove-50's 400,000 words, beside the values printed
    in the papers; with MORALSCOPE_DATA also beside all published ones. The AFINN validation needs
    'pip install afinn' or MORALSCOPE_DATA.
    """
    from moralscope.papers.choice import reproduce_choice

    show = None if output.json else _show
    starting(*options.encoders, quiet=output.json)
    with fetching() as progress:
        record = reproduce_choice(options=options, progress=progress, show=show)
    emit_to(output, record)


@app.command()
@takes
def direction(options: EncodersOptions, output: OutputOptions) -> None:
    """The Moral Compass (Schramowski et al. 2019): every table and figure, per encoder.

    Projections are in standard deviations of the fitting actions, good above zero; the paper's m
    has the opposite sign. WEAT values are the printed ones, our own on googlenews-26k and, with
    MORALSCOPE_DATA, all published ones.
    """
    from moralscope.papers.direction import reproduce_direction

    show = None if output.json else _show
    starting(*options.encoders, quiet=output.json)
    with fetching() as progress:
        record = reproduce_direction(options=options, progress=progress, show=show)
    emit_to(output, record)


@app.command()
@takes
def stories(options: StoriesOptions, output: OutputOptions) -> None:
    """Moral Stories (Emelin et al. 2021): data, classification and texts next to the paper's.

    Tables are printed as they are finished. With mpnet on two cores all cells take about an hour;
    --quick takes minutes.
    """
    from moralscope.papers.everything import run_stories

    show = None if output.json else _show
    starting(options.experts, options.encoder, reading=options.stories, quiet=output.json)
    with fetching() as progress:
        record = run_stories(options, progress=progress, show=show)
    emit_to(output, record)


@app.command()
@takes
def integrity(options: IntegrityOptions, output: OutputOptions) -> None:
    """The Moral Integrity Corpus (Ziems et al. 2022): Tables 1 to 4 next to your data's.

    You get the corpus from its authors. Without it, our figures are measured on exchanges that were
    written for moralscope, and every table says so.
    """
    from moralscope.papers.integrity import prepare_sources, reproduce_integrity

    starting(options.experts, options.encoder, reading=options.mic, quiet=output.json)
    show = None if output.json else _show
    with fetching() as progress:
        sources = prepare_sources(options, progress)
    emit_to(output, reproduce_integrity(sources, seed=options.seed, show=show))


@app.command("all")
@takes
def everything(options: AllOptions, output: ReportOutput) -> None:
    """All four papers: every printed figure, ours, and whether they agree.

    --report draws one page. A paper is skipped, and named, if its data or weights are missing.
    Moral Stories takes by far the longest: hours with mpnet on a busy machine; --quick --experts
    minilm takes about three minutes of processor time.

    Example: moralscope reproduce all --quick --experts minilm --report papers.html
    """
    from moralscope.papers.everything import reproduce_all

    show = None if output.json else _show
    starting(*options.encoders, options.experts, quiet=output.json)
    with fetching() as progress:
        record = reproduce_all(options=options, progress=progress, show=show)
    emit_to(output, record)


def _show(table: "PaperTable") -> None:
    """Print a table as soon as it is computed; the page that follows has what is left."""
    from moralscope.pages.reproduce import terminal_page
    from moralscope.pages.terminal import render

    render(terminal_page(table), out)
