"""The model store: real weights on this machine, every file pinned by its checksum.

Knows where models come from and whether their files are the right ones; loads none of them.
What it knows is data, in ``models.toml``.
"""

from moralscope.engine.store._catalogue import load_entries
from moralscope.engine.store._entries import Carrier, ModelEntry, PinnedFile
from moralscope.engine.store._files import sha256_of
from moralscope.engine.store._progress import Progress
from moralscope.engine.store._settings import home_folder
from moralscope.engine.store._store import Store

__all__ = [
    "Carrier",
    "ModelEntry",
    "PinnedFile",
    "Progress",
    "Store",
    "home_folder",
    "load_entries",
    "sha256_of",
]
