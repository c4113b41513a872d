"""Takes named members out of checked archives and joins them into pinned files.

No member's own path is ever used for writing, sizes are bounded, checksums decide.
"""

import contextlib
import hashlib
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from moralscope.core.errors import ChecksumMismatch
from moralscope.models.store._entries import ModelEntry, PinnedFile
from moralscope.models.store._files import Progress

CHUNK = 1 << 20
Archive = zipfile.ZipFile | tarfile.TarFile


def unpack(entry: ModelEntry, archives: Sequence[Path], work: Path, progress: Progress) -> Path:
    """Make every file of `entry` in ``work/ready`` and return that folder."""
    ready = work / "ready"
    with ExitStack() as stack:
        opened = [_open(archive, stack) for archive in archives]
        if entry.joined_zip:
            whole = work / "joined.zip"
            step = _counter(progress, f"joining {entry.name}", entry.joined_zip.size)
            _build(whole, entry.joined_zip, _read(opened, entry.joined_zip.parts), step)
            opened = [_open(whole, stack)]
        step = _counter(progress, f"unpacking {entry.name}", entry.size)
        for file in entry.files:
            target = ready / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            _build(target, file, _read(opened, entry.members(file)), step)
    return ready


def _open(path: Path, stack: ExitStack) -> Archive:
    if zipfile.is_zipfile(path):
        return stack.enter_context(zipfile.ZipFile(path))
    return stack.enter_context(tarfile.open(path))


def _read(archives: Sequence[Archive], members: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of `members`, one after the other, in chunks."""
    for member in members:
        with _find(archives, member) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk


def _find(archives: Sequence[Archive], member: str) -> IO[bytes]:
    for archive in archives:
        with contextlib.suppress(KeyError):
            if isinstance(archive, zipfile.ZipFile):
                return archive.open(member)
            if archive.getmember(member).isfile() and (stream := archive.extractfile(member)):
                return stream
    raise _not_as_pinned(member)


def _build(
    target: Path, file: PinnedFile, content: Iterator[bytes], step: Callable[[int], None]
) -> None:
    digest = hashlib.sha256()
    left = file.size
    with target.open("xb") as sink:
        for chunk in content:
            left -= len(chunk)
            if left < 0:
                break
            digest.update(chunk)
            sink.write(chunk)
            step(len(chunk))
    if left or digest.hexdigest() != file.sha256:
        raise _not_as_pinned(file.path)


def _counter(progress: Progress, label: str, total: int) -> Callable[[int], None]:
    done = 0

    def step(size: int) -> None:
        nonlocal done
        done += size
        progress(label, done, total)

    return step


def _not_as_pinned(what: str) -> ChecksumMismatch:
    problem = f"{what} came out of its archive with another content than the pinned one"
    return ChecksumMismatch(problem, "nothing was kept; upgrade moralscope or report this")
