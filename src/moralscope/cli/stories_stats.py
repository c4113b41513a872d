"""`moralscope stories stats`: what a set of stories is made of."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.options import Json, Out, Report, Seed

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

StoryPath = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]",
        help="Stories (JSONL) or a folder of official files; else those of MORALSCOPE_DATA.",
    ),
]
Malformed = Annotated[
    str, typer.Option("--malformed", help="What a malformed line does: stop, or skip it.")
]


def stats(
    file: StoryPath = None,
    malformed: Malformed = "stop",
    topics: Annotated[int, typer.Option("--topics", min=0, max=100, help="0: none.")] = 10,
    json: Json = False,
    out: Out = None,
    report: Report = None,
    seed: Seed = 0,
) -> None:
    """Count stories, sentences and tokens; find topics, duplicates and frequent norms.

    Tables 7 and 13 of Emelin et al. 2021, beside the paper's.

    Example: moralscope stories stats my_stories.jsonl --report stories.html
    """
    from moralscope.cli.output import emit
    from moralscope.stories.data_files import load_stories
    from moralscope.stories.stats import stories_stats

    record = stories_stats(load_stories(file, malformed=malformed), topics=topics, seed=seed)
    emit(record, json=json, path=out, show=_show, report=report)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, plain_table, print_warnings

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
    norms = plain_table("most frequent norms", "stories")
    for norm in found["frequent_norms"]:
        norms.add_row(clean(norm.text), f"{norm.stories:,}")
    out.print(norms)
    print_warnings(record)
