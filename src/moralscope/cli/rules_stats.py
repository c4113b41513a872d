"""`moralscope rules stats`: what a set of annotations is made of."""

from math import isnan
from typing import TYPE_CHECKING, Any

from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput
from moralscope.rules.options import AnnotationInput, StatsOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moralscope.core.records import RunRecord


@takes
def stats(source: AnnotationInput, options: StatsOptions, output: ReportOutput) -> None:
    """Count annotations; show how attributes are distributed and how far people agree.

    Figure 2 and section 4 of Ziems et al. 2022, beside the paper's. The texts may offend.

    Example: moralscope rules stats MIC.csv --malformed skip
    """
    from moralscope.cli.output import emit_to
    from moralscope.io.tables import parse_columns
    from moralscope.rules.annotations import stats

    columns = parse_columns(source.columns)
    emit_to(output, stats(source.file, options, columns=columns), _show)


def _show(record: "RunRecord") -> None:
    from moralscope.cli.output import out, plain_table, print_warnings

    sizes = record.statistics["counts"]
    out.print(
        f"{sizes.annotations:,} annotations of {sizes.exchanges:,} {_unit(record)} "
        f"({sizes.prompts:,} prompts), {sizes.rules:,} different rules",
        style="bold",
    )
    out.print(
        f"annotations an exchange: {sizes.per_exchange:.2f}; words a rule: {sizes.words:.1f}; "
        f"repeated rules: {sizes.repeated_rules:,}; revised replies: {sizes.revised:,}"
    )
    table = plain_table("attribute", "value", "annotations", "share", "paper", "reply disagrees")
    shares = record.statistics["paper"]["shares"]
    for bar in record.results:
        wrong = "" if bar.disagree is None else f"{bar.disagree:.0%}"
        paper = f"{shares[bar.value]:.0%}" if bar.value in shares else ""
        table.add_row(bar.attribute, bar.value, f"{bar.count:,}", f"{bar.share:.1%}", paper, wrong)
    out.print(table)
    found, printed = record.statistics, record.statistics["paper"]["reliability"]
    _show_reliability("agreement about one rule", found["reliability_same_rule"], printed)
    title = "agreement about one exchange, each with a rule of their own"
    _show_reliability(title, found["reliability_own_rules"], {})
    _show_split(record.statistics["split"])
    print_warnings(record)


def _unit(record: "RunRecord") -> str:
    return "situations" if record.config["kind"] == "social-chem" else "exchanges"


def _show_reliability(title: str, rows: "Sequence[Any]", printed: Any) -> None:
    from moralscope.cli.output import out, plain_table

    if not rows:
        return
    table = plain_table(
        "attribute", "units", "alpha", "interval", "paper", "ICC(1, k)", "paper ", title=title
    )
    for row in rows:
        paper = printed.get(row.attribute, {})
        table.add_row(
            row.attribute,
            f"{row.units:,}",
            _number(row.alpha),
            f"{_number(row.low)} … {_number(row.high)}" if _number(row.low) else "",
            _number(paper.get("alpha")),
            _number(row.icc),
            _number(paper.get("ICC(1, k)")),
        )
    out.print(table)


def _show_split(split: Any) -> None:
    from moralscope.cli.output import out

    if split is None:
        return
    whose = "the file's own" if split["official"] else "ours, 80-10-10"
    sizes = ", ".join(f"{part} {count:,}" for part, count in split["exchanges"].items())
    out.print(f"by part ({whose}): {sizes}")


def _number(value: float | None) -> str:
    return "" if value is None or isnan(value) else f"{value:.2f}"
