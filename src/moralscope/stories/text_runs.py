"""Texts of saved runs of `stories generate` and `stories chain`, with references and context.

A record is read in its plain form and checked; nothing is generated or scored here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.io.files import read_run
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import generation_tasks, path_row

KINDS = ("action", "consequence", "norm")
_JOBS = ("generate", "chain")
_REMEDY = "give records that 'stories generate' or 'stories chain' saved with --out"
Row = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class TextItem:
    """One text for a story and target (None for norms), what people wrote, and the story's row.

    `log_probability` is that of all its `tokens`, which are 0 where the run does not say.
    """

    id: str
    target: str | None
    text: str
    reference: str | None
    row: Row
    log_probability: float = 0.0
    tokens: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """Story and target, by which runs are paired."""
        return self.id, self.target or ""


@dataclass(frozen=True, slots=True)
class TextRun:
    """A run's texts; `strategy` is its recipe or task, `paper` the name its rows have there."""

    strategy: str
    kind: str
    paper: str
    items: tuple[TextItem, ...]
    models: tuple[ModelRef, ...]
    experts: str | None = None
    ranked: bool = True  # False only where the run says that no expert chose
    without_choice: int = 0


def read_texts(
    paths: Sequence[Path], stories: Sequence[MoralStory] | None = None
) -> tuple[TextRun, ...]:
    """Read runs; references and context come from `stories`, else from the records themselves."""
    if not paths:
        raise InputError("no run is given", _REMEDY)
    known = None if stories is None else {story.id: story for story in stories}
    runs = [_run(path, known) for path in paths]
    names = [run.strategy for run in runs]
    # The same recipe run twice (two seeds, two models) goes by the names of its files.
    return tuple(
        replace(run, strategy=f"{run.strategy} [{path.stem}]")
        if names.count(run.strategy) > 1
        else run
        for run, path in zip(runs, paths, strict=True)
    )


def _run(path: Path, known: Mapping[str, MoralStory] | None) -> TextRun:
    record = read_run(path)
    rows = record.get("results") if isinstance(record, dict) else None
    if not isinstance(rows, list) or record.get("job") not in _JOBS:
        raise InputError(f"{path} is no run that generated texts", _REMEDY)
    given = record.get("config")
    config: Mapping[str, Any] = given if isinstance(given, dict) else {}
    name = str(config.get("recipe") or config.get("task") or path.stem)
    kind = _kind(config, rows, name)
    if kind is None:
        raise InputError(f"{path} does not say what its texts are", f"one of {', '.join(KINDS)}")
    items = tuple(_items(path, rows, kind, known))
    if not items:
        raise InputError(f"{path} holds no text", "run it again on stories with every sentence")
    told = config.get("steps")
    steps = [step for step in (told if isinstance(told, list) else []) if isinstance(step, dict)]
    return TextRun(
        name,
        kind,
        # The name that the paper's rows have: a chain of one step is its task.
        str(steps[0].get("task", name)) if len(steps) == 1 else name,
        items,
        tuple(
            ModelRef(str(model.get("name")), str(model.get("sha256")))
            for model in record.get("models") or ()
            if isinstance(model, dict)
        ),
        str(config["experts"]) if config.get("experts") else None,
        any("expert" in step for step in steps) or not steps,
        len(rows) - len(items),
    )


def _kind(config: Mapping[str, Any], rows: Sequence[Any], name: str) -> str | None:
    """Return what the texts are: as the run says, or by its task."""
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    task = generation_tasks().get(str(first.get("task") or config.get("task") or name))
    kind = config.get("kind") or (task.target if task else None)
    return kind if kind in KINDS else None


