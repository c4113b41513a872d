"""What the server did, counted in this process and written as Prometheus reads it.

Routes, statuses and models are counted; no text, no token and no address of anybody ever is. Each
application has a registry of its own, so that two in one process do not count for each other.
"""

import time
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moralscope.models.batching import BatchCounts
from moralscope.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
ModelCounts = Mapping[tuple[str, str], BatchCounts]  # by kind and name of a model
# Else every series comes twice, once with the time it began.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Counts of requests by route and status, how long they took, and what models did.

    `waiting` and `counts` are asked at every reading: others keep these figures.

    Examples
    --------
    >>> metrics = Metrics(lambda: 0, dict)
    >>> metrics.count("/v1/score", 200, 0.02)
    >>> 'moralscope_requests_total{route="/v1/score",status="200"} 1' in metrics.text()
    True
    """

    def __init__(self, waiting: Callable[[], int], counts: Callable[[], ModelCounts]) -> None:
        self.answered = 0
        self.started = 0  # touched by the event loop only, as is `answered`
        self._registry = CollectorRegistry()
        Info("moralscope", "Version.", registry=self._registry).info({"version": __version__})
        self._requests = Counter(
            "moralscope_requests",
            "Requests answered.",
            ["route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "moralscope_request_seconds",
            "Seconds from the first byte read to the last byte handed over.",
            ["route"],
            buckets=_BOUNDS,
            registry=self._registry,
        )
        self.refused = Counter(
            "moralscope_requests_refused",
            "Requests refused because too many were waiting.",
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        self._registry.register(_ModelCollector(waiting, counts))

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self.answered += 1
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> str:
        """Return everything in Prometheus' text form."""
        return generate_latest(self._registry).decode()


class _ModelCollector(Collector):
    """Figures that the batchers keep already, read when Prometheus asks."""

    def __init__(self, waiting: Callable[[], int], counts: Callable[[], ModelCounts]) -> None:
        self._waiting, self._counts = waiting, counts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now."""
        yield GaugeMetricFamily(
            "moralscope_requests_waiting",
            "Requests accepted and not yet done.",
            value=self._waiting(),
        )
        labels = ["kind", "model"]
        batches = CounterMetricFamily(
            "moralscope_batches", "Batches that a model computed.", labels=labels
        )
        items = CounterMetricFamily(
            "moralscope_batch_items", "Texts, pairs or prompts in them.", labels=labels
        )
        queued = GaugeMetricFamily(
            "moralscope_items_waiting",
            "Texts, pairs or prompts that wait for a model.",
            labels=labels,
        )
        for key, counts in self._counts().items():
            batches.add_metric(key, counts.batches)
            items.add_metric(key, counts.items)
            queued.add_metric(key, counts.waiting)
        yield from (batches, items, queued)


class RequestCounter:
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
                route = scope.get("route")  # a path that somebody made up is no label
                name = route.path if isinstance(route, Route) else "other"
                self._metrics.count(name, status, time.monotonic() - started)
