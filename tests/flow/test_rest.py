"""A network's addresses rest for the network's time, whatever the pool says and whatever becomes of it."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from provider.edge.kube.resources import ADDRESSES, CLAIMS, POOLS
from provider.edge.metrics import Metrics
from provider.leading import Leading, Options
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.simulate import OneNetwork, SilentEvents, quiet
from tests.flow.simulated_time import SimulatedClock, run
from tests.flow.store import Json, Store
from tests.flow.world import HOME, NETWORK

MADE, OTHER = "one-v4-icip", "two-v4-icip"
FIRST, SECOND = "10.0.0.250", "10.0.0.251"
REST = 60
Act = Callable[[Store, Leading], None]


def pool(name: str, seconds: int) -> Json:
    spec = {"addresses": ["10.0.0.250-10.0.1.5"], "prefix": 16, "addressReuseGracePeriodSeconds": seconds}
    return {"apiVersion": POOLS.api_version, "kind": POOLS.kind, "metadata": {"name": name}, "spec": spec}


def claim(name: str, pool_name: str) -> Json:
    spec = {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": pool_name}}
    return {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "metadata": {"name": name}, "spec": spec}


def pool_stays(store: Store, leading: Leading) -> None: ...


def pool_is_deleted(store: Store, leading: Leading) -> None:
    store.delete(POOLS, MADE, HOME, None)


def pool_is_forced_away(store: Store, leading: Leading) -> None:
    store.delete(POOLS, MADE, HOME, None)
    store.patch(POOLS, MADE, {"metadata": {"finalizers": None}}, HOME, None)


def pool_turns_into_rubbish(store: Store, leading: Leading) -> None:
    store.patch(POOLS, MADE, {"spec": {"addresses": ["rubbish"]}}, HOME, None)


def network_says_less(store: Store, leading: Leading) -> None:
    leading.books.publish(replace(NETWORK, reuse_seconds=REST // 6))


async def given(store: Store, name: str) -> str:
    """The address of a new claim of the other pool, which is deleted again."""
    store.create(CLAIMS, claim(name, OTHER), HOME)
    await asyncio.sleep(1)
    address: str = store.get(ADDRESSES, name, HOME)["spec"]["address"]
    store.delete(CLAIMS, name, HOME, None)
    return address


@pytest.mark.parametrize("pool_seconds", [0, 3600])
@pytest.mark.parametrize(
    ("act", "rest"),
    [
        (pool_stays, REST),
        (pool_is_deleted, REST),
        (pool_is_forced_away, REST),
        (pool_turns_into_rubbish, REST),
        (network_says_less, REST // 6),
    ],
)
def test_rests_for_the_networks_time(act: Act, rest: int, pool_seconds: int) -> None:
    quiet()

    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        store.create(POOLS, pool(MADE, pool_seconds), HOME)
        store.create(POOLS, pool(OTHER, 0), HOME)
        kube = FakeKube(store, Fate(random.Random(1), Faults()))
        leading = Leading(kube, SimulatedClock(), SilentEvents(), Metrics(), Options(), OneNetwork)  # type: ignore[arg-type]
        task = asyncio.create_task(leading.run())
        await leading.ready.wait()
        leading.books.publish(replace(NETWORK, reuse_seconds=REST))
        store.create(CLAIMS, claim("machine", MADE), HOME)
        await asyncio.sleep(1)
        assert store.get(ADDRESSES, "machine", HOME)["spec"]["address"] == FIRST
        act(store, leading)
        await asyncio.sleep(1)
        store.delete(CLAIMS, "machine", HOME, None)
        await asyncio.sleep(1)
        assert not store.list(CLAIMS, HOME, None), "the claim goes at once, only the address rests"
        await asyncio.sleep(rest - 4)
        assert await given(store, "early") == SECOND
        await asyncio.sleep(4)
        assert await given(store, "late") == FIRST
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(history())
