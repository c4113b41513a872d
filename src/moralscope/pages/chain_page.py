"""The report of `stories chain` and `stories generate`: texts side by side, every candidate.

Laid out as Figures 2, 4, 5 and 6 of Emelin et al. 2021: the story, then what each strategy wrote
beside what people wrote. Texts are those of a model and of a file: data, never markup.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moralscope.io.record_view import Plain, number, rows_of, text
from moralscope.pages.page import (
    Block,
    Code,
    Column,
    Facts,
    Page,
    Section,
    Table,
    keyed_table,
    more_note,
    part,
)

_EXAMPLES = 12
_MAX_ROWS = 20_000
_CONTEXT = ("norm", "situation", "intention")
_COUNTS = ("stories", "candidates")


def chain_page(plain: Plain) -> Page:
    """Lay out a run of a chain, with other runs beside it where the record holds them.

    Examples
    --------
    >>> row = {"id": "1", "target": "moral", "choice": "Jo smiles.", "candidates": [], "path": []}
    >>> plain = {"config": {"recipe": "action-sample"}, "statistics": {}, "results": [row]}
    >>> [section.title for section in chain_page(plain).sections]
    ['Story 1', 'All choices']
    """
    rows = rows_of(plain["results"], "'results'")
    config, found = plain["config"], plain["statistics"]
    recipe = text(config.get("recipe"))
    others = _others(found.get("beside"))
    sections = [*_examples(rows, recipe, others, text(config.get("kind")))]
    sections.append(Section("All choices", [], [_choices(rows, others)]))
    candidates = _candidates(rows)
    if candidates.rows:
        prose = ["What each step found, best first where an expert ranked."]
        sections.append(Section("Every candidate", prose, [candidates]))
    told = _recipe(found)
    if told:
        sections.append(Section("The recipe", [], told))
    beside = f", beside {', '.join(others)}" if others else ""
    stories = len({text(row.get("id")) for row in rows})
    shown = (
        f"The first {_EXAMPLES} of {stories:,} stories" if stories > _EXAMPLES else "All stories"
    )
    summary = [
        f"{recipe}{beside}: {len(rows):,} results. {shown} are shown in full, as they come; nobody "
        "picked them."
    ]
    kind = "Generated texts" if plain.get("job") == "generate" else "Chain of experts"
    return Page(f"{kind}: {recipe}", summary, _tiles(rows, found), sections)


def _others(beside: Any) -> dict[str, dict[tuple[str, str], str]]:
    """Return the choices of other runs by name, then by story and target."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    for run in rows_of(beside or [], "'beside'"):
        name = text(run.get("name"))
        label = name if name not in found else f"{name} ({len(found) + 1})"
        rows = rows_of(run.get("results") or [], "'beside'")
        found[label] = {_key(row): text(row.get("choice")) for row in rows}
    return found


def _examples(
    rows: Sequence[Plain], recipe: str, others: Mapping[str, Mapping[Any, str]], kind: str
) -> Iterator[Section]:
    stories: dict[str, list[Plain]] = {}
    for row in rows:
        name = text(row.get("id"))
        if name in stories or len(stories) < _EXAMPLES:
            stories.setdefault(name, []).append(row)
    for name, own in stories.items():
        story = part(own[0].get("story"))
        shown = [name for name in _CONTEXT if name != kind]
        blocks: list[Block] = [Facts([(_title(name), text(story.get(name))) for name in shown])]
        for row in own:
            blocks.append(Facts(list(_texts(row, recipe, others, kind))))
        yield Section(f"Story {name}", [], blocks)


def _texts(
    row: Plain, recipe: str, others: Mapping[str, Mapping[Any, str]], kind: str
) -> Iterator[tuple[str, str]]:
    """Yield a line for each strategy, what people wrote, the other sentences of this path."""
    target = f"{text(row['target'])} " if row.get("target") else ""
    name = _title(f"{target}{kind}")
    yield f"{name} ({recipe})", text(row.get("choice"))
    for other, choices in others.items():
        if _key(row) in choices:
            yield f"{name} ({other})", choices[_key(row)]
    if row.get("reference"):
        yield f"{name} (reference)", text(row["reference"])
    for other, sentence in part(row.get("story")).items():
        if other not in (*_CONTEXT, kind):
            yield _title(f"{target}{other}"), text(sentence)


