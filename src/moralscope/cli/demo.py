"""`moralscope demo`: from nothing to a scored table and a report."""

from pathlib import Path
from typing import TYPE_CHECKING

from moralscope.axes.options import RankOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import OutputOptions
from moralscope.cli.output import (
    counting,
    emit_to,
    fetching,
    note,
    out,
    print_warnings,
    score_table,
)

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord

_COARSE = (
    "surprised by a row? The moral direction of a small model is coarse: it orders the papers' "
    "actions much as they do and misjudges many a phrase. 'moralscope reproduce direction' "
    "measures how well it does"
)
_NEXT = (
    (
        'moralscope score "forgive a friend" "spread rumours" --axis direction --report mine.html',
        "score actions of your own, on this axis or on --axis choice, and look at them",
    ),
    ("moralscope compare --encoders minilm,use-lite --file actions.txt", "two models, one list"),
    (
        'moralscope rank "What should I put in the toaster?" bread "my hamster"',
        "rank answers to a question",
    ),
    ("moralscope reproduce direction", "the papers' tables beside ours"),
)
_REPORT = Path("moralscope-demo.html")


@takes
def demo(options: RankOptions, output: OutputOptions) -> None:
    """A one-minute tour: twenty actions scored on real weights, and a report to look at.

    The weights (minilm, 91 MB, Apache-2.0) are fetched and verified on the first run. The report
    is moralscope-demo.html in the current folder, or what --report names.
    """
    from moralscope.axes.score import demo
    from moralscope.models.encoders import load_encoder

    with fetching() as progress:
        model = load_encoder(options.encoder, progress)
    with counting("scoring") as step:
        record = demo(encoder=model, seed=options.seed, report=step)
    emit_to(output, record, _show)
    if output.report is None and not output.json:
        _write_report(record)


def _write_report(record: "RunRecord") -> None:
    """Write the report nobody asked for: where that cannot be, say so and go on."""
    from moralscope.core.errors import MoralscopeError
    from moralscope.reports import write_report

    try:
        write_report(record, _REPORT)
    except MoralscopeError as error:
        note(f"no report was written: {error.problem}; name a place with --report")
    else:
        note(f"report: {_REPORT.absolute()} (open it in a browser)")


def _show(record: "RunRecord") -> None:
    from rich.text import Text

    out.print(
        f"Twenty actions, asked about in ten ways, as {record.config['encoder']} answers them",
        style="bold",
    )
    out.print(score_table(record.results))
    print_warnings(record)
    out.print(Text(f"note: {_COARSE}", style="dim"))
    out.print()
    out.print("Try next", style="bold")
    for command, what in _NEXT:
        out.print(Text(f"  {command}"), soft_wrap=True)
        out.print(Text(f"      {what}", style="dim"), soft_wrap=True)
