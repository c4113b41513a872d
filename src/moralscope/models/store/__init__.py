"""The model store: real weights on this machine, every file pinned by its checksum.

Knows where models come from and whether their files are the right ones; loads none of them.
What it knows is data, in ``models.toml``; data sets that users bring have cards in ``data.toml``.
"""

from moralscope.models.store._catalogue import load_entries
from moralscope.models.store._data import DataCard, data_card, load_data_cards
from moralscope.models.store._entries import Carrier, ModelEntry, PinnedFile
from moralscope.models.store._files import sha256_of
from moralscope.models.store._progress import Progress
from moralscope.models.store._settings import home_folder
from moralscope.models.store._store import Store

__all__ = [
    "Carrier",
    "DataCard",
    "ModelEntry",
    "PinnedFile",
    "Progress",
    "Store",
    "data_card",
    "home_folder",
    "load_data_cards",
    "load_entries",
    "sha256_of",
]
