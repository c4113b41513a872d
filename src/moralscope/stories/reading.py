"""Reads stories from JSONL in the official shapes: reports what is malformed, repairs nothing.

Two shapes, told apart row by row: the full file has one story a line; a task file
(`classification/action+norm/norm_distance/dev.jsonl`) has one sample a line with a `label`, and an
ID with one more digit, by which the samples of a story are put together again. A task file's path
says which part of which split its stories are in. A folder is read as all the files below it.
A story needs an ID and one sentence: a key that is not there is a missing sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from moralscope.core.errors import InputError
from moralscope.io.tables import (
    POLICIES,
    Cells,
    Layout,
    LineProblem,
    MalformedRow,
    Table,
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

    Examples
    --------
    >>> import tempfile
    >>> row = '{"ID": "1", "norm": "Be kind.", "moral_action": "Jo smiles.", "immoral_action": ""}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "stories.jsonl")
    ...     _ = path.write_text(f"{row}{chr(10)}" + "{")
    ...     found = read_stories(path, malformed="skip")
    >>> len(found.stories), found.problems[0].line, found.problems[0].what
    (1, 2, 'is not JSON (cut short?)')
    """
    if malformed not in POLICIES:
        raise InputError(f"malformed lines cannot be '{malformed}'", "say stop or skip")
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} holds no .jsonl file", "give a story file or a folder of them")
    gathered = _Gathered()
    for file in files:
        _read_file(file, str(file.relative_to(path)) if path.is_dir() else "", gathered)
    if gathered.problems and malformed == "stop":
        raise InputError(
            name_problems(path, gathered.problems), "mend them, or leave them out: skip"
        )
    if not gathered.stories:
        told = f" ({gathered.problems[0]})" if gathered.problems else ""
        raise InputError(f"{path} holds no stories{told}", "give JSONL in the official shape")
    return StoryFile(
        str(path), tuple(gathered.stories.values()), tuple(gathered.problems), gathered.lines
    )


def load_stories(path: Path | None = None, *, malformed: str = "stop") -> StoryFile:
    """Read `path`, or moral_stories/stories.jsonl below MORALSCOPE_DATA."""
    if path is not None:
        return read_stories(path.expanduser(), malformed=malformed)
    found = data_file(STORIES_FILE)
    if found is None:
        raise InputError(
            f"there are no stories: no file was named, and no {STORIES_FILE} is below "
            "MORALSCOPE_DATA",
            "'moralscope data where moral-stories' says where they come from",
        )
    return read_stories(found, malformed=malformed)


@dataclass(slots=True)
class _Gathered:
    stories: dict[str, MoralStory] = field(default_factory=dict)
    whole_at: dict[str, str] = field(default_factory=dict)  # where a story's full row stood
    problems: list[LineProblem] = field(default_factory=list)
    lines: int = 0


def _read_file(path: Path, label: str, gathered: _Gathered) -> None:
    membership = _membership(path)
    for number, row in Table(path, kind=".jsonl", layout=_LAYOUT).rows():
        gathered.lines += 1
        try:
            if isinstance(row, str):
                raise MalformedRow(row)
            _take(row, f"{label} line {number}", membership, gathered)
        except MalformedRow as wrong:
            gathered.problems.append(LineProblem(number, str(wrong), label))
        if len(gathered.problems) > MAX_PROBLEMS or len(gathered.stories) > MAX_STORIES:
            raise InputError(
                f"{path} has more than {MAX_STORIES:,} stories or {MAX_PROBLEMS:,} malformed lines",
                "give a file of stories, in parts",
            )


def _take(
    row: Cells, place: str, membership: tuple[str, str, str] | None, gathered: _Gathered
) -> None:
    """Add a row: a story of its own, or one more sample of a story."""
    splits: Splits
    name = row.get("ID")
    if not isinstance(name, str) or not name.strip():
        raise MalformedRow("has no text under 'ID'")
    sentences = {key: _sentence(row, key) for key in SENTENCES if key in row}
    if not any(sentences.values()):
        raise MalformedRow(f"has none of the sentences of a story ({', '.join(SENTENCES)})")
    if "label" in row:
        _check_label(name, row["label"])
        name, splits = name[:-1], {}
        if membership:
            kind, split, part = membership
            splits = {kind: {split: part}}
    else:
        if name in gathered.whole_at:
            raise MalformedRow(f"repeats the ID of {gathered.whole_at[name].strip()}")
        splits = _splits(row.get("splits"))
        gathered.whole_at[name] = place
    story = gathered.stories.get(name, MoralStory(name))
    gathered.stories[name] = _merged(story, sentences, splits)


def _merged(story: MoralStory, sentences: Mapping[str, str | None], splits: Splits) -> MoralStory:
    for key, text in sentences.items():
        known = story.sentences[key]
        if text and known and text != known:
            raise MalformedRow(f"has another {key} than an earlier line of story {story.id}")
    given = {key: text for key, text in sentences.items() if text}
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
    return replace(story, splits=both, **given)


def _sentence(row: Mapping[str, Any], key: str) -> str | None:
    text = row[key]
    if text is None:
        return None
    if not isinstance(text, str):
        raise MalformedRow(f"has no text under '{key}' but {type(text).__name__}")
    if len(text) > MAX_CHARACTERS:
        raise MalformedRow(f"has {len(text):,} characters under '{key}', not {MAX_CHARACTERS:,}")
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise MalformedRow(f"has a character under '{key}' that is not text")
    return text if text.strip() else None


def _check_label(name: str, label: object) -> None:
    if label not in ("0", "1"):
        raise MalformedRow(f"has the label {str(label)[:20]!r}, which is neither '0' nor '1'")
    if len(name) < 2 or name[-1] not in _LABELS:
        raise MalformedRow("has an ID that does not end in a sample's digit, 0 to 4")
    if _LABELS[name[-1]] != label:
        raise MalformedRow(
            f"has the label '{label}', and an ID ending in {name[-1]} says otherwise"
        )


def _splits(given: object) -> Splits:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise MalformedRow("has 'splits' that are no object")
    for kind, table in given.items():
        if kind not in KINDS or not isinstance(table, dict):
            raise MalformedRow(f"has splits of '{kind}', which is none of {', '.join(KINDS)}")
        for split, part in table.items():
            if split not in SPLITS or (part is not None and part not in PARTS):
                raise MalformedRow(f"has the part '{part}' of a split '{split}': one is unknown")
    return given


def _membership(path: Path) -> tuple[str, str, str] | None:
    """Return (kind, split, part) that a task file's path tells: TASK/SPLIT/PART.jsonl."""
    if len(path.parts) < 3 or path.stem not in PARTS:
        return None
    task, split = path.parts[-3], path.parts[-2]
    split = _OLD_SPLIT_NAMES.get(split, split)
    if split not in SPLITS:
        return None
    return ("consequence" if task.startswith("consequence") else "action"), split, path.stem
