"""Kubernetes' own probes: httpGet, tcpSocket and gRPC (grpc.health.v1); exec is refused.

Counting is pure (`Counter`); asking is I/O (`ask`). Until a probe first succeeds it is asked every 0.2 s, so nobody
waits for `initialDelaySeconds`; failures still count only as often, and as late, as the spec says.
"""

import asyncio
import ssl
from dataclasses import dataclass
from typing import Any

import aiohttp
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

Object = dict[str, Any]
EAGER_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds and counts of one probe, with the API's defaults."""

    delay: float
    period: float
    timeout: float
    failures: int
    successes: int

    @classmethod
    def of(cls, probe: Object) -> "Timing":
        return cls(
            delay=probe.get("initialDelaySeconds", 0),
            period=probe.get("periodSeconds", 10),
            timeout=probe.get("timeoutSeconds", 1),
            failures=probe.get("failureThreshold", 3),
            successes=probe.get("successThreshold", 1),
        )


@dataclass(frozen=True, slots=True)
class Counter:
    """What a probe has said so far. `passed` is None until it is decided; times are seconds since the start."""

    passed: bool | None = None
    run: int = 0
    last_counted: float = float("-inf")

    def record(self, success: bool, at: float, timing: Timing) -> "Counter":
        """The counter after one answer. An early or too frequent failure changes nothing."""
        if success:
            run = max(self.run, 0) + 1
            return Counter(True if run >= timing.successes else self.passed, run, at)
        if at < timing.delay or at - self.last_counted < timing.period:
            return self
        run = min(self.run, 0) - 1
        return Counter(False if -run >= timing.failures else self.passed, run, at)

    def pause(self, timing: Timing) -> float:
        """Seconds until the next question."""
        return timing.period if self.passed and self.run >= timing.successes else min(EAGER_SECONDS, timing.period)


def refusal(container: Object) -> str | None:
    """What is wrong with the container's probes, or None."""
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        if probe := container.get(name):
            kinds = set(probe) & {"httpGet", "tcpSocket", "grpc"}
            if not kinds:
                return f"{name}: this kubelet cannot do a probe of kind {'/'.join(probe)}"
            port = probe[kinds.pop()]["port"]
            if port_number(port, container) is None:
                return f"{name}: the container has no port named {port}"
    return None


async def ask(probe: Object, container: Object, address: str) -> bool:
    """One question to the container at the pod's address. Any kind of failure is False."""
    timeout = Timing.of(probe).timeout
    try:
        async with asyncio.timeout(timeout):
            if http := probe.get("httpGet"):
                return await _http(http, port_number(http["port"], container) or 0, address)
            if tcp := probe.get("tcpSocket"):
                return await _tcp(port_number(tcp["port"], container) or 0, address)
            return await _grpc(probe["grpc"], address)
    except (TimeoutError, OSError, aiohttp.ClientError, grpc.RpcError):
        return False


def port_number(port: int | str, container: Object) -> int | None:
    """A port by number or by its name in the container; None for an unknown name."""
    if isinstance(port, int) or port.isdigit():
        return int(port)
    for entry in container.get("ports", ()):
        if entry.get("name") == port:
            return int(entry["containerPort"])
    return None


async def _http(http: Object, port: int, address: str) -> bool:
    scheme = http.get("scheme", "HTTP").lower()
    # As on a node: the certificate is not checked.
    trust = ssl._create_unverified_context() if scheme == "https" else True
    headers = {entry["name"]: entry["value"] for entry in http.get("httpHeaders", ())}
    url = f"{scheme}://{http.get('host') or address}:{port}{http.get('path', '/')}"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=trust, headers=headers) as answer:
        return 200 <= answer.status < 400


async def _tcp(port: int, address: str) -> bool:
    _, writer = await asyncio.open_connection(address, port)
    writer.close()
    await writer.wait_closed()
    return True


async def _grpc(rpc: Object, address: str) -> bool:
    async with grpc.aio.insecure_channel(f"{address}:{rpc['port']}") as channel:
        request = health_pb2.HealthCheckRequest(service=rpc.get("service") or "")
        answer = await health_pb2_grpc.HealthStub(channel).Check(request)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
