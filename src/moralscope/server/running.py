"""Starting a server: where it listens, under which name, how it ends.

Loopback unless a host is named; a named host needs a secret of its own. The port is bound before
anything is announced, and a signal lets running requests finish.
"""

import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from moralscope.core.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from starlette.types import ASGIApp

LOOPBACK = "127.0.0.1"
_GRACE = 10  # seconds that running requests have to finish


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens and what browsers call it.

    Examples
    --------
    >>> Place().is_loopback, Place(public_url="https://rate.example.org").names[0]
    (True, 'rate.example.org')
    """

    host: str = LOOPBACK
    port: int = 8765  # 0 takes any free one
    public_url: str = ""  # what people type where a proxy stands before us

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def is_https(self) -> bool:
        """Whether people reach it through HTTPS."""
        return urlsplit(self.public_url).scheme == "https"

    @property
    def names(self) -> list[str]:
        """Names that a request's Host header may carry: anything else is another site's trick."""
        own = [urlsplit(self.public_url).hostname or ""] if self.public_url else []
        any_address = self.host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
        host = [] if any_address else [self.host]
        local = ["localhost", LOOPBACK, "::1", "[::1]"]
        if any_address and not own:
            return ["*"]
        return [*own, *host, *local]

    def check(self, *, has_secret: bool) -> None:
        """Refuse a place that would be open by accident."""
        parts = urlsplit(self.public_url)
        if self.public_url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise InputError(
                f"'{self.public_url[:80]}' is no address", "write https://name.example.org"
            )
        if not self.is_loopback and not has_secret:
            raise InputError(
                f"{self.host} is open to other machines and there is no token secret",
                "set MORALSCOPE_TOKEN_SECRET to 32 or more random characters, or leave --host out",
            )


def check_installed() -> None:
    """Refuse to go on without the libraries that serve; an incomplete installation lacks them."""
    try:
        import fastapi  # noqa: F401
        import jinja2  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"the page needs {error.name}", "pip install --upgrade moralscope"
        ) from None


def bind(place: Place) -> socket.socket:
    """Return the bound socket of a place; a port in use is refused in one line."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((place.host, place.port))
        bound.listen(128)  # who comes before the server is ready waits
    except (OSError, OverflowError) as error:
        bound.close()
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"cannot listen on {place.host}:{place.port} ({why})",
            "choose another --port (0 takes any free one)",
        ) from None
    return bound


def address(place: Place, bound: socket.socket) -> str:
    """Return the address that people open."""
    if place.public_url:
        return place.public_url.rstrip("/")
    every = place.host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
    name = socket.gethostname() if every else place.host
    host = f"[{name}]" if ":" in name else name
    return f"http://{host}:{bound.getsockname()[1]}"


def run(
    app: "ASGIApp", place: Place, announce: Callable[[str], None], grace: float = _GRACE
) -> None:
    """Serve until a signal comes; `announce` is told the address once the port is ours.

    Running requests then have `grace` seconds to finish.
    """
    import uvicorn

    bound = bind(place)
    announce(address(place, bound))
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,  # addresses may carry what people search for
        server_header=False,
        proxy_headers=bool(place.public_url),
        forwarded_allow_ips=["127.0.0.1", "::1"],
        timeout_graceful_shutdown=int(grace),
        timeout_keep_alive=30,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 * 1024,
    )
    # uvicorn raises the signal again when it has ended; to be asked to end is no failure.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[bound])
    finally:
        signal.signal(signal.SIGTERM, before)
        bound.close()
