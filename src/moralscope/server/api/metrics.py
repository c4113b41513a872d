"""What the server did, counted in this process and written as Prometheus reads it.

Routes, statuses and models are counted; no text, no token and no address of anybody ever is.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moralscope.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
Labels = Mapping[str, str]
Sample = tuple[str, Labels, float]  # a name's ending, labels, value


class Metrics:
    """Counts of requests by route and status, and how long they took.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count("/v1/score", 200, 0.02)
    >>> 'moralscope_requests_total{route="/v1/score",status="200"} 1' in metrics.text([])
    True
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._buckets: defaultdict[str, Counter[float]] = defaultdict(Counter)
        self.refused = 0  # because too many were waiting
        self.started = 0  # touched by the event loop only, as is `refused`

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        with self._lock:
            self._requests[route, status] += 1
            self._seconds[route] += seconds
            self._buckets[route].update(bound for bound in _BOUNDS if seconds <= bound)

    def answered(self) -> int:
        """Return how many requests were answered."""
        with self._lock:
            return self._requests.total()

    def cut_off(self) -> int:
        """Return how many requests were begun and not answered, or not yet."""
        return self.started - self.answered()

    def text(self, more: Iterable[str]) -> str:
        """Return everything in Prometheus' text form; `more` are lines about other things."""
        with self._lock:
            requests, seconds = dict(self._requests), dict(self._seconds)
            buckets = {route: Counter(found) for route, found in self._buckets.items()}
        totals: Counter[str] = Counter()
        for (route, _), value in requests.items():
            totals[route] += value
        lines = [
            *family("moralscope_info", "gauge", "Version.", [("", {"version": __version__}, 1)]),
            *family(
                "moralscope_requests_total",
                "counter",
                "Requests answered.",
                [
                    ("", {"route": route, "status": str(status)}, value)
                    for (route, status), value in sorted(requests.items())
                ],
            ),
            *family(
                "moralscope_request_seconds",
                "histogram",
                "Seconds from the first byte read to the last byte handed over.",
                _histogram(totals, buckets, seconds),
            ),
            *family(
                "moralscope_requests_refused_total",
                "counter",
                "Requests refused because too many were waiting.",
                [("", {}, self.refused)],
            ),
            *family(
                "process_resident_memory_bytes", "gauge", "Memory in use.", [("", {}, memory())]
            ),
            *more,
        ]
        return "\n".join(lines) + "\n"


def family(name: str, kind: str, about: str, samples: Iterable[Sample]) -> list[str]:
    """Return the lines of one metric.

    Examples
    --------
    >>> family("a_total", "counter", "How many.", [("", {"model": "minilm"}, 2)])[-1]
    'a_total{model="minilm"} 2'
    """
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for ending, labels, value in samples:
        inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        lines.append(f"{name}{ending}{f'{{{inner}}}' if inner else ''} {value:.10g}")
    return lines


def _histogram(
    totals: Mapping[str, int], buckets: Mapping[str, Counter[float]], seconds: Mapping[str, float]
) -> list[Sample]:
    found: list[Sample] = []
    for route, total in sorted(totals.items()):
        own = {"route": route}
        found += [("_bucket", {**own, "le": f"{b:g}"}, buckets[route][b]) for b in _BOUNDS]
        found.append(("_bucket", {**own, "le": "+Inf"}, total))
        found += [("_sum", own, seconds[route]), ("_count", own, total)]
    return found


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def memory() -> int:
    """Return the bytes of memory that this process holds, or 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * 4096


class Measured:
    """ASGI middleware: count every request by the route that answered it."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count it when its last byte was handed over."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, ended = time.monotonic(), 500, False
        self._metrics.started += 1

        async def watch(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = int(message["status"])
            await send(message)
            ended = message["type"] == "http.response.body" and not message.get("more_body")

        try:
            await self.app(scope, receive, watch)
        finally:
            if ended:
                self._metrics.count(_route(scope), status, time.monotonic() - started)


def _route(scope: Mapping[str, Any]) -> str:
    """Return the route's own path: a path that somebody made up is no label."""
    return str(getattr(scope.get("route"), "path", "") or "other")
