"""`moralscope agreement`: how far people agree, and where they do not."""

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moralscope.annotation.options import AgreementOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput
from moralscope.cli.output import clean, emit_to, out, plain_table, print_warnings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moralscope.core.records import RunRecord

_SHOWN = 10


@takes
def agreement(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|PROJECT",
            help="CSV, JSONL or Parquet of item, person, field, value (or a column a field), an "
            "export of 'annotate', or a project's folder.",
        ),
    ],
    options: AgreementOptions,
    output: ReportOutput,
) -> None:
    """Measure how far people agree, field by field, and show what splits them.

    Krippendorff's alpha, kappa, the intraclass correlation and plain agreement, each with its
    interval; items with the widest answers; leanings, where groups are large enough.

    Example: moralscope agreement answers.csv --levels severity=ordinal --report agreement.html
    """
    from moralscope.annotation.agreement import agreement

    emit_to(output, agreement(source, options), show)


def show(record: "RunRecord") -> None:
    """Print the coefficients, the items most disagreed on, and the leanings."""
    found = record.statistics
    _show_fields(found["fields"])
    table = plain_table("intraclass", "form", "value", "95 % interval", "F", "p")
    for row in found["fields"]:
        for form in row.icc:
            degrees = f"{form.f:.2f} ({form.df1}, {form.df2})"
            values = (_number(form.value), _span(form), degrees, _p(form.p))
            table.add_row(clean(row.field), form.form, *values)
    if table.row_count:
        out.print(table)
    if found["most_split"]:
        table = plain_table("most split", "field", "apart", "answers", "text")
        for row in found["most_split"][:_SHOWN]:
            counts = ", ".join(f"{value}: {n}" for value, n in row.counts.items())
            shown = (clean(row.field), f"{row.disagreement:.2f}", clean(counts))
            table.add_row(clean(row.item), *shown, clean(found["texts"].get(row.item, "")[:60]))
        out.print(table)
    _show_leanings(found)
    print_warnings(record)


def _show_fields(rows: "Sequence[Any]") -> None:
    table = plain_table(
        "field", "level", "items", "people", "alpha", "95 % interval", "kappa", "agree"
    )
    for row in rows:
        kappa = row.cohen or row.fleiss
        table.add_row(
            clean(row.field),
            row.level,
            f"{row.items:,}",
            f"{row.people:,}",
            _number(row.alpha.value),
            _span(row.alpha),
            _number(kappa.value) if kappa else "",
            "" if isnan(row.percent.value) else f"{row.percent.value:.0%}",
        )
    out.print(table)


def _show_leanings(found: "Mapping[str, Any]") -> None:
    if not found["leanings"]:
        return
    table = plain_table("leaning", "people", "share", "annotations", "share ")
    for row in found["leanings"]:
        share, written = f"{row.share.value:.0%}", f"{row.annotation_share:.0%}"
        table.add_row(clean(row.leaning), f"{row.people:,}", share, f"{row.annotations:,}", written)
    out.print(table)
    _show_weights(found["foundations"])
    table = plain_table("item", "field", "leanings", "means", "difference", "p", "p corrected")
    for row in [*found["field_splits"], *found["item_splits"]]:
        if row.corrected < 0.05:
            table.add_row(
                clean(row.item or "all items"),
                clean(f"{row.field} {row.value}".strip()),
                clean(f"{row.first} / {row.second}"),
                f"{row.first_mean:.2f} / {row.second_mean:.2f}",
                f"{row.difference:+.2f}",
                _p(row.p),
                _p(row.corrected),
            )
    if table.row_count:
        out.print(table)
    else:
        out.print(f"no difference of leanings holds ({found['items_compared']:,} compared)")


def _show_weights(rows: "Sequence[Any]") -> None:
    names = list(dict.fromkeys(row.foundation for row in rows))
    table = plain_table("mean weight, 1 to 5", *(name[:20] for name in names))
    for leaning in dict.fromkeys(row.leaning for row in rows):
        means = {row.foundation: f"{row.mean:.2f}" for row in rows if row.leaning == leaning}
        table.add_row(clean(leaning), *(means.get(name, "") for name in names))
    if rows:
        out.print(table)


def _span(found: Any) -> str:
    return "" if isnan(found.low) else f"{found.low:.2f} … {found.high:.2f}"


def _number(value: float) -> str:
    return "undefined" if isnan(value) else f"{round(value, 2) + 0.0:.2f}"  # no "-0.00"


def _p(value: float) -> str:
    return "" if isnan(value) else "<0.0001" if value < 0.0001 else f"{value:.4f}"
