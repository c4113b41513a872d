"""One thread of arithmetic a process: what its libraries read when they are loaded."""

import contextlib
import os
from collections.abc import Iterator

_NUMBERS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
ONE_THREAD = {
    **dict.fromkeys(_NUMBERS, "1"),
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_ARENA_MAX": "1",  # what one thread gives back, another may use
}


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Set what a process started now will inherit."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
