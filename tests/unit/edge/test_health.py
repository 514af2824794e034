"""Health over a real gRPC connection, as Kubernetes' probes ask it."""

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from provider.edge.health import LEADER, LIVENESS, READINESS, Health, HealthError

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
async def health():
    health = Health()
    await health.start("127.0.0.1:0")
    yield health
    await health.stop()


@pytest.fixture
async def ask(health):
    async with grpc.aio.insecure_channel(f"127.0.0.1:{health.port}") as channel:
        yield health_pb2_grpc.HealthStub(channel)


def about(service):
    return health_pb2.HealthCheckRequest(service=service)


async def test_a_started_process_is_alive_but_not_ready_and_no_leader(ask):
    answers = {service: (await ask.Check(about(service))).status for service in ("", LIVENESS, READINESS, LEADER)}
    assert answers == {"": SERVING, LIVENESS: SERVING, READINESS: NOT_SERVING, LEADER: NOT_SERVING}


async def test_what_is_set_is_answered(health, ask):
    await health.set(LEADER, True)
    assert (await ask.Check(about(LEADER))).status == SERVING
    await health.set(LEADER, False)
    assert (await ask.Check(about(LEADER))).status == NOT_SERVING


async def test_a_watch_sees_leadership_come(health, ask):
    call = ask.Watch(about(LEADER))
    assert (await call.read()).status == NOT_SERVING
    await health.set(LEADER, True)
    assert (await call.read()).status == SERVING
    call.cancel()


async def test_an_unknown_service_is_not_found(ask):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await ask.Check(about("cooking"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_an_address_in_use_is_named(health):
    other = Health()
    with pytest.raises(HealthError, match=rf"--health-address '127\.0\.0\.1:{health.port}'"):
        await other.start(f"127.0.0.1:{health.port}")
    await other.stop()
