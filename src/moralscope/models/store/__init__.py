"""The model store: real weights on this machine, every file pinned by its checksum.

Knows where models come from and whether their files are the right ones; loads none of them.
What it knows is data, in ``models.toml``; data sets that users bring have cards in ``data.toml``.
"""

from moralscope.models.store._entries import (
    Carrier,
    ModelEntry,
    PinnedFile,
    Progress,
    load_entries,
    sha256_of,
)
from moralscope.models.store._store import Store, home_folder, shipped_folder
from moralscope.models.store.data_cards import data_file

__all__ = [
    "Carrier",
    "ModelEntry",
    "PinnedFile",
    "Progress",
    "Store",
    "data_file",
    "home_folder",
    "load_entries",
    "sha256_of",
    "shipped_folder",
]
