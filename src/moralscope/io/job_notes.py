"""What commands are doing, noted in a folder of small files, so that the local page can tell.

A note names the command, how far it is and where its record goes: no text of anybody. Its process
writes it, at most twice a second; a note whose process is gone is told as ended. A command that was
quick and saved nothing leaves none.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_KEPT = 50  # notes of commands that ended
_PAUSE = 0.5  # seconds between two writings
_QUICK = 1.0  # seconds of work that nobody needs to hear of
_MAX_BYTES = 20_000


class JobNote:
    """The note of one command, in this process."""

    def __init__(self, folder: Path, what: str) -> None:
        self._path = folder / f"{int(time.time() * 1000)}-{secrets.token_hex(4)}.json"
        self._written = 0.0
        self._told: dict[str, Any] = {
            "kind": what,
            "title": what,
            "state": "running",
            "began": time.time(),
            "ended": None,
            "pid": os.getpid(),
            "done": 0,
            "total": 0,
            "out": "",
        }

    def update(self, *, force: bool = False, **more: Any) -> None:
        """Write what changed, unless it was written a moment ago; a full disk stops no work."""
        self._told |= more
        now = time.monotonic()
        if not force and now - self._written < _PAUSE:
            return
        self._written = now
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            half = self._path.with_suffix(".half")
            half.write_text(json.dumps(self._told), "utf-8")
            half.replace(self._path)

    def end(self, state: str) -> None:
        """Note how it ended; what was quick is forgotten until its record is saved."""
        self.update(state=state, ended=time.time(), force=True)
        if self._told["ended"] - self._told["began"] < _QUICK:
            with contextlib.suppress(OSError):
                self._path.unlink()


@contextlib.contextmanager
def job_note(folder: Path, what: str) -> Iterator[JobNote]:
    """Note a command while it works, and how it ended.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with job_note(Path(folder), "scoring") as note:
    ...         note.update(done=1, total=2, force=True)
    ...         before = list_notes(Path(folder))[0]["state"]
    ...     note.update(out="run.json", force=True)
    ...     before, list_notes(Path(folder))[0]["state"]
    ('running', 'done')
    """
    with contextlib.suppress(OSError):
        for old in sorted(folder.glob("*.json"))[:-_KEPT]:
            old.unlink(missing_ok=True)
    note = JobNote(folder, what)
    note.update(force=True)
    state = "failed"
    try:
        yield note
        state = "done"
    except KeyboardInterrupt:
        state = "cancelled"
        raise
    finally:
        note.end(state)


def list_notes(folder: Path) -> list[dict[str, Any]]:
    """Return all notes, the newest first; one of a process that is gone has the state "ended"."""
    found = []
    paths = sorted(folder.glob("*.json"), reverse=True) if folder.is_dir() else []
    for path in paths[:_KEPT]:
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            if path.stat().st_size > _MAX_BYTES:
                continue
            told = json.loads(path.read_text("utf-8"))
            line = {key: told[key] for key in ("kind", "title", "state", "began", "ended", "out")}
            line |= {key: int(told[key]) for key in ("done", "total")}
            if line["state"] == "running" and not _is_alive(int(told["pid"])):
                line["state"] = "ended"
            found.append({**line, "id": path.stem, "from": "command line", "left": _left(line)})
    return found


def _left(line: dict[str, Any]) -> float | None:
    if line["state"] != "running" or line["done"] <= 0 or line["total"] <= 0:
        return None
    return float((time.time() - line["began"]) / line["done"] * (line["total"] - line["done"]))


def _is_alive(pid: int) -> bool:
    if os.name == "nt":  # signal 0 would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
