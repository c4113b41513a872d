"""Starting a server: where it listens, under which name, how it ends.

Loopback unless a host is named; a named host needs a secret of its own. The port is bound before
anything is announced, and a signal lets running requests finish.
"""

import asyncio
import contextlib
import ipaddress
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from moralscope.core.errors import InputError, without_passwords
from moralscope.models.store import home_folder

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from moralscope.server.connections import ConnectionLimits

LOOPBACK = "127.0.0.1"
_GRACE = 10  # seconds that running requests have to finish
_LOG_BYTES = 1_000_000  # of the log file, before it is put aside for a new one
_log = logging.getLogger("moralscope.server")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server listens and what browsers call it."""

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
        public = [urlsplit(self.public_url).hostname or ""] if self.public_url else []
        any_address = self.host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
        host = [] if any_address else [self.host]
        local = ["localhost", LOOPBACK, "::1", "[::1]"]
        if any_address and not public:
            return ["*"]
        return [*public, *host, *local]

    def url(self, bound: socket.socket) -> str:
        """Return what people open, once the port is bound."""
        if self.public_url:
            return self.public_url.rstrip("/")
        every = self.host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
        name = socket.gethostname() if every else self.host
        host = f"[{name}]" if ":" in name else name
        return f"http://{host}:{bound.getsockname()[1]}"

    def check(self, *, has_secret: bool) -> None:
        """Refuse an address that would be open by accident."""
        parts = urlsplit(self.public_url)
        if self.public_url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise InputError(
                f"'{self.public_url[:80]}' is not a URL", "write https://name.example.org"
            )
        if not self.is_loopback and not has_secret:
            raise InputError(
                f"{self.host} is open to other machines and there is no token secret",
                "set MORALSCOPE_TOKEN_SECRET to 32 or more random characters, or leave --host out",
            )


def bind(address: ServerAddress) -> socket.socket:
    """Return the bound socket of an address; a port in use is refused in one line."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((address.host, address.port))
        bound.listen(128)  # who comes before the server is ready waits
    except (OSError, OverflowError) as error:
        bound.close()
        why = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"cannot listen on {address.host}:{address.port} ({why})",
            "choose another --port (0 takes any free one)",
        ) from None
    return bound


def ending_text(name: str, running: int, grace: float) -> str:
    """Say what happens now that a signal asks the server to end.

    Examples
    --------
    >>> ending_text("SIGTERM", 2, 10)
    'SIGTERM: no new connections; 2 running requests have 10 s to finish, a second signal ends them'
    >>> ending_text("SIGINT", 0, 10)
    'SIGINT: no new connections, and no request is running'
    """
    if not running:
        return f"{name}: no new connections, and no request is running"
    are = "request has" if running == 1 else "requests have"
    return (
        f"{name}: no new connections; {running} running {are} {grace:g} s to finish, "
        "a second signal ends them"
    )


@contextlib.contextmanager
def log_file(folder: Path) -> Iterator[None]:
    """Write errors with their tracebacks into `server.log`, which only its owner can read."""
    path = folder / "server.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler: logging.Handler = _PrivateFile(path, maxBytes=_LOG_BYTES, backupCount=1)
    except OSError as error:
        _log.warning("errors are not logged: %s cannot be written (%s)", path, error.strerror)
        handler = logging.NullHandler()
    handler.setLevel(logging.ERROR)
    handler.setFormatter(_Traceback("%(asctime)s %(message)s"))
    loggers = [_log, logging.getLogger("uvicorn.error")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()


class _PrivateFile(RotatingFileHandler):
    """A log file that only its owner can read, each new one too."""

    def _open(self) -> TextIOWrapper:
        made = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(made, "a", encoding="utf-8", errors="backslashreplace")


class _Traceback(logging.Formatter):
    """A record with its traceback; what libraries say in it may hold a URL's password."""

    def format(self, record: logging.LogRecord) -> str:
        return without_passwords(super().format(record))


def run(
    app: "ASGIApp",
    address: ServerAddress,
    announce: Callable[[str], None],
    grace: float = _GRACE,
    limits: "ConnectionLimits | None" = None,
) -> None:
    """Serve until a signal comes; `announce` is told the address once the port is ours.

    Running requests then have `grace` seconds to finish; a second signal ends at once. Faults of
    ours go into the log file with their tracebacks.
    """
    import uvicorn

    from moralscope.server.connections import ConnectionLimits, bounded_protocol

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            if self.should_exit:
                self.force_exit = True
                # From Python 3.12.1 on, uvicorn waits here for every open connection.
                asyncio.get_running_loop().call_soon_threadsafe(self.drop_connections)
            else:
                running = len(self.server_state.tasks)
                _log.info(ending_text(signal.Signals(sig).name, running, grace))
            super().handle_exit(sig, frame)

        def drop_connections(self) -> None:
            for connection in list(self.server_state.connections):
                connection.transport.abort()

    bound = bind(address)
    announce(address.url(bound))
    config = uvicorn.Config(
        app,
        http=bounded_protocol(limits or ConnectionLimits()),
        log_level="warning",
        access_log=False,  # addresses may carry what people search for
        server_header=False,
        proxy_headers=bool(address.public_url),
        forwarded_allow_ips=["127.0.0.1", "::1"],
        timeout_graceful_shutdown=int(grace),
        timeout_keep_alive=30,
        limit_concurrency=1000,
        h11_max_incomplete_event_size=64 * 1024,
    )
    # uvicorn raises the signal again when it has ended; to be asked to end is no failure.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt), log_file(home_folder() / "logs"):
            Server(config).run(sockets=[bound])
    finally:
        signal.signal(signal.SIGTERM, before)
        bound.close()
