"""Events: what is written, what is dropped, and that nothing of it can fail what it tells of."""

import asyncio
import random
from datetime import UTC, datetime

import pytest

from provider.edge.clock import SystemClock
from provider.edge.events import BUSY, WAITING, Events
from provider.edge.kube.resources import EVENTS
from provider.edge.metrics import Metrics
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.store import Store

pytestmark = pytest.mark.looptime


class Recorder:
    """Events over a fake API server."""

    def __init__(self, faults=None):
        self.store = Store(lambda: 0.0)
        self.metrics = Metrics()
        kube = FakeKube(self.store, Fate(random.Random(1), faults or Faults()))
        self.events = Events(kube, SystemClock(), self.metrics)

    def note(self, reason="Allocated", message="10.0.0.5", uid="u1", namespace="tenant"):
        self.events.note("v1", "IPAddressClaim", namespace, "web-0", uid, reason, message)

    async def written(self):
        task = asyncio.create_task(self.events.run())
        await asyncio.sleep(60)
        task.cancel()
        await asyncio.wait([task])
        return self.store.list(EVENTS, None, None)

    @property
    def dropped(self):
        return self.metrics.registry.get_sample_value("pxnet_events_dropped_total")


async def test_an_event_has_what_the_api_demands():
    recorder = Recorder()
    recorder.events.warn("v1", "IPAddressClaim", "tenant", "web-0", "u1", "PoolExhausted", "no address is free")
    (event,) = await recorder.written()
    assert (event["type"], event["reason"], event["note"]) == ("Warning", "PoolExhausted", "no address is free")
    assert event["regarding"] == {
        "apiVersion": "v1", "kind": "IPAddressClaim", "name": "web-0", "uid": "u1", "namespace": "tenant",
    }  # fmt: skip
    assert event["metadata"]["namespace"] == "tenant"
    assert all(event[field] for field in ("action", "reportingController", "reportingInstance"))
    moment = datetime.strptime(event["eventTime"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


async def test_events_of_cluster_scoped_objects_live_in_default():
    recorder = Recorder()
    recorder.note(namespace="")
    (event,) = await recorder.written()
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["regarding"]


async def test_the_same_said_twice_of_one_object_is_one_event():
    recorder = Recorder()
    for message in ("a", "a", "b", "a"):
        recorder.note(message=message)
    recorder.note(uid="u2", message="a")
    assert [event["note"] for event in await recorder.written()] == ["a", "b", "a", "a"]


async def test_an_api_server_that_refuses_costs_the_event_alone():
    recorder = Recorder(Faults(refuse=1.0))
    recorder.note()
    assert await recorder.written() == []
    assert recorder.dropped == 1


async def test_a_storm_drops_what_is_on_top_and_counts_it():
    recorder = Recorder()
    for number in range(BUSY + 5):
        recorder.note(uid=f"u{number}")
    assert recorder.dropped == 5
    for number in range(WAITING - BUSY + 7):
        recorder.events.warn("v1", "IPAddressClaim", "tenant", "web-0", f"w{number}", "PoolExhausted", "")
    assert recorder.dropped == 12
    assert len(await recorder.written()) == WAITING
