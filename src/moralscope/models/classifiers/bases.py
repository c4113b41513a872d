"""Names to bases of experts: an encoder of the store, a local folder, or a hub id."""

from pathlib import Path

from moralscope.core.errors import InputError, UnknownName
from moralscope.core.registry import did_you_mean
from moralscope.models.encoders.loading import folder_checksum
from moralscope.models.hub import hub_folder, is_hub_id
from moralscope.models.store import Progress, Store

_STORED = ("minilm", "mpnet")


def resolve_base(
    name: str, store: Store | None = None, progress: Progress | None = None
) -> tuple[Path, str]:
    """Return the folder of a base and the checksum that names its weights."""
    store = store or Store()
    if name in _STORED:
        return store.ensure(name, progress), store.entry(name).sha256
    path = Path(name).expanduser()
    if path.is_dir():
        return path, folder_checksum(path)
    if is_hub_id(name) or name.startswith(("roberta-", "bert-", "albert-")):
        folder = hub_folder(name, store, f"use one of {', '.join(_STORED)}")
        return folder, folder_checksum(folder)
    if "/" in name:
        raise InputError(f"there is no folder {name}", "give a folder with a transformer")
    raise UnknownName(
        f"there is no base '{name}'",
        f"{did_you_mean(name, _STORED)}, or a local folder, or a hub id (owner/name)",
    )
