"""The page of `bench`: quality, speed and cost of every judge, beside what others print."""

from typing import Any

from moralscope.benchmarks.bench import BenchResult, BenchStatistics
from moralscope.core.records import RunRecord
from moralscope.pages import Presentation
from moralscope.pages.page import Page, Section, Table, head

_LIMITS = (
    "It is not moral advice. A figure says how often a model agrees with the people who labelled "
    "this set, in its language and for its questions.",
    "A set that taught the weights, or that their limits were chosen on, flatters them: such rows "
    "are marked, and no limit is tuned on them.",
    "Published figures are others' own: of other rows, other limits and other days.",
)
_WORST = 12


def bench_page(record: RunRecord) -> Page:
    """Lay out what the judges reached."""
    results: list[BenchResult] = list(record.results)
    flagging = [row for row in results if row.f1 is not None]
    chosen = [row for row in results if row.f1 is None]
    sets = [[*_names(row), row.cases, row.bad, row.no_verdict, row.seen or "no"] for row in results]
    published = [
        [file.title, row.model, row.figure, row.value, row.date, row.source]
        for file in record.statistics.sets
        for row in file.published
    ]
    parts = [
        [*_names(row), part.name, part.right, part.bad]
        for row in results
        for part in sorted(row.parts, key=lambda part: part.right.value)[:_WORST]
    ]
    sections = [
        *_section(
            "Quality",
            "95 % intervals. F1 is that of the model's own flag; tuned F1 is at a limit chosen by "
            "cross-validation, where the weights never saw the set.",
            "F1: interval 2 | tuned F1: interval 2 | AUC: interval 2",
            [[*_names(row), row.f1, row.tuned, row.auc] for row in flagging],
        ),
        *_section(
            "Errors",
            "Recall is the share of bad cases that is flagged, false alarms that of fine ones.",
            "recall: share interval 0 | false alarms: share interval 1",
            [[*_names(row), row.recall, row.false_alarms] for row in flagging],
        ),
        *_section(
            "Choices",
            "How often the better one of two actions is found.",
            "right: interval",
            [[*_names(row), row.accuracy] for row in chosen],
        ),
        *_section(
            "Sets",
            "What the weights saw of a set, by their card: such figures are too kind.",
            "cases: whole | bad: whole | no verdict: whole | seen: wide 30",
            sets,
        ),
        *_section(
            "Speed and cost",
            "Latency is of one case alone, the speed in blocks of 64, on this machine.",
            "cases/s: number 1 | median s: number 3 | 95th %: number 3 | tokens: whole | "
            "cost: number 4",
            [_speed(row) for row in results],
        ),
        *_section(
            "Published by others",
            "Not measured here: other rows, other limits.",
            "figure | value: number | date | source: wide 20",
            published,
            name="Published",
        ),
        *_section(
            "Parts with the fewest right decisions",
            "",
            "part: wide 30 | right: share interval 0 | bad: whole",
            parts,
            name="Parts",
            shown="report",
        ),
    ]
    names = ", ".join(dict.fromkeys(row.model for row in results))
    about = f"{len(record.statistics.sets)} test sets over {names}"
    tiles = [
        (f"{row.f1.value:.3f}", f"F1 of {row.model}, {row.title}") for row in flagging if row.f1
    ]
    return Page("Public test sets", [about], tiles[:6], sections, headline=about)


_NAMES = head("set: wide 26 | model: wide 20")


def _names(row: BenchResult) -> tuple[str, str]:
    return row.title, row.model


def _speed(row: BenchResult) -> list[Any]:
    speed = row.speed
    tokens = speed.input_tokens + speed.output_tokens
    return [*_names(row), *(speed.per_second, speed.latency, speed.latency_p95), tokens, speed.cost]


def _section(
    title: str, prose: str, heads: str, rows: list[list[Any]], name: str = "", shown: str = "all"
) -> list[Section]:
    table = Table(name or title, [*_NAMES, *head(heads)], rows)
    lines = [prose] if prose else []
    return [Section(title, lines, [table], shown=shown, gap=True)] if rows else []


PRESENTATIONS = {"bench": Presentation(bench_page, (BenchResult, BenchStatistics), _LIMITS)}