def _items(
    path: Path, rows: Sequence[Any], kind: str, known: Mapping[str, MoralStory] | None
) -> Iterator[TextItem]:
    """Yield the results that have a text; a strange result is refused by its number."""
    seen: set[tuple[str, str]] = set()
    targets = (None,) if kind == "norm" else ORIENTATIONS
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise InputError(f"{path} result {number} has no story id", _REMEDY)
        target, choice = row.get("target"), row.get("choice")
        if target not in targets:
            raise InputError(f"{path} result {number} has target '{target}' for a {kind}", _REMEDY)
        if choice is not None and not isinstance(choice, str):
            raise InputError(f"{path} result {number} has a choice that is no text", _REMEDY)
        if choice is None:
            continue
        story = _story_row(path, row, target, known)
        item = TextItem(row["id"], target, choice.strip(), story.get(kind), story, *_cost(row))
        if item.key in seen:
            raise InputError(f"{path} has two results for story '{item.id}', {target}", _REMEDY)
        seen.add(item.key)
        yield item


def _story_row(
    path: Path, row: Mapping[str, Any], target: str | None, known: Mapping[str, MoralStory] | None
) -> Row:
    if known is None:
        told = row.get("story")
        given = dict(told) if isinstance(told, dict) else {}
        sentences = {str(name): text for name, text in given.items() if isinstance(text, str)}
        return {**sentences, "orientation": target}
    story = known.get(row["id"])
    if story is None:
        raise InputError(
            f"{path} has a text for story '{row['id']}', which is not among the stories",
            "give the stories that the run was made from with --stories",
        )
    return path_row(story, target or "moral")


def _cost(row: Mapping[str, Any]) -> tuple[float, int]:
    """Return the choice's log-probability and tokens, from the last step that generated it."""
    path = row.get("path")
    for step in reversed(path if isinstance(path, list) else []):
        found = step.get("candidates") if isinstance(step, dict) else None
        for text in found if isinstance(found, list) else ():
            if not isinstance(text, dict) or text.get("text") != row["choice"]:
                continue
            value, tokens = text.get("log_probability"), text.get("tokens")
            if isinstance(value, float | int) and isinstance(tokens, int) and tokens > 0:
                return float(value), tokens
    return 0.0, 0


def read_beside(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Read what other runs chose; refused before any work is done."""
    found = []
    for path in paths:
        plain = read_run(path)
        config, rows = part_of_record(plain, "config", dict), part_of_record(plain, "results", list)
        if not rows or part_of_record(plain, "job", str) not in ("chain", "generate"):
            raise InputError(f"{path} is no run of a chain", "give records saved with --out")
        choices = [
            {key: row.get(key) for key in ("id", "target", "choice")}
            for row in rows
            if isinstance(row, dict)
        ]
        found.append({"name": str(config.get("recipe")), "file": str(path), "results": choices})
    return found


def set_beside(record: RunRecord, runs: Sequence[Mapping[str, Any]]) -> RunRecord:
    """Put the choices of other runs on the same stories beside this one's, for the report."""
    if not runs:
        return record
    wanted = {(row["id"], row["target"]) for row in record.results}
    others = []
    for run in runs:
        kept = [row for row in run["results"] if (row["id"], row["target"]) in wanted]
        if not kept:
            raise InputError(
                f"{run['file']} has no story of this run", "give runs on the same stories"
            )
        others.append({"name": run["name"], "results": kept})
    return replace(record, statistics={**record.statistics, "beside": others})


def find_path(record: RunRecord, story: str) -> list[Mapping[str, Any]]:
    """Return the results of one story, or refuse with a name that is there."""
    rows = [row for row in record.results if row["id"] == story]
    if not rows:
        first = record.results[0]["id"] if len(record.results) else "none"
        raise InputError(f"there is no result for story '{story}'", f"the first one is '{first}'")
    return rows


def part_of_record(plain: Any, key: str, kind: Callable[[], Any]) -> Any:
    """Return a part of a plain record, or an empty one where it is missing or something else."""
    found = plain.get(key) if isinstance(plain, dict) else None
    return found if isinstance(found, type(kind())) else kind()
