"""What `export` takes; nothing here is computed or heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.core.options import Option, Options, output_option
from moralscope.models.options import DEFAULT_EXPERTS, AuditorName
from moralscope.rules.options import Rulebooks

FORMATS = ("junit", "sarif", "markdown", "label-studio", "argilla", "hub")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(Options):
    """What is exported, and as what."""

    source: Annotated[
        str,
        Option(
            "A run record saved with --out; or weights: rules-mpnet, a folder of 'rules train'.",
            metavar="RUN.json|WEIGHTS",
            argument=True,
        ),
    ]
    to: Annotated[
        Path | None,
        output_option(
            "A file (.xml, .sarif, .md, .json), or a folder for weights; else stdout.",
            metavar="PATH",
        ),
    ] = None
    format: Annotated[
        str | None,
        output_option(
            "junit, sarif, markdown, label-studio, argilla or hub.",
            choices=FORMATS,
            shown="inferred from --to",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOptions(Options):
    """What audits of an MCP server judge by."""

    rulebooks: Rulebooks = ()
    experts: AuditorName = DEFAULT_EXPERTS
