"""Texts of saved runs of `stories generate` and `stories chain`, with references and context.

Nothing is generated or scored here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.records import ModelRef, RunRecord
from moralscope.io.files import read_run
from moralscope.stories.chains.flow import Step
from moralscope.stories.chains.records import ChainResult, OtherChoice, OtherRun
from moralscope.stories.story import ORIENTATIONS, MoralStory
from moralscope.stories.tasks import generation_tasks, path_row

KINDS = ("action", "consequence", "norm")
_JOBS = ("generate", "chain")
_REMEDY = "give records that 'stories generate' or 'stories chain' saved with --out"


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run says of itself, as far as its readers need it."""

    recipe: str = ""
    task: str = ""
    kind: str = ""
    experts: str | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class SavedTexts:
    """A saved run of `stories generate` or `stories chain`."""

    job: str
    results: tuple[ChainResult, ...]
    config: RunConfig = field(default_factory=RunConfig)
    models: tuple[ModelRef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextItem:
    """One text for a story and target (None for norms)."""

    id: str
    target: str | None
    text: str
    reference: str | None  # what people wrote
    row: Mapping[str, str | None]  # the story's sentences
    log_probability: float = 0.0  # of all its tokens
    tokens: int = 0  # 0 where the run does not say

    @property
    def key(self) -> tuple[str, str]:
        """Story and target, by which runs are paired."""
        return self.id, self.target or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRun:
    """A run's texts."""

    strategy: str  # its recipe or task
    kind: str
    paper: str  # the name that the paper's rows have: a chain of one step is its task
    items: tuple[TextItem, ...]
    models: tuple[ModelRef, ...]
    experts: str | None = None
    ranked: bool = True  # False only where the run says that no expert chose
    without_choice: int = 0


def read_saved_run(path: Path) -> SavedTexts:
    """Read the record of a run that generated texts."""
    run = decode(SavedTexts, read_run(path), str(path), remedy=_REMEDY)
    if run.job not in _JOBS:
        raise InputError(f"{path} is not a run that generated texts", _REMEDY)
    return run


def read_texts(
    paths: Sequence[Path], stories: Sequence[MoralStory] | None = None
) -> tuple[TextRun, ...]:
    """Read runs; references and context come from `stories`, else from the records themselves."""
    if not paths:
        raise InputError("no run is given", _REMEDY)
    known = None if stories is None else {story.id: story for story in stories}
    runs = []
    for path in paths:
        run = read_saved_run(path)
        config, steps = run.config, run.config.steps
        name = config.recipe or config.task or path.stem
        task = generation_tasks().get(config.task or name)
        kind = config.kind or (task.target if task else "")
        if kind not in KINDS:
            raise InputError(
                f"{path} does not say what its texts are", f"one of {', '.join(KINDS)}"
            )
        items = tuple(_items(path, run.results, kind, known))
        if not items:
            raise InputError(f"{path} holds no text", "run it again on stories with every sentence")
        runs.append(
            TextRun(
                strategy=name,
                kind=kind,
                paper=(steps[0].task or name) if len(steps) == 1 else name,
                items=items,
                models=run.models,
                experts=config.experts,
                ranked=any(step.expert for step in steps) or not steps,
                without_choice=len(run.results) - len(items),
            )
        )
    names = [run.strategy for run in runs]
    # The same recipe run twice (two seeds, two models) goes by the names of its files.
    return tuple(
        replace(run, strategy=f"{run.strategy} [{path.stem}]")
        if names.count(run.strategy) > 1
        else run
        for run, path in zip(runs, paths, strict=True)
    )


def _items(
    path: Path, rows: Sequence[ChainResult], kind: str, known: Mapping[str, MoralStory] | None
) -> Iterator[TextItem]:
    """Yield the results that have a text; a strange result is refused by its number."""
    seen: set[tuple[str, str]] = set()
    targets = (None,) if kind == "norm" else ORIENTATIONS
    for number, row in enumerate(rows, 1):
        if row.target not in targets:
            raise InputError(
                f"{path} result {number} has target '{row.target}' for a {kind}", _REMEDY
            )
        if row.choice is None:
            continue
        story: Mapping[str, str | None] = {**row.story, "orientation": row.target}
        if known is not None:
            if row.id not in known:
                raise InputError(
                    f"{path} has a text for story '{row.id}', which is not among the stories",
                    "give the stories that the run was made from with --stories",
                )
            story = path_row(known[row.id], row.target or "moral")
        # The text's log-probability is told by the last step that generated it.
        written = [
            (text.log_probability, text.tokens)
            for step in row.path
            for text in reversed(step.candidates)
            if text.text == row.choice and text.log_probability is not None and text.tokens
        ]
        log_probability, tokens = written[-1] if written else (0.0, 0)
        item = TextItem(
            id=row.id,
            target=row.target,
            text=row.choice.strip(),
            reference=story.get(kind),
            row=story,
            log_probability=log_probability or 0.0,
            tokens=tokens or 0,
        )
        if item.key in seen:
            raise InputError(f"{path} has two results for story '{item.id}', {row.target}", _REMEDY)
        seen.add(item.key)
        yield item


def read_beside(paths: Sequence[Path]) -> list[OtherRun]:
    """Read what other runs chose; refused before any work is done."""
    runs = []
    for path in paths:
        run = read_saved_run(path)
        choices = tuple(
            OtherChoice(id=row.id, target=row.target, choice=row.choice) for row in run.results
        )
        runs.append(OtherRun(run.config.recipe or path.stem, choices))
    return runs


def set_beside(record: RunRecord, runs: Sequence[OtherRun]) -> RunRecord:
    """Put the choices of other runs on the same stories beside this one's, for the report."""
    if not runs:
        return record
    wanted = {(row.id, row.target) for row in record.results}
    others = []
    for run in runs:
        shared = tuple(row for row in run.results if (row.id, row.target) in wanted)
        if not shared:
            raise InputError(
                f"{run.name} has no story of this run", "give runs on the same stories"
            )
        others.append(OtherRun(run.name, shared))
    return replace(record, statistics=replace(record.statistics, beside=tuple(others)))
