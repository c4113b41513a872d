"""`moralscope annotate`: projects in which people write and judge; how far they agree."""

from pathlib import Path
from typing import Annotated

import typer

from moralscope.annotation.options import (
    AdjudicateOptions,
    AgreementOptions,
    AnnotationExportOptions,
    DecideOptions,
    ImportOptions,
    InitOptions,
)
from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput, ReportOutput, input_flag
from moralscope.cli.output import emit_to, note
from moralscope.core.errors import InputError
from moralscope.core.extras import require_extra
from moralscope.server.options import ANNOTATE_PORT, LOOPBACK, AnnotateServeOptions

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")]
Items = Annotated[
    Path, input_flag("--items", "CSV, JSONL or Parquet; also the output of 'collect'.")
]
app = typer.Typer(
    help="Annotation projects: people write rules, ratings and stories, with checks and feedback.",
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
            help="rule-of-thumb, attributes, filter, rule-ratings, story-writing, action-yes-no; "
            "story-ratings-action, -consequence or -norm.",
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
    emit_to(output, record)
    note(f"serve it: moralscope annotate serve {folder}")
    note("then open this link as the lead (it is shown only once):")
    note(f"http://{LOOPBACK}:{ANNOTATE_PORT}/join#{lead.token}")


@app.command()
@takes
def serve(folder: Folder, options: AnnotateServeOptions) -> None:
    """Serve the pages of a project until Ctrl-C; every answer is on disk before it says saved.

    Example: moralscope annotate serve rules
    """
    require_extra("serve", "the project's pages")
    from moralscope.annotation.projects import lead_link
    from moralscope.server.annotate import serve
    from moralscope.server.running import ServerAddress

    token = lead_link(folder).token if options.lead_link else ""

    def announce(address: str) -> None:
        note(f"{folder}: {address} (Ctrl-C ends it)")
        if token:
            note(f"the lead's link, shown once: {address}/join#{token}")

    serve(folder, ServerAddress(options.host, options.port, options.public_url), announce)


@app.command("import")
@takes
def add(folder: Folder, items: Items, options: ImportOptions, output: RecordOutput) -> None:
    """Add items to a project, all of them or none.

    Example: moralscope annotate import rules --items more.jsonl
    """
    from moralscope.annotation.projects import add_items

    emit_to(output, add_items(folder, items, options))


@app.command()
@takes
def export(folder: Folder, options: AnnotationExportOptions, output: RecordOutput) -> None:
    """Write the answers into the project's folder 'exports', under random ids.

    Example: moralscope annotate export rules --shape mic
    """
    from moralscope.annotation.projects import export_project

    emit_to(output, export_project(folder, options))


@app.command()
@takes
def status(folder: Folder, output: RecordOutput) -> None:
    """Show how far a project is, and who did what.

    Example: moralscope annotate status rules
    """
    from moralscope.annotation.projects import project_status

    emit_to(output, project_status(folder))


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
        str, typer.Argument(metavar="ID", help="Id of a submission, a person or a decision.")
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

    emit_to(output, decide(folder, action, subject, options))


@app.command()
@takes
def decisions(folder: Folder, output: RecordOutput) -> None:
    """List rejections and blocks, with the appeals against them; open appeals come first.

    Example: moralscope annotate decisions rules
    """
    from moralscope.annotation.decisions import list_decisions

    emit_to(output, list_decisions(folder))


@app.command()
@takes
def adjudicate(
    folder: Folder,
    options: AdjudicateOptions,
    output: RecordOutput,
    item: Annotated[
        str, typer.Argument(metavar="[ITEM]", help="The item to decide; without it, a list.")
    ] = "",
) -> None:
    """Show the items on which annotators differ, or decide the final answer of one.

    Annotators' answers stay as they are, and agreement is computed from them. Exports have the
    final answer in extra columns (final_…).

    Example: moralscope annotate adjudicate rules item-7 --take p-abc --comment "Reads the joke."
    """
    from moralscope.annotation.decisions import adjudicate, list_disputed

    if item:
        emit_to(output, adjudicate(folder, item, options))
        return
    if options != AdjudicateOptions():
        raise InputError("--take, --set and --comment are about an item", "name it")
    emit_to(output, list_disputed(folder))


@app.command()
@takes
def statement(folder: Folder, output: ReportOutput) -> None:
    """Write the data statement: who annotated, what, how, and with what care.

    It goes into the project's folder 'exports', with a table of who the people are. No group of
    fewer people than project.yaml allows (smallest_group, 5) is named.

    Example: moralscope annotate statement rules --report people.html
    """
    from moralscope.annotation.statement import data_statement

    emit_to(output, data_statement(folder))


@takes
def agreement(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|PROJECT",
            help="CSV, JSONL or Parquet of item, person, field, value (or one column per field), "
            "an export of 'annotate', or a project's folder.",
        ),
    ],
    options: AgreementOptions,
    output: ReportOutput,
) -> None:
    """Measure how far people agree, field by field, and show where they disagree.

    Krippendorff's alpha, kappa, the intraclass correlation and plain agreement, each with its
    interval; items with the widest answers; leanings, if groups are large enough.

    Example: moralscope agreement answers.csv --levels severity=ordinal --report agreement.html
    """
    from moralscope.annotation.agreement import agreement

    emit_to(output, agreement(source, options))
