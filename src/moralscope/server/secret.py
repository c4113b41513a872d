"""The secret that signs a server's cookies: named by the owner, or made once per project."""

import os
import secrets
from pathlib import Path

from moralscope.core.errors import InputError

VARIABLE = "MORALSCOPE_TOKEN_SECRET"
FILE = ".session-secret"


def named_secret() -> bytes | None:
    """Return the secret that the owner named in the environment, if there is one."""
    return os.environ.get(VARIABLE, "").encode() or None


def kept_secret(folder: Path) -> bytes:
    """Return the folder's own secret; it is made at the first call, readable by its owner only.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     len(kept_secret(Path(folder))), kept_secret(Path(folder)) == kept_secret(Path(folder))
    (64, True)
    """
    path = folder / FILE
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _read(path)
    except OSError as error:
        raise InputError(f"cannot write {path} ({error.strerror})", "check the folder") from None
    with os.fdopen(made, "wb") as file:
        secret = secrets.token_hex(32).encode()
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    return secret


def _read(path: Path) -> bytes:
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror})", "check its owner") from None
    if len(secret) != 64:
        raise InputError(f"{path} is damaged", "delete it: people then join again by their links")
    return secret
