"""moralscope measures, explains and steers the moral values that text models carry.

The public names are loaded when they are first used, so that importing costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from moralscope.version import __version__

if TYPE_CHECKING:
    from moralscope.engine.encoders import load_encoder
    from moralscope.engine.store import Store
    from moralscope.jobs.rank import rank
    from moralscope.jobs.records import write_record
    from moralscope.jobs.reproduce import reproduce_choice
    from moralscope.jobs.score import score

_HOMES = {
    "Store": "moralscope.engine.store",
    "load_encoder": "moralscope.engine.encoders",
    "rank": "moralscope.jobs.rank",
    "reproduce_choice": "moralscope.jobs.reproduce",
    "score": "moralscope.jobs.score",
    "write_record": "moralscope.jobs.records",
}

__all__ = [
    "Store",
    "__version__",
    "load_encoder",
    "rank",
    "reproduce_choice",
    "score",
    "write_record",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'moralscope' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
