"""A model of the user's own choice from the hub, as a local folder. Safetensors only, no code."""

from pathlib import Path

from moralscope.core.errors import StoreError
from moralscope.models.store import Store

NEEDED = ("*.json", "*.txt", "*.model", "*.safetensors")


def is_hub_id(name: str) -> bool:
    """Tell whether `name` has the form owner/name.

    Examples
    --------
    >>> is_hub_id("google-t5/t5-small"), is_hub_id("./model")
    (True, False)
    """
    return name.count("/") == 1 and not name.startswith((".", "/", "~"))


def hub_folder(name: str, store: Store, instead: str) -> Path:
    """Fetch the files of a hub id and return their folder; `instead` is what a user can do else."""
    if not store.hub_allowed:
        raise StoreError(
            f"'{name}' is a hub id and the hub is switched off",
            "unset MORALSCOPE_OFFLINE, MORALSCOPE_HUB and HF_HUB_OFFLINE, or give a local folder",
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=list(NEEDED)))
    except Exception as error:  # the hub client raises many kinds; each means the same to a user
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise StoreError(
            f"'{name}' could not be fetched from the hub ({reason})",
            f"check the id and the network, or {instead}",
        ) from error
