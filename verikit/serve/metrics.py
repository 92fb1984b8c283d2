"""The server's counters, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self.registry: CollectorRegistry = CollectorRegistry()
        self.requests: Counter = Counter(
            "verikit_requests", "Requests, by status code.", ["code"], registry=self.registry
        )
        self.samples: Counter = Counter(
            "verikit_samples", "Samples answered, by score status.", ["status"], registry=self.registry
        )
        self.seconds: Histogram = Histogram(
            "verikit_request_seconds",
            "Seconds from a request's body to its reply.",
            buckets=SECONDS,
            registry=self.registry,
        )
        self.batch: Histogram = Histogram(
            "verikit_batch_samples", "Samples to a batch.", buckets=SIZES, registry=self.registry
        )
        self.restarts: Counter = Counter(
            "verikit_worker_restarts", "Scoring processes started anew.", registry=self.registry
        )

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a value that is computed when it is read."""
        Gauge(name, text, registry=self.registry).set_function(value)
