"""Weights that ship in the package: adapters and heads, each in a folder with its card."""

from importlib import resources
from pathlib import Path

from moralscope.core.errors import StoreError


def shipped_folder(name: str) -> Path:
    """Return the folder of shipped weights.

    Raises
    ------
    StoreError
        When this installation lacks them.
    """
    folder = Path(str(resources.files("moralscope"))) / "weights" / name
    if not folder.is_dir():
        raise StoreError(
            f"the shipped weights '{name}' are not in this installation",
            "install moralscope again, or give a folder of your own",
        )
    return folder
