"""Stories for jobs: from a file that is named, or from the user's own copy of Moral Stories."""

from pathlib import Path

from moralscope.core.errors import InputError
from moralscope.models.store import data_file
from moralscope.stories.reading import StoryFile, read_stories

STORIES_FILE = "moral_stories/stories.jsonl"


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
