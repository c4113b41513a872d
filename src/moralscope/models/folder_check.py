"""Whether the files of a model's folder are whole, before a library reads them.

Looks at `modules.json` and at the headers of safetensors files, not at the weights: which tensors
there must be is for whoever loads them.
"""

import json
from pathlib import Path
from typing import Any

from moralscope.core.errors import StoreError

_MAX_HEADER = 100_000_000  # bytes, as the library has it
_AGAIN = "copy the folder again, or pull the model again"
_OWN = "sentence_transformers."


def check_modules(folder: Path) -> None:
    """Refuse a `modules.json` that is damaged or names other code than sentence-transformers'.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     _ = Path(name, "modules.json").write_text('[{"type": "os.system", "path": ""}]')
    ...     check_modules(Path(name))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    moralscope.core.errors.StoreError: .../modules.json names the module 'os.system'; ...
    """
    path = folder / "modules.json"
    if not path.exists():
        return
    try:
        modules: Any = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or "it is not JSON"
        raise StoreError(f"{path} is damaged ({why})", _AGAIN) from error
    if not isinstance(modules, list) or not modules:
        raise StoreError(f"{path} is damaged (it lists no modules)", _AGAIN)
    for number, module in enumerate(modules, 1):
        known = module if isinstance(module, dict) else {}
        kind, inner = known.get("type"), known.get("path")
        if not isinstance(kind, str) or not isinstance(inner, str):
            raise StoreError(f"{path} is damaged (module {number} has no type or no path)", _AGAIN)
        if not kind.startswith(_OWN):
            problem = f"{path} names the module '{kind[:80]}'"
            raise StoreError(problem, "give a folder whose modules are sentence-transformers' own")
        if Path(inner).is_absolute() or ".." in Path(inner).parts:
            raise StoreError(f"{path} names a folder outside of its own", _AGAIN)


def check_safetensors(folder: Path) -> None:
    """Refuse a folder with a safetensors file whose header or length is damaged."""
    for path in sorted(folder.rglob("*.safetensors")):
        try:
            why = _header_problem(path)
        except OSError as error:
            why = error.strerror or "it cannot be read"
        if why:
            raise StoreError(f"{path} is damaged ({why})", _AGAIN)


def _header_problem(path: Path) -> str:
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= min(_MAX_HEADER, size - 8):
            return "it does not begin as safetensors do"
        try:
            header = json.loads(stream.read(length))
            ends = [row["data_offsets"][1] for name, row in header.items() if name[:2] != "__"]
            end = 8 + length + max(ends, default=0)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            return "its header cannot be read"
    return "" if end == size else f"it has {size:,} bytes, its header says {end:,}"
