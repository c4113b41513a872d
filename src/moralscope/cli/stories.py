"""`moralscope stories`: its commands, and those on the data and its norms; the others beside it."""

from typing import TYPE_CHECKING, Any

import typer

from moralscope.cli import stories_evaluate, stories_texts, training
from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import (
    clean,
    counting,
    emit_to,
    fetching,
    out,
    plain_table,
    print_warnings,
    starting,
)
from moralscope.stories.options import (
    NormsInput,
    NormsOptions,
    ReverseInput,
    ReverseOptions,
    SplitInput,
    SplitOptions,
    StatsOptions,
    StoriesInput,
)

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

_SHOWN = 20  # norms that could not be read, on the screen

app = typer.Typer(
    help="Norms, actions, consequences: data, experts that read the norm, chains of experts.",
    no_args_is_help=True,
)


@app.command(rich_help_panel="Data")
@takes
def stats(given: StoriesInput, options: StatsOptions, output: ReportOutput) -> None:
    """Count stories, sentences and tokens; find topics, duplicates and frequent norms.

    Tables 7 and 13 of Emelin et al. 2021, beside the paper's.

    Example: moralscope stories stats my_stories.jsonl --report stories.html
    """
    from moralscope.stories.reading import load_stories
    from moralscope.stories.stats import stories_stats

    found = load_stories(given.file, malformed=given.malformed)
    emit_to(output, stories_stats(found, options), _show_stats)


@app.command(rich_help_panel="Data")
@takes
def split(given: SplitInput, options: SplitOptions, output: ReportOutput) -> None:
    """Split stories by norm distance, lexical bias and minimal pairs; audit the leaks.

    Section 3.1 of Emelin et al. 2021, with Table 1 beside it. Official membership in the data is
    compared with ours.

    Example: moralscope stories split my_stories.jsonl --membership with_splits.jsonl
    """
    from moralscope.io.files import check_writable
    from moralscope.models.encoders import load_encoder
    from moralscope.stories.reading import load_stories
    from moralscope.stories.split import stories_split, write_membership

    if given.membership is not None:
        check_writable(given.membership)
    starting(given.encoder, reading=given.file or "Moral Stories", quiet=output.json)
    stories = load_stories(given.file, malformed=given.malformed)
    with fetching() as progress:
        model = load_encoder(given.encoder, progress)
    with counting("splitting") as bar:
        record = stories_split(stories, options, encoder=model, progress=bar)
    if given.membership is not None:
        write_membership(record, stories, given.membership)
    emit_to(output, record, _show_split)


@app.command(rich_help_panel="Data")
@takes
def reverse(given: ReverseInput, options: ReverseOptions, output: RecordOutput) -> None:
    """Reverse norms: what kept the norm now breaks it. For stories, say how many can be reversed.

    Rules only, no model: "It's rude to lie." turns into "It's polite to lie.", "You should lie."
    and other wordings, in a fixed order.

    Example: moralscope stories reverse "It's rude to lie." --variants 8
    """
    from moralscope.stories.reverse import reverse_norms

    record = reverse_norms(given.norms, options, file=given.file)
    emit_to(output, record, _show_norms if given.norms else _show_file)


@app.command(rich_help_panel="Data")
@takes
def norms(given: NormsInput, options: NormsOptions, output: RecordOutput) -> None:
    """Select norms for new stories from SOCIAL-CHEM-101, and count what each filter removed.

    Section 2.1 of Emelin et al. 2021: Morality/Ethics and Social Norms, nothing controversial or
    value-neutral. Each norm holds one judgment.

    Example: moralscope stories norms social-chem-101.v1.0.tsv --items norms.csv
    """
    from moralscope.io.files import check_writable
    from moralscope.stories.select_norms import select_norms, write_norms

    if given.items is not None:
        check_writable(given.items)
    record = select_norms(given.file, options, malformed=given.malformed)
    if given.items is not None:
        write_norms(record.results, given.items)
    emit_to(output, record, _show_selected)


app.command("train", rich_help_panel="Experts")(training.stories_train)
app.command("evaluate", rich_help_panel="Experts")(stories_evaluate.evaluate)
app.command("generate", rich_help_panel="Texts")(stories_texts.generate)
app.command("chain", rich_help_panel="Texts")(stories_texts.chain)
app.command("metrics", rich_help_panel="Texts")(stories_texts.metrics)


