"""The model store as jobs: list, pull, verify, where."""

from collections.abc import Sequence
from dataclasses import dataclass

from moralscope.core.errors import ChecksumMismatch, InputError, StoreError
from moralscope.core.records import values_of
from moralscope.models.store import Progress, Store


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One entry of the store and what is known of it on this machine."""

    name: str
    kind: str
    about: str
    official: str
    revision: str
    licence: str
    megabytes: float
    state: str
    folder: str


def list_models() -> list[ModelStatus]:
    """Return every entry of the store, present or not."""
    store = Store()
    return [_status(store, entry.name) for entry in store.entries()]


def pull_models(
    names: Sequence[str],
    *,
    accept_licence: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> list[ModelStatus]:
    """Fetch and verify models by name; unknown names are refused before anything is fetched."""
    store = Store()
    if not names:
        raise InputError("no model was named", "name one of 'moralscope models list'")
    for name in names:
        store.entry(name)
    for name in names:
        store.pull(name, accept_licence=accept_licence, force=force, progress=progress)
    return [_status(store, name) for name in names]


def verify_models(names: Sequence[str]) -> list[ModelStatus]:
    """Check every file of the named models (all that are present, if none is named).

    All are checked before the first damaged or missing one is raised.
    """
    store = Store()
    chosen = list(names) or [e.name for e in store.entries() if store.folder(e.name).exists()]
    if not chosen:
        raise StoreError(
            f"no models are in {store.home}", "fetch one with 'moralscope models pull minilm'"
        )
    problems: list[StoreError] = []
    statuses = []
    for name in chosen:
        store.entry(name)
        try:
            store.verify(name)
            statuses.append(_status(store, name, "verified"))
        except StoreError as error:
            problems.append(error)
    if problems:
        damaged = [error for error in problems if isinstance(error, ChecksumMismatch)]
        raise (damaged or problems)[0]
    return statuses


def where_models(name: str | None = None) -> str:
    """Return the folder of a model, or of the whole store."""
    store = Store()
    return str(store.home if name is None else store.folder(store.entry(name).name))


def _status(store: Store, name: str, state: str | None = None) -> ModelStatus:
    entry = store.entry(name)
    return ModelStatus(
        **values_of(entry, "name", "kind", "about", "official", "revision", "licence"),
        megabytes=round(entry.size / 1e6, 1),
        state=state or ("present" if store.is_present(name) else "absent"),
        folder=str(store.folder(name)),
    )
