"""One pull: hub, else carrier; staged, checked, then put in place in one move.

The caller decided that a pull is needed; here nothing looks at what the store already holds.
"""

import os
import shutil
from pathlib import Path

from moralscope.models.store._carrier import fetch_archives
from moralscope.models.store._entries import ModelEntry
from moralscope.models.store._hub import fetch_from_hub
from moralscope.models.store._progress import Progress
from moralscope.models.store._unpack import unpack
from moralscope.models.store._work import sweep, work_folder


def pull_files(
    entry: ModelEntry, staging: Path, target: Path, *, hub: bool, progress: Progress
) -> None:
    """Fetch and check every file of `entry`, then make them the folder `target`.

    `staging` belongs to this pull alone (the caller holds its lock) and is on the disk of
    `target`. Killed at any moment, `target` is what it was or absent, never half of it.
    """
    staging.mkdir(parents=True, exist_ok=True)
    sweep(staging)
    if not (hub and entry.hub and _from_hub(entry, staging, target, progress)):
        archives = fetch_archives(entry, staging, progress)
        with work_folder(staging) as work:
            _put_in_place(unpack(entry, archives, work, progress), target, work)
    shutil.rmtree(staging, ignore_errors=True)


def _from_hub(entry: ModelEntry, staging: Path, target: Path, progress: Progress) -> bool:
    with work_folder(staging) as work:
        ready = fetch_from_hub(entry, work, progress)
        if ready:
            _put_in_place(ready, target, work)
        return ready is not None


def _put_in_place(ready: Path, target: Path, work: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(target):
        os.replace(target, work / "replaced")
    os.replace(ready, target)
