"""`moralscope rules attributes`: what trained experts say of given rules."""

from typing import TYPE_CHECKING

from moralscope.cli.declare import takes
from moralscope.cli.options import RecordOutput
from moralscope.rules.options import AttributesInput, AttributesOptions

if TYPE_CHECKING:
    from moralscope.core.records import RunRecord


@takes
def attributes(source: AttributesInput, options: AttributesOptions, output: RecordOutput) -> None:
    """Estimate foundations, severity and consensus of rules, and how replies stand to them.

    Example: moralscope rules attributes --rule "It is wrong to lie." --experts my-experts
    """
    from moralscope.cli.output import emit_to, fetching
    from moralscope.io.tables import parse_columns
    from moralscope.rules import attributes as job

    if source.file is not None:
        asked = job.read_asked(source.file, parse_columns(source.columns))
    else:
        asked = job.asked_rules(source.rule, source.prompt, source.reply)
    with fetching() as progress:
        ready = job.prepare_attributes(options.experts, progress)
    emit_to(output, job.attributes(asked, options, models=ready), _show)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import clean, out, print_warnings

    for row in record.results:
        out.print(clean(row.rule[:300]), style="bold", soft_wrap=True)
        if row.reply is not None:
            out.print(clean(f"  {row.alignment}: {row.reply[:200]}"), soft_wrap=True)
        chances = ", ".join(f"{name} {value:.2f}" for name, value in row.probabilities.items())
        if row.foundations is not None:
            out.print(f"  {', '.join(row.foundations) or 'no foundation'} ({chances})")
        for name, value in row.scales.items():
            if value is not None:
                out.print(f"  {name} {value:.1f}")
    print_warnings(record)
