"""`moralscope rules generate`: rules of thumb written for a reply, or for each reply of a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput
from moralscope.rules.options import ExchangeInput, GenerateOptions

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord


Best = Annotated[
    Path | None,
    typer.Option(
        "--best",
        metavar="FILE.jsonl",
        rich_help_panel="Output",
        help="Write the best rule of each, for 'reproduce integrity --generated'.",
    ),
]


@takes
def generate(
    source: ExchangeInput, options: GenerateOptions, output: RecordOutput, best: Best = None
) -> None:
    """Write rules of thumb for a reply, or for each reply of a file; none is judged.

    Example: moralscope rules generate --prompt "Any plans?" --reply "I'll read my ex's diary."
    """
    from moralscope.cli.output import counting, emit_to, fetching
    from moralscope.io.run_records import check_writable
    from moralscope.rules import generate as job
    from moralscope.rules.audit_files import read_exchanges

    if best is not None:
        check_writable(best)
    given = read_exchanges(source)
    with fetching() as progress:
        ready = job.prepare_writing(options, progress)
    with counting("exchanges") as report:
        record = job.generate_rules(given, options, ready=ready, report=report)
    if best is not None:
        job.write_best(record, best)
    emit_to(output, record, _show)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    for row in record.results:
        out.print(clean(f"{row.prompt[:200]} → {row.reply[:200]}"), style="bold", soft_wrap=True)
        if row.refusal:
            out.print(clean(f"  no rules: {row.refusal}"), soft_wrap=True)
        for rule in row.rules:
            named = sorted(rule.foundations, key=lambda name: -rule.foundations[name])[:1]
            numbers = rule.scales.items()
            told = [f"{name} {value:.1f}" for name, value in numbers if value is not None]
            facts = f"{rule.evidence}: {', '.join([*named, *told])}" if told else rule.evidence
            out.print(clean(f"  {rule.score:+.3f}  {rule.text}  [{facts}]"), soft_wrap=True)
        for left in row.left_out:
            out.print(clean(f"  left out: {left.text[:200]} ({left.reason})"), soft_wrap=True)
    print_warnings(record)