def _show_selected(record: "RunRecord") -> None:
    found = record.statistics
    table = plain_table("filter", "rules")
    table.add_row("in the file", f"{found['rules']:,}")
    for name, count in found["removed"].items():
        table.add_row(f"  removed: {name}", f"{count:,}")
    table.add_row("norms", f"{found['kept']:,}")
    if found["drawn"] < found["kept"]:
        table.add_row("drawn", f"{found['drawn']:,}")
    for name, count in (found["categories"] | found["sides"]).items():
        table.add_row(clean(f"  {name}"), f"{count:,}")
    out.print(table)
    print_warnings(record)


def _show_stats(record: "RunRecord") -> None:
    found = record.statistics
    complete = f"{found['stories']:,} stories, {found['complete']:,} with all seven sentences"
    out.print(clean(complete), style="bold")
    table = plain_table("sentence", "stories", "missing", "tokens", "paper", "different")
    for row in record.results:
        tokens = "" if row["tokens"] is None else f"{row['tokens']:.2f}"
        table.add_row(
            row["name"].replace("_", " "),
            f"{row['present']:,}",
            f"{row['missing']:,}",
            tokens,
            f"{row['paper']:.2f}",
            f"{row['different']:,}",
        )
    out.print(table)
    if found["topics"]:
        topics = plain_table("topic", "stories", "nearest of Table 13")
        topics.columns[-1].justify = "left"
        for topic in found["topics"]:
            words = " ".join(found["paper_topics"][topic.nearest])
            near = f"{topic.nearest}: {words} ({topic.shared} of 5)"
            topics.add_row(clean(" ".join(topic.words)), f"{topic.share:.0%}", near)
        out.print(topics)
    twice = found["duplicates"]
    out.print(
        f"repeated stories: {twice.whole_stories:,}; repeated pairs of actions: "
        f"{twice.both_actions:,}; stories with one action twice: {twice.same_action_twice:,}"
    )
    rows = ((clean(norm.text), f"{norm.stories:,}") for norm in found["frequent_norms"])
    out.print(plain_table("most frequent norms", "stories", rows=rows))
    print_warnings(record)


def _show_split(record: "RunRecord") -> None:
    parts = plain_table(
        "split", "part", "stories", "samples", "metric", "paper", "official", "in both"
    )
    for row in record.statistics["parts"]:
        name = row["split"] if row["kind"] == "both" else f"{row['split']} {row['kind']}"
        parts.add_row(
            name if row["part"] == "train" else "",
            row["part"],
            f"{row['stories']:,}",
            f"{row['samples']:,}",
            _number(row["mean"]),
            _number(row["paper"]),
            _number(row["official_mean"]),
            "" if row["official_overlap"] is None else f"{row['official_overlap']:,}",
        )
    out.print(parts)
    out.print("held-out stories with a twin in another part: near (exact)", style="bold")
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for leak in record.statistics["leaks"]:
        row = rows.setdefault((leak.split, leak.field), {})
        row[f"{leak.part} in {leak.into}"] = f"{leak.near:,} ({leak.exact:,})"
    crossings = ("test in train", "dev in train", "test in dev")
    table = plain_table("split", "of", *crossings)
    for (split, field), row in rows.items():
        table.add_row(split, field, *(row.get(crossing, "") for crossing in crossings))
    out.print(table)
    print_warnings(record)


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.2f}"


def _show_norms(record: "RunRecord") -> None:
    for row in record.results:
        out.print(clean(row.norm), style="bold", soft_wrap=True)
        if not row.reversals:
            out.print("  cannot be read, so it is not reversed", style="dim")
        for text in row.reversals:
            out.print(clean(f"  {text}"), soft_wrap=True)


def _show_file(record: "RunRecord") -> None:
    found = record.statistics
    line = f"{found['reversed']:,} of {found['norms']:,} norms reversed ({found['share']:.1%})"
    out.print(clean(f"{record.config['source']}: {line}"), style="bold", soft_wrap=True)
    table = plain_table("pattern", "norms", "share")
    for pattern, count in found["patterns"].items():
        table.add_row(clean(pattern), f"{count:,}", f"{count / found['norms']:.1%}")
    out.print(table)
    out.print(f"{found['demand']:,} demand a behaviour, {found['forbid']:,} forbid one")
    out.print(f"{found['read_back']:,} of {found['written']:,} reversals read back as the opposite")
    unread = found["unread"]
    for norm in unread[:_SHOWN]:
        out.print(clean(f"not read: {norm}"), style="dim", soft_wrap=True)
    if len(unread) > _SHOWN:
        out.print(f"… {len(unread) - _SHOWN:,} more: --json or --out", style="dim")
    print_warnings(record)
