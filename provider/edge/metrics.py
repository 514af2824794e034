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

    def claim_answered(self, reason: str, seconds: float) -> None:
        self._answers.labels(reason).inc()
        if reason == "AddressAllocated":
            self._seconds.observe(max(seconds, 0.0))

    def claim_released(self) -> None:
        self._releases.inc()

    def leading(self, leads: bool) -> None:
        self._leader.set(1 if leads else 0)

    def watch(self, name: str, text: str, label: str, read: Callable[[], Mapping[str, float]]) -> None:
        """A gauge that is read when scraped, so that its series end with what they tell of."""

        class _Reading(Collector):
            def collect(self) -> list[GaugeMetricFamily]:
                family = GaugeMetricFamily(name, text, labels=[label])
                for value, number in read().items():
                    family.add_metric([value], number)
                return [family]

        self.registry.register(_Reading())

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Answer scrapes; returns what stops it. Raises OSError when the address cannot be used."""
        server, thread = start_http_server(port, host, self.registry)

        def stop() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return stop
