"""What the commands of this subject take; nothing here is computed or heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.core.options import Option, Options, Seed

SHAPES = ("jsonl", "csv", "parquet", "mic", "stories", "human", "people", "sheets")
STAGES = ("main", "staging", "all")
Columns = Annotated[
    str | None,
    Option("Columns of other names: prompt=Q,reply=A.", metavar="NAME=COLUMN,…", group="Input"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions(Options):
    """How a project is made; what is None is the task's own."""

    name: Annotated[str, Option("What people read; else the folder's.")] = ""
    people: Annotated[int | None, Option("People an item.", least=1, most=1000)] = None
    staging: Annotated[int | None, Option("Items of the staging round.", least=0, most=1000)] = None
    database: Annotated[
        str,
        Option(
            "postgresql://user@host/name, or env:NAME to take the URL from a variable; else "
            "SQLite in the folder."
        ),
    ] = ""
    columns: Columns = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions(Options):
    """How more items are read."""

    columns: Columns = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportOptions(Options):
    """Which answers are exported, and as what."""

    shape: Annotated[
        str,
        Option(
            "jsonl, csv, parquet; mic (MIC.csv), stories, human (score --human), sheets "
            "(stories people), people (who they are, apart from answers).",
            choices=SHAPES,
        ),
    ] = "jsonl"
    name: Annotated[str, Option("A file name; else the shape's.")] = ""
    stage: Annotated[str, Option("main, staging or all.", choices=STAGES)] = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementOptions(Options):
    """How agreement is measured. In Python `levels` may be a mapping, too."""

    levels: Annotated[
        str | None,
        Option("severity=ordinal,… (or nominal, interval, ratio, several, text); else guessed."),
    ] = None
    people: Annotated[
        Path | None, Option("Person, leaning, weights of foundations.", metavar="FILE")
    ] = None
    smallest_group: Annotated[
        int | None, Option("People a leaning must have to be named (5); 3 at least.")
    ] = None
    seed: Seed = 0
