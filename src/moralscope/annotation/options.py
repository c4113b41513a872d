"""What the commands of this subject take, and how projects are run; nothing here is heavy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from moralscope.core.options import Option, Options, Seed, file_option, input_option, output_option


@dataclass(frozen=True, slots=True)
class ExportShape:
    """A form in which a project's answers, people or log are exported."""

    suffix: str
    about: str
    """What the lead's page says of it."""
    task: str = ""
    """The only task that it is made of; empty: any."""


SHAPES = {
    "jsonl": ExportShape(".jsonl", "JSON lines: everything, one answer per line"),
    "csv": ExportShape(".csv", "CSV: one answer per row"),
    "parquet": ExportShape(".parquet", "Parquet: one answer per row"),
    "mic": ExportShape(".csv", "MIC.csv: what integrity training reads", "rule-of-thumb"),
    "stories": ExportShape(".jsonl", "Stories: what stories reads", "story-writing"),
    "human": ExportShape(".csv", "Yes rates: what score --human reads", "action-yes-no"),
    "people": ExportShape(".jsonl", "People: leaning and foundation weights"),
    "audit": ExportShape(".jsonl", "Audit log: who did what to whom, and when"),
}
STAGES = ("main", "staging", "all")
DECISIONS = ("reject", "block", "lift", "decline")
Columns = Annotated[
    str | None,
    input_option("What your columns are called: prompt=Q,reply=A.", metavar="NAME=COLUMN"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions(Options):
    """How a project is made; what is None is the task's own."""

    name: Annotated[str, Option("Name that people read; by default the folder's.")] = ""
    people: Annotated[int | None, Option("People per item.", least=1, most=1000)] = None
    staging: Annotated[int | None, Option("Items in the staging round.", least=0, most=1000)] = None
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
class AnnotationExportOptions(Options):
    """Which answers are exported, and as what."""

    shape: Annotated[
        str,
        output_option(
            "jsonl, csv, parquet; mic (MIC.csv), stories, human (score --human), people (who "
            "they are, apart from answers), audit (who did what).",
            choices=tuple(SHAPES),
        ),
    ] = "jsonl"
    name: Annotated[str, output_option("A file name; else the shape's.")] = ""
    stage: Annotated[str, input_option("main, staging or all.", choices=STAGES)] = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecideOptions(Options):
    """What is said with a decision, and what it does to answers."""

    reason: Annotated[
        str, Option("Why, or the answer to an appeal; the person reads it.", metavar="TEXT")
    ] = ""
    leave_out: Annotated[
        bool, Option("block: the person's answers do not count; others do the items again.")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjudicateOptions(Options):
    """What the final answer of an item is, and why. Fields on which all agree need not be said."""

    like: Annotated[
        str, input_option("Take this person's answer.", flag="--take", metavar="PERSON")
    ] = ""
    values: Annotated[
        tuple[str, ...],
        input_option(
            "A field of the final answer: severity=4, ok=yes, foundations=care|fairness; may be "
            "repeated.",
            flag="--set",
            metavar="FIELD=VALUE",
        ),
    ] = ()
    comment: Annotated[str, input_option("Why; kept with the answer.")] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementOptions(Options):
    """How agreement is measured. In Python `levels` may be a mapping, too."""

    levels: Annotated[
        str | None,
        input_option(
            "severity=ordinal,… (or nominal, interval, ratio, several, text); else guessed."
        ),
    ] = None
    columns: Annotated[
        str | None,
        input_option(
            "What your columns are called: item=ID,person=WHO; rater, annotator and worker are "
            "read as person.",
            metavar="NAME=COLUMN",
        ),
    ] = None
    people: Annotated[
        Path | None, file_option("People: person, leaning, weights of foundations.")
    ] = None
    smallest_group: Annotated[
        int | None, Option("Smallest group of a leaning that is named (5); at least 3.")
    ] = None
    seed: Seed = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies(Options):
    """How a project is run; all of them stand in `project.yaml`, with what is said of them here."""

    people_per_item: Annotated[
        int, Option("how many people answer each item", least=1, most=1000)
    ] = 3
    validators_per_item: Annotated[
        int, Option("how many others check each written story; 0 for none", least=0, most=100)
    ] = 2
    qualification: Annotated[bool, Option("whether people take a test first")] = True
    questions: Annotated[int, Option("questions of a test", least=1, most=14)] = 7
    pass_mark: Annotated[int, Option("right answers that pass it", least=1, most=14)] = 6
    retakes: Annotated[int, Option("how often it may be taken again", least=0, most=100)] = 2
    staging_items: Annotated[
        int, Option("items that a lead reviews before admission; 0 for none", least=0, most=1000)
    ] = 8
    good_in_a_row: Annotated[
        int, Option("good ones in a row that admit a person; 0: a lead admits", least=0, most=1000)
    ] = 4
    lease_minutes: Annotated[
        int,
        Option("after how many idle minutes an item goes to somebody else", least=1, most=100_000),
    ] = 60
    session_days: Annotated[
        int, Option("after how many days people join again by their link", least=1, most=365)
    ] = 30
    questionnaire: Annotated[
        bool, Option("whether people are asked about themselves (optional for them)")
    ] = True
    smallest_group: Annotated[
        int, Option("groups of fewer people are never shown by themselves", least=3, most=1000)
    ] = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementTexts(Options):
    """What only a lead knows of the data, for `annotate statement`; empty: not stated."""

    rationale: Annotated[str, Option("why these texts, and what they are for")] = ""
    language: Annotated[str, Option("the language and variety that people read and write")] = ""
    speakers: Annotated[str, Option("who wrote the texts that are shown")] = ""
    situation: Annotated[
        str, Option("how people were found, what they were paid, how they could ask")
    ] = ""
    provenance: Annotated[str, Option("where the texts come from, and under which licence")] = ""
