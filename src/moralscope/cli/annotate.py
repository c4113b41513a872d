"""`moralscope annotate`: projects in which people write and judge, alone or as a team."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.annotation.options import (
    AdjudicateOptions,
    DecideOptions,
    ExportOptions,
    ImportOptions,
    InitOptions,
)
from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput
from moralscope.cli.output import clean, emit_to, note, out, plain_table
from moralscope.core.errors import InputError
from moralscope.core.extras import require_extra
from moralscope.server.options import ANNOTATE_PORT, LOOPBACK, AnnotateServeOptions

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")]
Items = Annotated[
    Path,
    typer.Option(
        "--items",
        metavar="FILE",
        rich_help_panel="Input",
        help="CSV, JSONL or Parquet (what collect writes too), or the sheets of 'stories people'.",
    ),
]
app = typer.Typer(
    help="People: rules of thumb, ratings and stories, with tests, checks and feedback.",
    no_args_is_help=True,
)


@app.command()
@takes
def init(
    folder: Folder,
    task: Annotated[
        str,
        typer.Option(
            "--task",
            rich_help_panel="Input",
            help="rule-of-thumb, attributes, filter, story-ratings, rule-ratings, story-writing or "
            "action-yes-no.",
        ),
    ],
    items: Items,
    options: InitOptions,
    output: RecordOutput,
) -> None:
    """Make a project: one readable project.yaml, the items, and a link for its lead.

    Example: moralscope annotate init rules --task rule-of-thumb --items exchanges.csv
    """
    from moralscope.annotation.projects import init_project

    record, lead = init_project(folder, task, items, options)
    emit_to(output, record, _show_init)
    note(f"serve it: moralscope annotate serve {folder}")
    note(f"then the lead opens (shown once): http://{LOOPBACK}:{ANNOTATE_PORT}/join#{lead.token}")


@app.command()
@takes
def serve(folder: Folder, options: AnnotateServeOptions) -> None:
    """Serve the pages of a project until Ctrl-C; every answer is on disk before it says saved.

    Example: moralscope annotate serve rules
    """
    require_extra("serve", "the project's pages")
    from moralscope.annotation.projects import lead_link
    from moralscope.server.annotate import serve
    from moralscope.server.running import Place

    token = lead_link(folder).token if options.lead_link else ""

    def announce(address: str) -> None:
        note(f"{folder}: {address} (Ctrl-C ends it)")
        if token:
            note(f"the lead's link, shown once: {address}/join#{token}")

    serve(folder, Place(options.host, options.port, options.public_url), announce)


@app.command("import")
@takes
def add(folder: Folder, items: Items, options: ImportOptions, output: RecordOutput) -> None:
    """Add items to a project, all of them or none.

    Example: moralscope annotate import rules --items more.jsonl
    """
    from moralscope.annotation.projects import add_items

    emit_to(output, add_items(folder, items, options), _show_added)


@app.command()
@takes
def export(folder: Folder, options: ExportOptions, output: RecordOutput) -> None:
    """Write the answers into the project's folder 'exports', under random ids.

    Example: moralscope annotate export rules --shape mic
    """
    from moralscope.annotation.projects import export_project

    emit_to(output, export_project(folder, options), _show_export)


@app.command()
@takes
def status(folder: Folder, output: RecordOutput) -> None:
    """Show how far a project is, and who did what.

    Example: moralscope annotate status rules
    """
    from moralscope.annotation.projects import project_status

    emit_to(output, project_status(folder), _show_status)


@app.command()
@takes
def decide(
    folder: Folder,
    action: Annotated[
        str,
        typer.Argument(
            metavar="reject|block|lift|decline",
            help="Reject an answer, block a person, lift a decision, decline an appeal.",
        ),
    ],
    subject: Annotated[
        str, typer.Argument(metavar="ID", help="Of a submission, a person, or a decision.")
    ],
    options: DecideOptions,
    output: RecordOutput,
) -> None:
    """Decide against an answer or a person of the main round, or on an appeal.

    The person reads the reason on her page and may appeal once. Ids of submissions are in exports,
    of people in 'annotate status --json', of decisions in 'annotate decisions'.

    Example: moralscope annotate decide rules block p-abc --reason "Four rejections."
    """
    from moralscope.annotation.decisions import decide

    emit_to(output, decide(folder, action, subject, options), _show_decisions)


@app.command()
@takes
def decisions(folder: Folder, output: RecordOutput) -> None:
    """List rejections and blocks, with the appeals against them; those that wait come first.

    Example: moralscope annotate decisions rules
    """
    from moralscope.annotation.decisions import list_decisions

    emit_to(output, list_decisions(folder), _show_decisions)


@app.command()
@takes
def adjudicate(
    folder: Folder,
    options: AdjudicateOptions,
    output: RecordOutput,
    item: Annotated[
        str, typer.Argument(metavar="[ITEM]", help="Whose final answer is decided; none: list.")
    ] = "",
) -> None:
    """Show the items on which annotators differ, or decide the final answer of one.

    What annotators answered stays, and agreement is computed from it. Exports hold the final
    answer in columns of its own (final_…).

    Example: moralscope annotate adjudicate rules item-7 --take p-abc --comment "Reads the joke."
    """
    from moralscope.annotation.adjudication import adjudicate, list_disputed

    if item:
        emit_to(output, adjudicate(folder, item, options), _show_final)
        return
    if options != AdjudicateOptions():
        raise InputError("--take, --set and --comment are about an item", "name it")
    emit_to(output, list_disputed(folder), _show_disputed)


def _show_final(record: "RunRecord") -> None:
    (made,) = record.results
    said = ", ".join(f"{name}: {_told(value)}" for name, value in made.answer.items())
    out.print(clean(f"{made.item}: {said}"), soft_wrap=True)


def _show_disputed(record: "RunRecord") -> None:
    found = record.statistics
    out.print(f"{found['disputed']:,} disputed, {found['undecided']:,} undecided", style="bold")
    table = plain_table("item", "field", "answers", "final")
    for row in record.results:
        for name in row.differs:
            answers = ", ".join(
                f"{person}: {_told(each.get(name))}" for person, each in row.answers.items()
            )
            final = "" if row.final is None else _told(row.final.answer.get(name))
            table.add_row(clean(row.item.id), name, clean(answers), clean(final))
    if record.results:
        out.print(table)


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "|".join(value) if isinstance(value, list) else "" if value is None else str(value)


@app.command()
@takes
def statement(folder: Folder, output: ReportOutput) -> None:
    """Write the data statement: who annotated, what, how, and with what care.

    It goes into the project's folder 'exports', with a table of who the people are. No group of
    fewer people than project.yaml allows (smallest_group, 5) is named.

    Example: moralscope annotate statement rules --report people.html
    """
    from moralscope.annotation.statement import data_statement

    emit_to(output, data_statement(folder), _show_statement)


def _show_statement(record: "RunRecord") -> None:
    from moralscope.annotation.statement import question_label

    found = record.statistics
    table = plain_table("question", "group", "people", "share", "annotations", "share ")
    for row in found["groups"]:
        names = (question_label(row.question), row.label)
        people = (f"{row.people:,}", f"{100 * row.share.value:.1f} %")
        written = (f"{row.annotations:,}", f"{100 * row.annotation_share:.1f} %")
        table.add_row(*map(clean, names), *people, *written)
    if found["groups"]:
        out.print(table)
    else:
        out.print("no group is described: too few people contributed, or nobody told anything")
    for path in (found["file"], found["table"]):
        out.print(clean(path), soft_wrap=True)


def _show_decisions(record: "RunRecord") -> None:
    if not record.results:
        out.print("no decisions")
        return
    table = plain_table("decision", "kind", "person", "reason", "appeal", "outcome")
    for row in record.results:
        outcome = "appeal waits" if row.waits else row.outcome
        said = (row.id, row.kind, row.person, row.reason, row.appeal or "", outcome)
        table.add_row(*map(clean, said))
    out.print(table)


def _show_init(record: "RunRecord") -> None:
    found = record.statistics
    staged = found["staging_items"]
    more = f" and {staged:,} for the staging round" if staged else ""
    items = f"{_count(found['items'], 'item')}{more}"
    out.print(clean(f"{record.config['folder']}: {record.config['task']}, {items}"))
    out.print(f"{found['people_per_item']} people an item; all policies are in project.yaml")


def _show_added(record: "RunRecord") -> None:
    out.print(f"{_count(record.statistics['added'], 'item')} added")


def _show_export(record: "RunRecord") -> None:
    found = record.statistics
    noun = "line" if record.config["shape"] in ("people", "audit") else "answer"
    out.print(clean(f"{found['file']}: {_count(found['answers'], noun)}"), soft_wrap=True)


def _show_status(record: "RunRecord") -> None:
    found = record.statistics
    state = " (paused)" if found["paused"] else ""
    out.print(clean(f"{record.config['name']}: {record.config['task']}{state}"), style="bold")
    out.print(
        f"{found['submitted']:,} of {found['wanted']:,} answers, {found['complete']:,} of "
        f"{found['items']:,} items complete, {found['open']:,} open, {found['to_review']:,} to "
        f"review, {_count(found['appeals'], 'appeal')} to answer"
    )
    table = plain_table(
        "person", "stage", "answers", "staging", "skipped", "rejected", "checks", "seconds"
    )
    for row in record.results:
        seconds = "" if row.seconds is None else f"{row.seconds:.0f}"
        counts = (row.submitted, row.staged, row.skipped, row.rejected, row.failed_checks)
        table.add_row(clean(row.person.name), row.person.stage, *map(str, counts), seconds)
    if record.results:
        out.print(table)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
