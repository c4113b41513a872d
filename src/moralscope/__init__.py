"""moralscope measures, explains and steers the moral values that text models carry.

The public names are loaded when they are first used, so that importing costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from moralscope.version import __version__

if TYPE_CHECKING:
    from moralscope.engine.encoders import load_encoder
    from moralscope.engine.store import Store
    from moralscope.jobs.compare import compare
    from moralscope.jobs.edit import edit, edited_encoder, load_edited
    from moralscope.jobs.rank import rank
    from moralscope.jobs.records import write_record
    from moralscope.jobs.reproduce import reproduce_choice
    from moralscope.jobs.reproduce_direction import reproduce_direction
    from moralscope.jobs.score import score
    from moralscope.jobs.teach import teach

_HOMES = {
    "Store": "moralscope.engine.store",
    "compare": "moralscope.jobs.compare",
    "edit": "moralscope.jobs.edit",
    "edited_encoder": "moralscope.jobs.edit",
    "load_edited": "moralscope.jobs.edit",
    "load_encoder": "moralscope.engine.encoders",
    "rank": "moralscope.jobs.rank",
    "reproduce_choice": "moralscope.jobs.reproduce",
    "reproduce_direction": "moralscope.jobs.reproduce_direction",
    "score": "moralscope.jobs.score",
    "teach": "moralscope.jobs.teach",
    "write_record": "moralscope.jobs.records",
}

__all__ = [
    "Store",
    "__version__",
    "compare",
    "edit",
    "edited_encoder",
    "load_edited",
    "load_encoder",
    "rank",
    "reproduce_choice",
    "reproduce_direction",
    "score",
    "teach",
    "write_record",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'moralscope' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
