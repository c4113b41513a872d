"""Describe a set of stories and return a run record: counts, lengths, topics, duplicates."""

from collections import Counter
from dataclasses import asdict
from typing import Any

from moralscope.core.records import RunRecord
from moralscope.stories.paper import load_paper
from moralscope.stories.reading import KINDS, PARTS, SPLITS, StoryFile
from moralscope.stories.statistics import categories, duplicates, frequent_norms
from moralscope.stories.topics import TOPICS, find_topics, paper_topics

TOKENS = "what stands between spaces (the paper's norms and actions have its means so counted)"


def stories_stats(file: StoryFile, *, topics: int = TOPICS, seed: int = 0) -> RunRecord:
    """Count, measure and group the stories (Tables 7 and 13 beside the paper's).

    Examples
    --------
    >>> from moralscope.stories.story import MoralStory
    >>> stories = (MoralStory("1", "Be kind."), MoralStory("2", "Be kind."))
    >>> stories_stats(StoryFile("mine", stories), topics=0).results[0]["repeated"]
    2
    """
    stories, printed = file.stories, load_paper().table7
    found = find_topics(stories, count=topics, seed=seed) if topics else []
    return RunRecord(
        "stories stats",
        seed=seed,
        config={"source": file.source, "topics": topics, "token": TOKENS},
        models=[],
        results=[{**asdict(row), "paper": printed[row.name]} for row in categories(stories)],
        statistics={
            "stories": len(stories),
            "complete": len(file.complete),
            "malformed_lines": len(file.problems),
            "duplicates": duplicates(stories),
            "frequent_norms": frequent_norms(stories),
            "topics": found,
            "paper_topics": paper_topics() if topics else {},
            "official_parts": _official(file),
        },
        warnings=source_warnings(file),
    )


def source_warnings(file: StoryFile) -> list[str]:
    """Say what a reader of any figure about these stories must know of their source."""
    found = [f"left out: {problem}" for problem in file.problems[:5]]
    if len(file.problems) > len(found):
        found.append(f"left out: {len(file.problems) - len(found):,} more malformed lines")
    complete, total = len(file.complete), len(file.stories)
    if complete < total:
        found.append(
            f"{complete:,} of {total:,} stories have all seven sentences; figures about a "
            "sentence are over the stories that have it"
        )
    return found


def _official(file: StoryFile) -> list[dict[str, Any]]:
    """Count the membership that the data gives."""
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        for split in SPLITS:
            counts = Counter(story.official(kind, split) for story in file.stories)
            if set(counts) - {None}:
                parts = {part: counts[part] for part in PARTS}
                rows.append({"kind": kind, "split": split, **parts, "unknown": counts[None]})
    return rows
