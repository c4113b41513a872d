"""`reproduce all`: every printed figure of the four papers in one run record, for one page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moralscope.core.errors import MoralscopeError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord, Statistics
from moralscope.models.encoders import load_encoder
from moralscope.models.store import Progress
from moralscope.papers import PaperTable, ShowTable
from moralscope.papers.choice import choice_tables, reproduce_choice
from moralscope.papers.direction import direction_tables, reproduce_direction
from moralscope.papers.integrity import prepare_sources, reproduce_integrity
from moralscope.papers.options import NONE, AllOptions, IntegrityOptions, StoriesOptions
from moralscope.papers.stories import reproduce_stories, text_tables
from moralscope.papers.words import words_tables
from moralscope.stories.experts import prepare_experts
from moralscope.stories.options import EvaluateOptions
from moralscope.stories.reading import load_stories

_CAME_OUT = ("equal", "inside the interval", "same sign")


@dataclass(frozen=True, slots=True)
class PaperTally:
    """How many figures a paper prints, and how many came out."""

    printed: int
    came_out: int  # equal, inside our interval, or with the same sign
    other: int
    not_measured: int


@dataclass(frozen=True, slots=True)
class AllStatistics(Statistics):
    """What came out, by paper."""

    papers: Mapping[str, PaperTally]


def reproduce_all(
    options: AllOptions | None = None,
    *,
    progress: Progress | None = None,
    show: ShowTable | None = None,
    **fields: Any,
) -> RunRecord:
    """Compute the four papers one after the other; one that cannot be computed is reported.

    `show` gets each table as soon as it is there.
    """
    asked = chosen_options(AllOptions, options, fields)
    stories = StoriesOptions(experts=asked.experts, quick=asked.quick, seed=asked.seed)
    first = asked.encoders[0]
    scorer = first if first in ("mpnet", "scripted") else "minilm"
    integrity = IntegrityOptions(seed=asked.seed, encoder=first, bertscore=scorer)
    common: dict[str, Any] = {"seed": asked.seed, "progress": progress, "show": show}
    runs: dict[str, Callable[[], RunRecord]] = {
        "choice": lambda: reproduce_choice(asked.encoders, **common),
        "direction": lambda: reproduce_direction(asked.encoders, **common),
        "stories": lambda: run_stories(stories, progress=progress, show=show),
        "integrity": lambda: reproduce_integrity(
            prepare_sources(integrity, progress), seed=asked.seed, show=show
        ),
    }
    tables: list[PaperTable] = []
    tallies: dict[str, PaperTally] = {}
    records: list[RunRecord] = []
    problems: list[str] = []
    for name, run in runs.items():
        try:
            records.append(run())
        except MoralscopeError as error:
            problems.append(f"{name} was left out: {error}")
            continue
        paper_tables = tables_of(records[-1])
        tallies[name] = tally(paper_tables)
        tables += [replace(table, name=f"{name}: {table.name}") for table in paper_tables]
    warnings = [line for record in records for line in record.warnings]
    return RunRecord(
        "reproduce",
        seed=asked.seed,
        config={"paper": "all", "options": plain_options(asked)},
        models=list({ref.name: ref for record in records for ref in record.models}.values()),
        results=tables,
        statistics=AllStatistics(tallies),
        warnings=list(dict.fromkeys([*problems, *warnings])),
    )


def tables_of(record: RunRecord) -> list[PaperTable]:
    """Return the tables of a paper's record: every printed figure, ours beside it."""
    paper = record.config["paper"]
    if paper == "direction":
        return [table for result in record.results for table in direction_tables(result)]
    if paper == "choice":
        words = record.statistics.words
        tables = [table for result in record.results for table in choice_tables(result)]
        return [*tables, *(words_tables(words) if words else ())]
    return list(record.results)


def tally(tables: Sequence[PaperTable]) -> PaperTally:
    """Count what came out again."""
    outcomes = [row.reproduced for table in tables for row in table.rows if row.reproduced]
    came_out = sum(outcome in _CAME_OUT for outcome in outcomes)
    missing = outcomes.count("not measured")
    return PaperTally(len(outcomes), came_out, len(outcomes) - came_out - missing, missing)


def run_stories(
    options: StoriesOptions, *, progress: Progress | None = None, show: ShowTable | None = None
) -> RunRecord:
    """Load what the options of `reproduce stories` name and compute its tables."""
    listed = load_stories(options.stories)
    sets = [prepare_experts(name, progress=progress) for name in options.experts]
    model = None if options.encoder == NONE else load_encoder(options.encoder, progress)
    grader = prepare_experts(options.judge, progress=progress) if options.runs else None
    texts = text_tables(options.runs, listed.stories, judge=grader, seed=options.seed)
    asked = EvaluateOptions(tasks=options.tasks, max_stories=options.max_stories, seed=options.seed)
    return reproduce_stories(listed, sets, asked, encoder=model, texts=texts, tell=show)
