"""Runs a download client and watches how much it has written. Does not judge what it wrote."""

import errno
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from moralscope.core.errors import without_passwords

POLL_SECONDS = 0.2


class FetchError(Exception):
    """The client could not be run or did not succeed; the text is one line of its own words."""


def run_child(command: Sequence[str], work: Path, watch: Callable[[int], None]) -> Path:
    """Run `command` inside `work` and return the folder it ran in.

    Temporary files and client caches are kept inside `work` too, so that `watch` can be told
    the bytes written so far, several times a second. An interrupt kills the client.
    """
    out, temporary = work / "out", work / "tmp"
    out.mkdir()
    temporary.mkdir()
    places = dict.fromkeys(("TMPDIR", "TMP", "TEMP", "npm_config_cache"), str(temporary))
    with subprocess.Popen(
        command,
        cwd=out,
        env={**os.environ, **places},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as child:
        try:
            output = _wait(child, lambda: watch(_tree_size(work)))
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        if "No space left on device" in output or "ENOSPC" in output:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise FetchError(_last_error(output) or f"{command[0]} ended with {child.returncode}")
    return out


def _wait(child: subprocess.Popen[str], tick: Callable[[], None]) -> str:
    while True:
        try:
            return child.communicate(timeout=POLL_SECONDS)[0]
        except subprocess.TimeoutExpired:
            tick()


def _tree_size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:  # the client moved it meanwhile
                continue
    return total


def _last_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    codes = [line for line in lines if line.startswith("npm error code")]  # advice follows it
    errors = [line for line in lines if "error" in line.lower()]
    line = (codes or errors or lines or [""])[-1]
    said = "".join(filter(str.isprintable, line)).removeprefix("ERROR: ")
    return without_passwords(said)[:300]
