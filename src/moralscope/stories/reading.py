"""Reads stories from JSONL in the official shapes: reports what is malformed, repairs nothing.

Two shapes, told apart row by row: the full file has one story a line; a task file
(`classification/action+norm/norm_distance/dev.jsonl`) has one sample a line with a `label`, and an
ID with one more digit, by which the samples of a story are put together again. A task file's path
says which part of which split its stories are in. A folder is read as all the files below it.
A story needs an ID and one sentence: a key that is not there is a missing sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.io.tables import (
    POLICIES,
    Cells,
    Layout,
    LineProblem,
    MalformedRow,
    TableFile,
    name_problems,
)
from moralscope.models.store import data_file
from moralscope.stories.options import PARTS, SPLITS
from moralscope.stories.story import SENTENCES, MoralStory

STORIES_FILE = "moral_stories/stories.jsonl"
MAX_CHARACTERS = 10_000
MAX_STORIES = 200_000
MAX_PROBLEMS = 10_000
KINDS = ("action", "consequence")
# Digit at the end of a sample's ID, and the label that goes with it: 0 and 1 are immoral and moral
# actions; 1 to 4 pair the moral action with both consequences, then the immoral action.
_LABELS = {"0": "0", "1": "1", "2": "0", "3": "1", "4": "0"}
_LAYOUT = Layout(remedy="name a JSONL file")
_OLD_SPLIT_NAMES = {"norm_overlap": "norm_distance"}  # one official folder calls it so

Splits = Mapping[str, Mapping[str, str | None]]


@dataclass(frozen=True, slots=True)
class StoryFile:
    """The stories of a source in their order, and the lines that were left out."""

    source: str
    stories: tuple[MoralStory, ...]
    problems: tuple[LineProblem, ...] = ()
    lines: int = 0

    @property
    def complete(self) -> tuple[MoralStory, ...]:
        """The stories that have all seven sentences."""
        return tuple(story for story in self.stories if not story.missing)


def read_stories(path: Path, *, malformed: str = "stop") -> StoryFile:
    """Read a full file, a task file, or a folder of them.

    Every malformed line is found and named by number. Then `malformed="stop"` raises, and
    `"skip"` returns the other stories with the problems beside them.
    """
    if malformed not in POLICIES:
        raise InputError(f"malformed lines cannot be '{malformed}'", "say stop or skip")
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} holds no .jsonl file", "give a story file or a folder of them")
    stories: dict[str, MoralStory] = {}
    whole_at: dict[str, str] = {}  # where a story's full row stood
    problems: list[LineProblem] = []
    lines = 0
    for file in files:
        membership = _membership(file)
        label = str(file.relative_to(path)) if path.is_dir() else ""
        for number, row in TableFile(file, kind=".jsonl", layout=_LAYOUT).rows():
            lines += 1
            try:
                if isinstance(row, str):
                    raise MalformedRow(row)
                name, sentences = _sentences(row)
                if "label" in row:  # one more sample of a story
                    _check_label(name, row["label"])
                    name, splits = name[:-1], membership
                elif name in whole_at:
                    raise MalformedRow(f"repeats the ID of {whole_at[name]}")
                else:
                    splits = _splits(row.get("splits"))
                    whole_at[name] = f"{label} line {number}".strip()
                stories[name] = _merged(stories.get(name, MoralStory(name)), sentences, splits)
            except MalformedRow as wrong:
                problems.append(LineProblem(number, str(wrong), label))
            if len(problems) > MAX_PROBLEMS or len(stories) > MAX_STORIES:
                raise InputError(
                    f"{file} has more than {MAX_STORIES:,} stories or {MAX_PROBLEMS:,} malformed "
                    "lines",
                    "give a file of stories, in parts",
                )
    if problems and malformed == "stop":
        raise InputError(name_problems(path, problems), "fix them, or leave them out: skip")
    if not stories:
        first = f" ({problems[0]})" if problems else ""
        raise InputError(f"{path} holds no stories{first}", "give JSONL in the official shape")
    return StoryFile(str(path), tuple(stories.values()), tuple(problems), lines)


def load_stories(path: Path | None = None, *, malformed: str = "stop") -> StoryFile:
    """Read `path`, or moral_stories/stories.jsonl below MORALSCOPE_DATA."""
    if path is not None:
        return read_stories(path.expanduser(), malformed=malformed)
    file = data_file(STORIES_FILE)
    if file is None:
        raise InputError(
            f"there are no stories: no file was named, and no {STORIES_FILE} is below "
            "MORALSCOPE_DATA",
            "'moralscope data where moral-stories' says where they come from",
        )
    return read_stories(file, malformed=malformed)


def _sentences(row: Cells) -> tuple[str, dict[str, str]]:
    """Return a row's ID and the sentences that it has."""
    name = row.get("ID")
    if not isinstance(name, str) or not name.strip():
        raise MalformedRow("has no text under 'ID'")
    sentences: dict[str, str] = {}
    for key in SENTENCES:
        text = row.get(key)
        if text is not None and not isinstance(text, str):
            raise MalformedRow(f"has no text under '{key}' but {type(text).__name__}")
        if text and len(text) > MAX_CHARACTERS:
            raise MalformedRow(
                f"has {len(text):,} characters under '{key}', not {MAX_CHARACTERS:,}"
            )
        if text and ("\x00" in text or any("\ud800" <= char <= "\udfff" for char in text)):
            raise MalformedRow(f"has a character under '{key}' that is not text")
        if text and text.strip():
            sentences[key] = text
    if not sentences:
        raise MalformedRow(f"has none of the sentences of a story ({', '.join(SENTENCES)})")
    return name, sentences


