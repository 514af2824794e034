"""Prometheus metrics, as small typed methods, on a registry of their own."""

from collections.abc import Callable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

ENTRIES = (1, 2, 5, 10, 20, 50, 100, 256)
SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """What this process counts. `serve` answers scrapes on an address."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._answers = Counter(
            "pxnet_claim_answers", "Claims answered or explained, by the reason of their Ready condition.", ["reason"],
            registry=self.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "pxnet_claim_answer_seconds", "From a claim's creation (whole seconds) to its address.", buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self._releases = Counter("pxnet_claim_releases", "Claims released.", registry=self.registry)
        self._leader = Gauge("pxnet_leader", "1 on the replica that leads.", registry=self.registry)
        self._block_writes = Counter(
            "pxnet_block_writes", "Writes of address blocks, by result: written, or the kind of error.",
            ["result"], registry=self.registry,
        )  # fmt: skip
        self._batch = Histogram(
            "pxnet_block_write_entries", "Entries changed by one write of an address block.", buckets=ENTRIES,
            registry=self.registry,
        )  # fmt: skip
        self._requests = Histogram(
            "pxnet_api_request_seconds", "Requests to the API server; code 0 is no answer.", ["verb", "kind", "code"],
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self._events = Counter("pxnet_events_dropped", "Events not written.", registry=self.registry)
        self._readings: dict[str, Collector] = {}
        self.port = 0

    def claim_answered(self, reason: str, seconds: float) -> None:
        self._answers.labels(reason).inc()
        if reason == "AddressAllocated":
            self._seconds.observe(max(seconds, 0.0))

    def claim_released(self) -> None:
        self._releases.inc()

    def block_written(self, entries: int) -> None:
        self._block_writes.labels("written").inc()
        self._batch.observe(entries)

    def block_lost(self, error: str) -> None:
        """A write failed: `error` is the name of its kind of error, Conflict above all."""
        self._block_writes.labels(error).inc()

    def api_request(self, verb: str, kind: str, code: int, seconds: float) -> None:
        self._requests.labels(verb, kind, str(code)).observe(seconds)

    def event_dropped(self) -> None:
        self._events.inc()

    def leading(self, leads: bool) -> None:
        self._leader.set(1 if leads else 0)

    def watch(self, name: str, text: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        """A gauge that is read when scraped, so that its series end with what they tell of.

        `read` runs in the thread of the scrape, so it must not iterate over what the event loop changes. A reading of
        the same name takes the place of an earlier one, as each leadership has objects of its own.
        """

        class _Reading(Collector):
            def collect(self) -> list[GaugeMetricFamily]:
                family = GaugeMetricFamily(name, text, labels=[label])
                for value, number in read().items():
                    family.add_metric([value], number)
                return [family]

        if name in self._readings:
            self.registry.unregister(self._readings.pop(name))
        self._readings[name] = reading = _Reading()
        self.registry.register(reading)

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Answer scrapes, on a free port for 0; returns what stops it.

        Raises:
            OSError: the address cannot be listened on.
        """
        server, thread = start_http_server(port, host, self.registry)
        self.port = server.server_port

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop
