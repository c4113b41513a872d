"""Third-party data the user brings: found through MORALSCOPE_DATA, never shipped, never fetched."""

import os
from pathlib import Path


def data_file(relative: str) -> Path | None:
    """Return the file below MORALSCOPE_DATA, or None when it is not there."""
    root = os.environ.get("MORALSCOPE_DATA")
    path = Path(root) / relative if root else None
    return path if path and path.is_file() else None
