"""Who may ask: everybody on this machine, or whoever has the server's token.

A token is compared in constant time and never written anywhere. A browser's page of another site
may not ask in its visitor's name.
"""

import hmac
import os
from dataclasses import dataclass, field
from pathlib import Path

from starlette.requests import Request

from moralscope.core.errors import InputError
from moralscope.server.errors import Refused
from moralscope.server.running import Place
from moralscope.server.security import SAFE_METHODS, is_same_origin

HEADER = "X-Moralscope-Token"
MIN_TOKEN = 16  # characters
_MAX_FILE = 4096
_BEARER = "bearer "


class Unknown(Refused):
    """Who asks has not shown the token."""

    def __init__(self) -> None:
        remedy = f"send it as 'Authorization: Bearer TOKEN' or '{HEADER}: TOKEN'"
        super().__init__(401, "this server wants its token", remedy)


@dataclass(frozen=True, slots=True)
class Token:
    """A secret that shows itself to nobody.

    Examples
    --------
    >>> Token("0123456789abcdef")
    Token()
    >>> Token("0123456789abcdef").fits("0123456789abcdef")
    True
    """

    value: str = field(repr=False)

    def fits(self, given: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.value.encode())


def read_token(source: str | None, what: str = "--token-from") -> Token | None:
    """Read a token from `env:NAME` or from the first line of a file.

    Examples
    --------
    >>> read_token(None) is None
    True
    """
    if source is None:
        return None
    if source.startswith("env:"):
        name = source.removeprefix("env:")
        value = os.environ.get(name, "")
        if not value:
            raise InputError(f"{what}: the variable {name} is not set", "set it to the token")
    else:
        value = _first_line(Path(source).expanduser(), what)
    value = value.strip()
    if not (value.isascii() and value.isprintable()) or " " in value or len(value) < MIN_TOKEN:
        raise InputError(
            f"{what}: the token is too short or holds characters that no token has",
            f"use {MIN_TOKEN} or more letters and digits, e.g. of 'openssl rand -hex 24'",
        )
    return Token(value)


def _first_line(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE)
    except OSError as error:
        raise InputError(
            f"{what}: {path} cannot be read ({error.strerror})", "give a file, or env:NAME"
        ) from None
    return (data.decode("ascii", "replace").splitlines() or [""])[0]


def check_place(place: Place, token: Token | None) -> None:
    """Refuse a place that would be open to others without a token."""
    if not place.is_loopback and token is None:
        raise InputError(
            f"{place.host} is open to other machines and there is no token",
            "give --token-from env:NAME or a file, or leave --host out",
        )
    place.check(has_secret=True)


def bearer(request: Request) -> str:
    """Return the token of the Authorization header, or nothing."""
    given = request.headers.get("authorization", "")
    return given[len(_BEARER) :].strip() if given.lower().startswith(_BEARER) else ""


def allowed(request: Request) -> None:
    """Refuse who may not ask; a dependency of every route but health."""
    token: Token | None = request.app.state.token
    if token is not None and not (
        token.fits(bearer(request)) or token.fits(request.headers.get(HEADER, ""))
    ):
        raise Unknown()
    if request.method not in SAFE_METHODS and not is_same_origin(request):
        raise Refused(403, "a page of another site asked", "ask from a program, or from our page")
