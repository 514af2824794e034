"""Probes: when a container counts as passed or failed, and where they ask."""

import asyncio

import pytest

from e2e.bed.kubelet.probes import EAGER_SECONDS, Counter, Timing, ask, port_number, refusal

TIMING = Timing(delay=5, period=10, timeout=1, failures=3, successes=1)


def record(answers, timing=TIMING):
    """Feed (seconds, success) pairs and give the verdict after each."""
    counter, verdicts = Counter(), []
    for at, success in answers:
        counter = counter.record(success, at, timing)
        verdicts.append(counter.passed)
    return verdicts


def test_an_early_success_counts_and_an_early_failure_does_not():
    assert record([(0.2, False), (0.4, False), (0.6, False), (0.8, True)]) == [None, None, None, True]


def test_failures_count_once_a_period_after_the_delay():
    answers = [(at / 5, False) for at in range(150)]
    verdicts = record(answers)
    assert verdicts.index(False) == pytest.approx(25 * 5, abs=1)


def test_one_success_starts_the_count_of_failures_anew():
    answers = [(5, True), (15, False), (25, False), (35, True), (45, False), (55, False), (65, False)]
    assert record(answers) == [True, True, True, True, True, True, False]


def test_a_threshold_of_successes():
    assert record([(1, True), (2, True)], Timing(0, 10, 1, 3, successes=2)) == [None, True]


def test_it_asks_often_until_it_passes():
    assert Counter().pause(TIMING) == EAGER_SECONDS
    assert Counter().record(True, 1, TIMING).pause(TIMING) == TIMING.period


def test_defaults_are_those_of_the_api():
    assert Timing.of({"httpGet": {"port": 1}}) == Timing(delay=0, period=10, timeout=1, failures=3, successes=1)


CONTAINER = {"name": "main", "ports": [{"name": "healthz", "containerPort": 9440}]}


@pytest.mark.parametrize(("port", "number"), [(80, 80), ("81", 81), ("healthz", 9440), ("none", None)])
def test_ports_by_number_and_by_name(port, number):
    assert port_number(port, CONTAINER) == number


def test_a_probe_that_cannot_be_done_is_said_at_once():
    assert refusal(CONTAINER | {"livenessProbe": {"httpGet": {"port": "healthz"}}}) is None
    assert "exec" in (refusal(CONTAINER | {"livenessProbe": {"exec": {"command": ["true"]}}}) or "")
    assert "none" in (refusal(CONTAINER | {"startupProbe": {"tcpSocket": {"port": "none"}}}) or "")


@pytest.mark.parametrize("kind", ["httpGet", "tcpSocket", "grpc"])
async def test_nobody_there_is_a_failure(kind, unused_tcp_port):
    assert not await ask({kind: {"port": unused_tcp_port}}, CONTAINER, "127.0.0.1")


async def test_http_and_tcp_against_a_listener():
    async def answer(reader, writer):
        path = (await reader.readline()).split()
        status = b"200 OK" if path and path[1] == b"/healthz" else b"500 Broken"
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await ask({"httpGet": {"port": port, "path": "/healthz"}}, CONTAINER, "127.0.0.1")
        assert not await ask({"httpGet": {"port": port, "path": "/other"}}, CONTAINER, "127.0.0.1")
        assert await ask({"tcpSocket": {"port": port}}, CONTAINER, "127.0.0.1")
