"""Finalizers that somebody takes off: what was held is found and given to who waits, also where our mending fails."""

import asyncio
import random

from provider.edge.kube.errors import Unavailable
from provider.edge.kube.resources import ADDRESSES, BLOCKS, CLAIMS, Resource
from provider.edge.metrics import Metrics
from provider.leading import Leading, Options
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.simulate import OneNetwork, SilentEvents
from tests.flow.simulated_time import SimulatedClock, run
from tests.flow.store import Json, Store
from tests.flow.world import HOME, World

ROOM = 4
"""Addresses that the plain pool can give."""


class Meddled(FakeKube):
    """Just before our first write to an IPAddress the garbage collector marks that one as deleted."""

    met = False

    async def patch(
        self, resource: Resource, name: str, patch: Json, namespace: str | None = None, **options: object
    ) -> Json:
        if resource.plural == ADDRESSES.plural and not self.met:
            self.met = True
            self.store.delete(ADDRESSES, name, namespace, None)
        return await super().patch(resource, name, patch, namespace, **options)  # type: ignore[arg-type]


class Away(FakeKube):
    """Blocks cannot be read for a while."""

    until = 0.0

    async def list_all(self, resource: Resource, namespace: str | None = None, **options: object) -> list[Json]:
        if resource.plural == BLOCKS.plural and asyncio.get_running_loop().time() < self.until:
            raise Unavailable("away", 503)
        return await super().list_all(resource, namespace, **options)  # type: ignore[arg-type]


async def forced(kind: type[FakeKube]) -> None:
    """A full pool, a claim that waits, and one that goes without its finalizer; nothing else ever happens."""
    store = Store(asyncio.get_running_loop().time)
    World(store, random.Random(1))
    kube = kind(store, Fate(random.Random(1), Faults()))
    leading = Leading(kube, SimulatedClock(), SilentEvents(), Metrics(), Options(), OneNetwork)  # type: ignore[arg-type]
    task = asyncio.create_task(leading.run())
    await asyncio.sleep(1)
    spec = {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "plain"}}
    for number in range(ROOM + 1):
        store.create(CLAIMS, {"metadata": {"name": f"m{number}"}, "spec": spec}, HOME)
        await asyncio.sleep(1)
    assert "addressRef" not in store.get(CLAIMS, f"m{ROOM}", HOME)["status"]
    if isinstance(kube, Away):
        kube.until = asyncio.get_running_loop().time() + 20
    store.patch(CLAIMS, "m2", {"metadata": {"finalizers": []}}, HOME, None)
    store.delete(CLAIMS, "m2", HOME, None)
    await asyncio.sleep(30)
    assert store.get(CLAIMS, f"m{ROOM}", HOME)["status"]["addressRef"] == {"name": f"m{ROOM}"}
    assert {item["metadata"]["name"] for item in store.list(ADDRESSES, None, None)} == {"m0", "m1", "m3", "m4"}
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_claim_forced_away_gives_its_address_to_who_waits():
    run(forced(FakeKube))


def test_also_where_its_address_changes_under_our_hands():
    run(forced(Meddled))


def test_also_where_the_blocks_cannot_be_read_at_that_moment():
    run(forced(Away))
