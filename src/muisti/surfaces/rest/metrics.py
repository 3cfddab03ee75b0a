"""Prometheus metrics (contract I4)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from itertools import accumulate
from weakref import WeakKeyDictionary

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
"""Seconds for which the vault's size is cached: measuring it walks all files."""
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


class MetricsRegistry:
    """The latencies of this server's requests, and the counters of its vault."""

    def __init__(self) -> None:
        self._requests = CollectorRegistry(auto_describe=False)
        self.latency = Histogram(
            "muisti_http_request_seconds",
            "Duration of HTTP requests.",
            ("method", "route", "status"),
            buckets=BOUNDS,
            registry=self._requests,
        )
        self._sizes: WeakKeyDictionary[Muisti, tuple[float, int]] = WeakKeyDictionary()

    def render(self, memory: Muisti, *, requests: bool = True) -> bytes:
        """Return the current values in Prometheus' text format.

        Requests: also the latencies of the server, which are those of all its vaults.
        """
        measured_at, size = self._sizes.get(memory, (-math.inf, 0))
        if time.monotonic() - measured_at > SIZE_MAX_AGE:
            size = memory.disk_usage()
            self._sizes[memory] = (time.monotonic(), size)
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_VaultCollector(memory, size))
        text = generate_latest(registry)
        return text + generate_latest(self._requests) if requests else text


class _VaultCollector:
    """The counters of an open vault as Prometheus metric families."""

    def __init__(self, memory: Muisti, size: int) -> None:
        self._memory = memory
        self._vault_size = size

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        metrics, stats = self._memory.metrics(), self._memory.get_stats()
        for name, count in metrics.counters.items():
            help_text = f"{name} since the server started."
            yield CounterMetricFamily(name.replace(".", "_"), help_text, value=count)
        durations = HistogramMetricFamily(
            "muisti_operation_seconds", "Duration of operations.", labels=["operation"]
        )
        for name, histogram in metrics.latencies.items():
            bounds = [*(str(bound) for bound in histogram.bounds), "+Inf"]
            buckets = list(zip(bounds, accumulate(histogram.counts), strict=True))
            durations.add_metric([name], buckets, histogram.seconds)
        yield durations
        queued = self._memory.queue_status().waiting
        gauges = {
            "muisti_memories": ("Memories in the vault.", stats.total_count),
            "muisti_trash_memories": ("Memories in the trash.", stats.deleted_count),
            "muisti_sessions": ("Sessions.", stats.session_count),
            "muisti_vectors_waiting": ("Memories not embedded yet.", stats.waiting_count),
            "muisti_extraction_waiting": ("Exchanges queued for extraction.", queued),
            "muisti_broken_files": ("Files that cannot be read.", len(stats.problems)),
            "muisti_index_bytes": ("Size of the index.", stats.index_size_bytes),
            "muisti_vault_bytes": ("Size of the vault without its index.", self._vault_size),
        }
        if stats.database is not None:
            gauges |= {
                "muisti_database_primary": ("1 on a primary.", int(stats.database.is_primary)),
                "muisti_database_lag_bytes": (
                    "What the slowest replica has not applied yet.",
                    stats.database.lag_bytes or 0,
                ),
                "muisti_database_connections": (
                    "Open connections of this server.",
                    stats.database.connections,
                ),
                "muisti_database_waiting_requests": (
                    "Calls that wait for a connection.",
                    stats.database.waiting_requests,
                ),
            }
        for name, (help_text, value) in gauges.items():
            yield GaugeMetricFamily(name, help_text, value=value)


class TimingMiddleware:
    """Measures each request, by its route: paths contain IDs and would be too many."""

    def __init__(self, app: ASGIApp, metrics: MetricsRegistry) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def record_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, record_status)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in METHODS else "other"
            latency = self._metrics.latency.labels(method, route, str(status))
            latency.observe(time.perf_counter() - started)
