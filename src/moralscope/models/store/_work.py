"""Work folders: one for each attempt, gone when it ends. What a crash leaves is swept later."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "work-"


@contextmanager
def work_folder(staging: Path) -> Iterator[Path]:
    """Make a folder of its own in `staging` and remove it whatever happens."""
    work = Path(tempfile.mkdtemp(prefix=PREFIX, dir=staging))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def sweep(staging: Path) -> None:
    """Remove the work folders that a killed process left in `staging`."""
    for stale in staging.glob(f"{PREFIX}*"):
        shutil.rmtree(stale, ignore_errors=True)
