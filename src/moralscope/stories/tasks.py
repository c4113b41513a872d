"""The task table: which sentences go in, in which form, and what comes out.

The rows are data (`data/tasks.toml`); this module reads them and turns stories into samples and
prompts. It trains nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from moralscope.core.decode import decode
from moralscope.core.errors import InputError
from moralscope.core.registry import look_up
from moralscope.io.documents import shipped_toml
from moralscope.stories.story import ORIENTATIONS, MoralStory

T = TypeVar("T")
_FIELD = re.compile(r"{([a-z_]+)}")
_MARKER = re.compile(r"<\|[A-Z_]+\|>")
_SPECIAL = re.compile(r"<\|[^<>]*\|>|</?[a-z_0-9]+>")  # <|im_end|>, </s>, <pad>, <extra_id_0>
DRAFT_LABELS = {"plausible": "CSQ_PL", "implausible": "CSQ_IMPL"}


@dataclass(frozen=True, slots=True)
class ClassificationTask:
    """A row of the table: grounding and target in, one of `labels` out."""

    name: str
    grounding: tuple[str, ...]
    target: str
    labels: tuple[str, ...]
    metric: str
    split: str
    paper: str

    def pair(self, row: Mapping[str, str | None]) -> tuple[str, str] | None:
        """Return (grounding, target) as the expert reads them; None when a sentence is missing."""
        sentences = [row.get(name) for name in (*self.grounding, self.target)]
        if not all(sentences):
            return None
        *grounding, target = [str(sentence).strip() for sentence in sentences]
        return " ".join(grounding), target


@dataclass(frozen=True, slots=True)
class GenerationTask:
    """A row of Table 18: a prompt with markers in, one sentence out."""

    name: str
    input: str
    target: str
    per: str
    metrics: tuple[str, ...]
    paper: str

    @property
    def needs(self) -> tuple[str, ...]:
        """The sentences (and `draft`) that the prompt holds, in order."""
        return tuple(_FIELD.findall(self.input))

    def prompt(self, row: Mapping[str, str | None]) -> str | None:
        """Fill the row into the format, or return None when a sentence is missing.

        `row["orientation"]` (moral, immoral) and `row["label"]` of a draft choose markers. What
        looks like a special token in a sentence is left out.
        """
        text = self.input.replace("{M}", "M" if row.get("orientation") == "moral" else "I")
        if "{PL}" in text:
            text = text.replace("{PL}", DRAFT_LABELS[row.get("label") or "plausible"])
        if not all(row.get(name) for name in self.needs):
            return None
        # A text must not pose as markers of ours, or as special tokens of a model.
        clean = {n: " ".join(_SPECIAL.sub(" ", str(row[n])).split()) for n in self.needs}
        return _FIELD.sub(lambda match: clean[match[1]], text)


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """One labelled pair of a classification task."""

    id: str
    task: str
    grounding: str
    target: str
    label: int
    orientation: str


@dataclass(frozen=True, slots=True)
class GenerationSample:
    """One prompt of a generation task and the sentence people wrote."""

    id: str
    task: str
    prompt: str
    reference: str
    orientation: str | None


def classification_task(name: str) -> ClassificationTask:
    """Return a row of the table by name."""
    return look_up("task", name, classification_tasks())


def generation_task(name: str) -> GenerationTask:
    """Return a row of the table by name."""
    return look_up("task", name, generation_tasks())


@cache
def classification_tasks() -> Mapping[str, ClassificationTask]:
    """Every classification task, by name."""
    return _table("classification", ClassificationTask)


@cache
def generation_tasks() -> Mapping[str, GenerationTask]:
    """Every generation task, by name."""
    return _table("generation", GenerationTask)


def markers() -> tuple[str, ...]:
    """Every marker that a prompt can hold, as added to a generator's vocabulary."""
    names = {f"<|{label}|>" for label in DRAFT_LABELS.values()}
    for task in generation_tasks().values():
        for letter in "MI":
            names.update(_MARKER.findall(task.input.replace("{M}", letter)))
    return tuple(sorted(names))


def path_row(story: MoralStory, orientation: str) -> dict[str, str | None]:
    """Return one path of a story as the row that `pair` and `prompt` read."""
    path = {"action": story.action(orientation), "consequence": story.consequence(orientation)}
    return {**story.sentences, **path, "orientation": orientation}


def samples(task: ClassificationTask, stories: Iterable[MoralStory]) -> Iterator[LabelledPair]:
    """Yield the labelled pairs of complete stories, two a story, or four for consequences.

    A negative of a consequence task gives an action the consequence of the other path (3.3).
    """
    for story in stories:
        for orientation in ORIENTATIONS:
            row = path_row(story, orientation)
            if task.target != "consequence":
                yield from _sample(task, story, row, ORIENTATIONS[::-1].index(orientation))
                continue
            yield from _sample(task, story, row, 1)
            other = ORIENTATIONS[1 - ORIENTATIONS.index(orientation)]
            yield from _sample(task, story, {**row, "consequence": story.consequence(other)}, 0)


def generation_samples(
    task: GenerationTask, stories: Iterable[MoralStory]
) -> Iterator[GenerationSample]:
    """Yield prompts with references; the refinement task needs drafts and is not made here."""
    if "draft" in task.needs:
        raise InputError(f"'{task.name}' needs drafts", "make them with a generator first")
    for story in stories:
        for orientation in ORIENTATIONS if task.per == "orientation" else ORIENTATIONS[:1]:
            row = path_row(story, orientation)
            prompt, reference = task.prompt(row), row[task.target]
            if prompt and reference:
                side = orientation if task.per == "orientation" else None
                yield GenerationSample(story.id, task.name, prompt, reference.strip(), side)


def _sample(
    task: ClassificationTask, story: MoralStory, row: Mapping[str, str | None], label: int
) -> Iterator[LabelledPair]:
    pair = task.pair(row)
    if pair:
        yield LabelledPair(story.id, task.name, *pair, label, str(row["orientation"]))


def _table(kind: str, cls: type[T]) -> Mapping[str, T]:
    rows = shipped_toml("moralscope.stories", "tasks.toml")[kind]
    return {name: decode(cls, {"name": name, **row}, "tasks.toml") for name, row in rows.items()}