def _merged(story: MoralStory, sentences: Mapping[str, str], splits: Splits) -> MoralStory:
    for key, text in sentences.items():
        known = story.sentences[key]
        if known and text != known:
            raise MalformedRow(f"has another {key} than an earlier line of story {story.id}")
    for kind, table in splits.items():
        for split, part in table.items():
            known = story.official(kind, split)
            if part and known and part != known:
                raise MalformedRow(f"puts story {story.id} in {part}, an earlier line in {known}")
    both = {
        kind: {**story.splits.get(kind, {}), **splits.get(kind, {})}
        for kind in KINDS
        if kind in story.splits or kind in splits
    }
    return replace(story, splits=both, **sentences)


def _check_label(name: str, label: object) -> None:
    if label not in ("0", "1"):
        raise MalformedRow(f"has the label {str(label)[:20]!r}, which is neither '0' nor '1'")
    if len(name) < 2 or name[-1] not in _LABELS:
        raise MalformedRow("has an ID that does not end in a sample's digit, 0 to 4")
    if _LABELS[name[-1]] != label:
        raise MalformedRow(
            f"has the label '{label}', and an ID ending in {name[-1]} says otherwise"
        )


def _splits(splits: object) -> Splits:
    if splits is None:
        return {}
    if not isinstance(splits, dict):
        raise MalformedRow("has 'splits' that are no object")
    for kind, table in splits.items():
        if kind not in KINDS or not isinstance(table, dict):
            raise MalformedRow(f"has splits of '{kind}', which is none of {', '.join(KINDS)}")
        for split, part in table.items():
            if split not in SPLITS or (part is not None and part not in PARTS):
                raise MalformedRow(f"has the part '{part}' of a split '{split}': one is unknown")
    return splits


def _membership(path: Path) -> Splits:
    """Return what a task file's path tells of its stories: TASK/SPLIT/PART.jsonl."""
    if len(path.parts) < 3 or path.stem not in PARTS:
        return {}
    task, split = path.parts[-3], path.parts[-2]
    split = _OLD_SPLIT_NAMES.get(split, split)
    kind = "consequence" if task.startswith("consequence") else "action"
    return {kind: {split: path.stem}} if split in SPLITS else {}
