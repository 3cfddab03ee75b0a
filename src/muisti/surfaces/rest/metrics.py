"""What happens, in numbers, for Prometheus (contract I4)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from muisti.engine import Muisti
from muisti.metrics import BOUNDS

SIZE_MAX_AGE = 60.0
"""Seconds for which the size of the vault is not measured again: that is a walk over all files."""


class MetricsRegistry:
    """The requests of this server, and the counters of its memory."""

    def __init__(self) -> None:
        self._requests = CollectorRegistry(auto_describe=False)
        self.latency = Histogram(
            "muisti_http_request_seconds",
            "How long requests took.",
            ("method", "route", "status"),
            buckets=BOUNDS,
            registry=self._requests,
        )
        self._size = (0.0, 0)

    def render(self, memory: Muisti) -> bytes:
        """All of it, as of now."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_VaultCollector(memory, self._vault_size(memory)))
        return generate_latest(registry) + generate_latest(self._requests)

    def _vault_size(self, memory: Muisti) -> int:
        at, size = self._size
        if at == 0.0 or time.monotonic() - at > SIZE_MAX_AGE:
            size = memory.disk_usage()
            self._size = (time.monotonic(), size)
        return size


class _VaultCollector:
    """The counters of an open vault, in the form that Prometheus collects."""

    def __init__(self, memory: Muisti, size: int) -> None:
        self._memory = memory
        self._vault_size = size

    def collect(self) -> Iterator[Metric]:
        """One family after the other."""
        metrics, stats = self._memory.metrics(), self._memory.get_stats()
        for name, count in metrics.counters.items():
            yield CounterMetricFamily(
                name.replace(".", "_"), f"{name} since the server began.", value=count
            )
        took = HistogramMetricFamily(
            "muisti_operation_seconds", "How long the memory's work took.", labels=["operation"]
        )
        for name, histogram in metrics.latencies.items():
            names = [*(str(bound) for bound in histogram.bounds), "+Inf"]
            took.add_metric(
                [name],
                list(zip(names, accumulate(histogram.counts), strict=True)),
                histogram.seconds,
            )
        yield took
        gauges = {
            "muisti_memories": ("Memories in the vault.", stats.total_count),
            "muisti_trash_memories": ("Memories in the trash.", stats.deleted_count),
            "muisti_sessions": ("Sessions.", stats.session_count),
            "muisti_vectors_waiting": (
                "Memories that wait for their vectors.",
                stats.waiting_count,
            ),
            "muisti_extraction_waiting": (
                "Exchanges that wait to be extracted.",
                self._memory.queue_status().waiting,
            ),
            "muisti_broken_files": ("Files that cannot be read.", len(stats.problems)),
            "muisti_index_bytes": ("Size of the index.", stats.index_size_bytes),
            "muisti_vault_bytes": ("Size of the vault without its index.", self._vault_size),
        }
        for name, (told, value) in gauges.items():
            yield GaugeMetricFamily(name, told, value=value)


class TimingMiddleware:
    """How long each request takes, by its route and not by its address: ids would be endless."""

    def __init__(self, app: ASGIApp, metrics: MetricsRegistry) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, seen)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in METHODS else "other"
            self._metrics.latency.labels(method, route, str(status)).observe(
                time.perf_counter() - begun
            )


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
