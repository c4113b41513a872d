"""`moralscope demo`: a tour on real weights, and a report to look at."""

from pathlib import Path
from typing import Annotated

import typer

from moralscope.axes.options import DemoOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import OutputOptions
from moralscope.cli.output import counting, emit_to, fetching, note, open_in_browser, out, starting

_NEXT = (
    (
        'moralscope score "forgive a friend" "spread rumours" --report mine.html',
        "score actions of your own and look at them; --axis choice and --axis direction are what "
        "the papers propose",
    ),
    (
        'moralscope compare "forgive a friend" "eat meat" "spread rumours" --encoders minilm,mpnet',
        "two models, one list",
    ),
    (
        'moralscope rank "What should I put in the toaster?" bread "my hamster"',
        "rank answers to a question",
    ),
    ("moralscope reproduce direction", "the papers' tables beside ours"),
)
_REPORT = Path("moralscope-demo.html")


@takes
def demo(
    options: DemoOptions,
    output: OutputOptions,
    open_report: Annotated[
        bool,
        typer.Option(
            "--open", metavar="", help="Open the report in a browser.", rich_help_panel="Output"
        ),
    ] = False,
) -> None:
    """Take a one-minute tour: score twenty actions on real weights and write a report.

    The weights (mpnet, 438 MB, Apache-2.0) are fetched and verified on the first run. The report is
    moralscope-demo.html in the current folder, or the file that --report names.
    """
    from rich.text import Text

    from moralscope.axes.build import LocalModels, build_axis
    from moralscope.axes.score import demo
    from moralscope.core.errors import MoralscopeError
    from moralscope.pages import write_report

    starting(options.encoder, quiet=output.json)
    with fetching() as progress:
        built = build_axis(options.score_options(), LocalModels(progress=progress))
    with counting("scoring") as step:
        record = demo(options, built=built, report=step)
    emit_to(output, record)
    if not output.json:
        out.print()
        out.print("Try next", style="bold")
        for command, what in _NEXT:
            out.print(Text(f"  {command}"), soft_wrap=True)
            out.print(Text(f"      {what}", style="dim"), soft_wrap=True)
    if output.report is None and (open_report or not output.json):
        try:  # nobody asked for it: where it cannot be written, say so and go on
            write_report(record, _REPORT)
        except MoralscopeError as error:
            note(f"no report was written: {error.problem}; name a place with --report")
        else:
            note(f"report: {_REPORT.absolute()} (open it in a browser)")
    shown = output.report or _REPORT
    if open_report and shown.is_file():
        open_in_browser(shown.resolve().as_uri())
