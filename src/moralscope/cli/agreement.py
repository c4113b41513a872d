"""`moralscope agreement`: how far people agree, and where they do not."""

from pathlib import Path
from typing import Annotated

import typer

from moralscope.annotation.options import AgreementOptions
from moralscope.cli.declare import takes
from moralscope.cli.options import ReportOutput
from moralscope.cli.output import emit_to


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
