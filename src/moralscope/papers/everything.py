"""`reproduce all`: every printed figure of the four papers in one run record, for one page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moralscope.core.errors import MoralscopeError
from moralscope.core.options import chosen_options, plain_options
from moralscope.core.records import RunRecord
from moralscope.models.encoders import load_encoder
from moralscope.models.store import Progress
from moralscope.papers import PaperTable
from moralscope.papers.choice import reproduce_choice
from moralscope.papers.direction import reproduce_direction
from moralscope.papers.figures import choice_tables, direction_tables, words_tables
from moralscope.papers.integrity import prepare_sources, reproduce_integrity
from moralscope.papers.options import NONE, AllOptions, IntegrityOptions, StoriesOptions
from moralscope.papers.stories import Tell, reproduce_stories, text_tables
from moralscope.stories.experts import prepare_experts
from moralscope.stories.options import EvaluateOptions
from moralscope.stories.reading import load_stories

_CAME_OUT = ("equal", "inside the interval", "same sign")


@dataclass(frozen=True, slots=True)
class Tally:
    """How many figures a paper prints, how many came out (same sign, inside), how many did not."""

    printed: int
    came_out: int
    other: int
    not_measured: int


def reproduce_all(
    options: AllOptions | None = None,
    *,
    progress: Progress | None = None,
    tell: Tell | None = None,
    **given: Any,
) -> RunRecord:
    """Compute the four papers one after the other; one that cannot be computed is reported.

    `tell` gets each table as soon as it is there; of Moral Stories, which takes long, while it
    computes.
    """
    asked = chosen_options(AllOptions, options, given)
    show = tell or (lambda table: None)
    stories = StoriesOptions(experts=asked.experts, quick=asked.quick, seed=asked.seed)
    integrity = IntegrityOptions(seed=asked.seed)
    common: dict[str, Any] = {"seed": asked.seed, "progress": progress}
    runs: dict[str, Callable[[], RunRecord]] = {
        "choice": lambda: reproduce_choice(asked.encoders, **common),
        "direction": lambda: reproduce_direction(asked.encoders, **common),
        "stories": lambda: run_stories(stories, progress=progress, tell=tell),
        "integrity": lambda: reproduce_integrity(
            prepare_sources(integrity, progress), seed=asked.seed
        ),
    }
    tables: list[PaperTable] = []
    tallies: dict[str, Tally] = {}
    records: list[RunRecord] = []
    problems: list[str] = []
    for name, run in runs.items():
        try:
            records.append(run())
        except MoralscopeError as error:
            problems.append(f"{name} was left out: {error}")
            continue
        found = [replace(table, name=f"{name}: {table.name}") for table in _flat(name, records[-1])]
        tallies[name] = tally(found)
        tables += found
        for table in found if name != "stories" else ():
            show(table)
    warnings = [line for record in records for line in record.warnings]
    return RunRecord(
        "reproduce",
        seed=asked.seed,
        config={"paper": "all", "options": plain_options(asked)},
        models=list({ref.name: ref for record in records for ref in record.models}.values()),
        results=tables,
        statistics={"papers": tallies},
        warnings=list(dict.fromkeys([*problems, *warnings])),
    )


def _flat(name: str, record: RunRecord) -> Sequence[PaperTable]:
    if name == "choice":
        words = record.statistics["words"]
        tables = [table for result in record.results for table in choice_tables(result)]
        return [*tables, *(words_tables(words) if words else ())]
    if name == "direction":
        return [table for result in record.results for table in direction_tables(result)]
    return record.results


def tally(tables: Sequence[PaperTable]) -> Tally:
    """Count what came out again.

    Examples
    --------
    >>> from moralscope.papers import PaperRow
    >>> rows = [PaperRow("a", "b", 1.0, None, None, 1.0, reproduced="equal")]
    >>> tally([PaperTable("Table 1", rows)])
    Tally(printed=1, came_out=1, other=0, not_measured=0)
    """
    said = [row.reproduced for table in tables for row in table.rows if row.reproduced]
    came, missing = sum(word in _CAME_OUT for word in said), said.count("not measured")
    return Tally(len(said), came, len(said) - came - missing, missing)


def run_stories(
    options: StoriesOptions, *, progress: Progress | None = None, tell: Tell | None = None
) -> RunRecord:
    """Load what the options of `reproduce stories` name and compute its tables."""
    listed = load_stories(options.stories)
    sets = [prepare_experts(name, progress=progress) for name in options.experts]
    model = None if options.encoder == NONE else load_encoder(options.encoder, progress)
    grader = prepare_experts(options.judge, progress=progress) if options.runs else None
    texts = text_tables(options.runs, listed.stories, judge=grader, seed=options.seed)
    asked = EvaluateOptions(tasks=options.tasks, max_stories=options.max_stories, seed=options.seed)
    return reproduce_stories(listed, sets, asked, encoder=model, texts=texts, tell=tell)
