"""`moralscope stories`: its commands, and those on the data and its norms; the others beside it."""

import typer

from moralscope.cli import stories_texts, training
from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import counting, emit_to, fetched_encoder, fetching, starting
from moralscope.stories.options import (
    EvaluateInput,
    EvaluateOptions,
    NormsInput,
    NormsOptions,
    ReverseInput,
    ReverseOptions,
    SplitInput,
    SplitOptions,
    StatsOptions,
    StoriesInput,
)

app = typer.Typer(
    help="Norms, actions, consequences: data, experts that read the norm, chains of experts.",
    no_args_is_help=True,
)


@app.command(rich_help_panel="Data")
@takes
def stats(source: StoriesInput, options: StatsOptions, output: ReportOutput) -> None:
    """Count stories, sentences and tokens; find topics, duplicates and frequent norms.

    Tables 7 and 13 of Emelin et al. 2021, next to the paper's.

    Example: moralscope stories stats my_stories.jsonl --report stories.html
    """
    from moralscope.stories.reading import load_stories
    from moralscope.stories.stats import stories_stats

    stories = load_stories(source.file, malformed=source.malformed)
    emit_to(output, stories_stats(stories, options))


@app.command(rich_help_panel="Data")
@takes
def split(source: SplitInput, options: SplitOptions, output: ReportOutput) -> None:
    """Split stories by norm distance, lexical bias and minimal pairs; audit the leaks.

    Section 3.1 of Emelin et al. 2021, next to its Table 1. Official membership in the data is
    compared with ours.

    Example: moralscope stories split my_stories.jsonl --membership with_splits.jsonl
    """
    from moralscope.io.files import check_writable
    from moralscope.stories.reading import load_stories
    from moralscope.stories.split import stories_split, write_membership

    if source.membership is not None:
        check_writable(source.membership)
    starting(source.encoder, reading=source.file or "Moral Stories", quiet=output.json)
    stories = load_stories(source.file, malformed=source.malformed)
    model = fetched_encoder(source.encoder)
    with counting("splitting") as bar:
        record = stories_split(stories, options, encoder=model, progress=bar)
    if source.membership is not None:
        write_membership(record, stories, source.membership)
    emit_to(output, record)


@app.command(rich_help_panel="Data")
@takes
def reverse(source: ReverseInput, options: ReverseOptions, output: RecordOutput) -> None:
    """Reverse norms: what kept the norm now breaks it. For stories, say how many can be reversed.

    Rules only, no model: "It's rude to lie." turns into "It's polite to lie.", "You should lie."
    and other wordings, in a fixed order.

    Example: moralscope stories reverse "It's rude to lie." --variants 8
    """
    from moralscope.stories.reverse import reverse_norms

    record = reverse_norms(source.norms, options, file=source.file)
    emit_to(output, record)


@app.command(rich_help_panel="Data")
@takes
def norms(source: NormsInput, options: NormsOptions, output: RecordOutput) -> None:
    """Select norms for new stories from SOCIAL-CHEM-101, and count what each filter removed.

    Section 2.1 of Emelin et al. 2021: Morality/Ethics and Social Norms, nothing controversial or
    value-neutral. Each norm holds one judgment.

    Example: moralscope stories norms social-chem-101.v1.0.tsv --items norms.csv
    """
    from moralscope.io.files import check_writable
    from moralscope.stories.select_norms import select_norms, write_norms

    if source.items is not None:
        check_writable(source.items)
    record = select_norms(source.file, options, malformed=source.malformed)
    if source.items is not None:
        write_norms(record.results, source.items)
    emit_to(output, record)


app.command("train", rich_help_panel="Experts")(training.stories_train)


@app.command(rich_help_panel="Experts")
@takes
def evaluate(source: EvaluateInput, options: EvaluateOptions, output: ReportOutput) -> None:
    """Measure experts: accuracy, F1, calibration, and whether they read the norm.

    Stories that the experts were trained on are left out and counted. Intervals are bootstraps
    over stories. With mpnet on two cores the whole grid takes about half an hour: choose --tasks
    and --split, or draw --max-stories 200.

    Example: moralscope stories evaluate --tasks action+norm --split norm_distance
    """
    from moralscope.stories.evaluate import evaluate
    from moralscope.stories.experts import prepare_experts
    from moralscope.stories.reading import load_stories

    stories = source.stories or "Moral Stories"
    starting(source.experts, source.against, reading=stories, quiet=output.json)
    listed = load_stories(source.stories).stories
    with fetching() as progress:
        first = prepare_experts(source.experts, progress=progress)
        second = prepare_experts(source.against, progress=progress) if source.against else None
    with counting("evaluating") as progressed:
        record = evaluate(first, listed, options, against=second, report=progressed)
    emit_to(output, record)


app.command("generate", rich_help_panel="Texts")(stories_texts.generate)
app.command("chain", rich_help_panel="Texts")(stories_texts.chain)
app.command("metrics", rich_help_panel="Texts")(stories_texts.metrics)