def _choices(rows: Sequence[Plain], others: Mapping[str, Mapping[Any, str]]) -> Table:
    references = any(row.get("reference") for row in rows)
    more = [*others, *(["reference"] if references else [])]
    columns = [
        *(Column(name) for name in ("story", "target", "choice")),
        Column("score", "number"),
        *(Column(name) for name in more),
    ]
    values = [
        [
            *(text(row.get(key)) for key in ("id", "target", "choice")),
            _score(row, place),
            *(choices.get(_key(row)) for choices in others.values()),
            *([text(row.get("reference"))] if references else []),
        ]
        for place, row in enumerate(rows[:_MAX_ROWS])
    ]
    return Table("All choices", columns, values, note=more_note(len(rows) - len(values)))


def _candidates(rows: Sequence[Plain]) -> Table:
    named = [Column(name) for name in ("story", "target", "step", "candidate")]
    columns = [*named, Column("score", "number"), Column("chosen")]
    values: list[list[Any]] = []
    total = 0
    for row in rows:
        for step, item, chosen in _found(row):
            total += 1
            if len(values) < _MAX_ROWS:
                score = number(item.get("score"), f"story {text(row.get('id'))}, a candidate")
                head = [text(row.get("id")), text(row.get("target")), text(step.get("step"))]
                values.append([*head, text(item.get("text")), score, "●" if chosen else ""])
    return Table("Every candidate", columns, values, note=more_note(total - len(values)))


def _found(row: Plain) -> Iterator[tuple[Plain, Plain, bool]]:
    """Yield every step's candidates; texts that a later step ranks are told there, with scores."""
    path = rows_of(row.get("path") or [], "'path'")
    ranked = {text(step.get("from")) for step in path if step.get("do") == "rank"}
    for step in path:
        if text(step.get("step")) in ranked:
            continue
        chosen = False
        for item in rows_of(step.get("candidates") or [], "'candidates'"):
            best = not chosen and item.get("text") == step.get("choice")
            chosen = chosen or best
            yield step, item, best


def _recipe(found: Plain) -> list[Block]:
    blocks: list[Block] = []
    diagram = found.get("diagram")
    if isinstance(diagram, list):
        blocks.append(Code("\n".join(text(line) for line in diagram)))
    steps = rows_of(found.get("steps") or [], "'steps'")
    if steps:
        columns = {"step": Column("step"), "do": Column("does"), "model": Column("model")}
        columns |= {name: Column(name, "whole") for name in _COUNTS}
        columns["seconds"] = Column("seconds", "number", 1)
        blocks.append(keyed_table("What each step cost", steps, columns, "a step"))
    return blocks


def _tiles(rows: Sequence[Plain], found: Plain) -> list[tuple[str, str]]:
    tiles = [(f"{len(rows):,}", "results")]
    scores = [score for place, row in enumerate(rows) if (score := _score(row, place)) is not None]
    if scores:
        tiles.append((f"{sum(scores) / len(scores):.2f}", "mean probability of the choices"))
    seconds = number(found.get("seconds"), "'seconds'")
    if seconds is not None and rows:
        tiles.append((f"{seconds / len(rows):.2f} s", "a result"))
    return tiles


def _score(row: Plain, place: int) -> float | None:
    """Return the score of the choice: candidates come best first."""
    candidates = rows_of(row.get("candidates") or [], "'candidates'")
    first = candidates[0].get("score") if candidates else None
    return number(first, f"results, row {place + 1},")


def _key(row: Plain) -> tuple[str, str]:
    return text(row.get("id")), text(row.get("target"))


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()
