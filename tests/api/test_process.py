"""The process as Kubernetes and Prometheus meet it: health, metrics, hand-over, a clean end, one line for a mistake."""

import socket
import urllib.request
from collections.abc import Iterator

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from e2e.bed.bed import Bed
from e2e.bed.processes import Process
from tests.api.running import log_of, provider, start_provider
from tests.api.tenant import Tenant
from tests.api.witness import CLAIM, Witness, until


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def flags(health: int, metrics: int) -> list[str]:
    return ["--health-address", f"127.0.0.1:{health}", "--metrics-address", f"127.0.0.1:{metrics}"]


def serves(port: int, service: str) -> bool:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        # A probe of Kubernetes asks again; this one waits for a process that is starting.
        request = health_pb2.HealthCheckRequest(service=service)
        answer = stub.Check(request, timeout=20, wait_for_ready=True)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def scrape(port: int) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text: str = answer.read().decode()
    return text.splitlines()


@pytest.fixture
def two(control_plane: Bed, witness: Witness) -> Iterator[tuple[Process, int, int, int]]:
    """A leader and a second replica: the leader, its ports of health and metrics, and the second's of health."""
    health, metrics, second = free_port(), free_port(), free_port()
    with provider(control_plane, *flags(health, metrics)) as leader:
        standby = start_provider(control_plane, *flags(second, 0), ready=None)
        try:
            yield leader, health, metrics, second
        finally:
            standby.stop()


def test_health_metrics_and_a_hand_over(two: tuple[Process, int, int, int], place: Tenant) -> None:
    leader, health, metrics, second = two
    assert [serves(health, service) for service in ("", "liveness", "readiness", "leader")] == [True] * 4
    until(lambda: serves(second, "readiness"), "the second one is ready to take over")
    assert not serves(second, "leader")
    pool = place.pool(["10.9.0.7"])
    # One after the other: of two that come at once either may be first.
    place.claim("one", pool)
    place.answered("one")
    place.claim("two", pool)
    place.refused("two", "PoolExhausted")
    lines = scrape(metrics)
    assert "pxnet_leader 1.0" in lines
    assert 'pxnet_claim_answers_total{reason="AddressAllocated"} 1.0' in lines
    assert f'pxnet_waiting_claims{{book="{pool.book}"}} 1.0' in lines
    assert any(line.startswith('pxnet_api_request_seconds_count{code="200",kind="ipaddressclaims"') for line in lines)
    leader.stop()
    assert '"event": "stopped"' in log_of(leader)
    until(lambda: serves(second, "leader"), "the second one leads at once")
    place.delete(CLAIM, "one")
    place.answered("two")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--kubeconfig", "/nowhere"], "kubeconfig '/nowhere' does not exist"),
        (["--context", "nobody"], "nobody"),
        (["--workers", "many"], "--workers: 'many'"),
        (["--metrics-address", "203.0.113.1:80"], "--metrics-address '203.0.113.1:80' cannot be listened on"),
    ],
)
def test_what_is_wrong_gets_one_line(control_plane: Bed, wrong: list[str], words: str) -> None:
    process = start_provider(control_plane, *wrong, ready=None)
    until(lambda: not process.alive, "it ends")
    (line,) = log_of(process).splitlines()
    assert line.startswith("pxnet: ")
    assert words in line
