"""Kube-OVN that is there, comes and goes, as the follower of its Vlans sees it; in simulated time."""

import asyncio
import random
from typing import Any

import pytest

from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.catalog import Catalog
from provider.controllers.kube_ovn import LOOK_AGAIN, VLANS_CRD, KubeOvnVlans
from provider.edge.kube.errors import Denied
from provider.edge.kube.resources import CRDS, VLANS, Resource
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.simulate import quiet
from tests.flow.simulated_time import SimulatedClock, run
from tests.flow.store import Json, Store

SOON = 0.1


@pytest.fixture(autouse=True)
def _quiet():
    quiet()


class World:
    """An API server, two zones on one wire, of which one says so, and a follower."""

    def __init__(self, kube: type[FakeKube] = FakeKube) -> None:
        self.store = Store(asyncio.get_running_loop().time)
        self.catalog, self.changes = Catalog(), list[tuple[str, int]]()
        for name, bridge, provider in (("a", "vmbr0", "east"), ("b", "vmbr0", None), ("c", "vmbr1", None)):
            spec = {"bridge": bridge, **({"providerNetwork": provider} if provider else {})}
            self.catalog.put_zone(ProxmoxNetworkZone.model_validate({"metadata": {"name": name}, "spec": spec}))
        client = kube(self.store, Fate(random.Random(0), Faults()))
        self.vlans = KubeOvnVlans(client, self.catalog, SimulatedClock(), lambda *change: self.changes.append(change))

    def serve(self, established: str = "True", version: str = "v1") -> None:
        spec = {"versions": [{"name": version, "served": True}]}
        self.store.create(CRDS, {"metadata": {"name": VLANS_CRD}, "spec": spec}, None)
        status = {"status": {"conditions": [{"type": "Established", "status": established}]}}
        self.store.patch(CRDS, VLANS_CRD, status, None, "status")

    def take(self, name: str, number: int, provider: str = "east") -> None:
        self.store.create(VLANS, {"metadata": {"name": name}, "spec": {"id": number, "provider": provider}}, None)

    def leave(self, name: str) -> None:
        self.store.delete(VLANS, name, None, None)

    async def on(self, bridge: str = "vmbr0") -> list[int]:
        mask = await self.vlans.on(bridge)
        return [vlan for vlan in range(4096) if mask >> vlan & 1]


def test_without_kube_ovn_there_are_none():
    async def history() -> None:
        world = World()
        await world.vlans.find()
        assert await world.on() == []

    run(history())


@pytest.mark.parametrize(("established", "version"), [("False", "v1"), ("True", "v2")])
def test_a_definition_that_is_not_served_is_none(established, version):
    async def history() -> None:
        world = World()
        world.serve(established, version)
        world.take("one", 1)
        await world.vlans.find()
        assert await world.on() == []

    run(history())


def test_right_after_the_start_they_are_read_live():
    async def history() -> None:
        world = World()
        world.serve()
        world.take("one", 1)
        world.take("other", 2, "west")
        await world.vlans.find()
        assert await world.on() == [1], "nothing follows them yet"
        assert await world.on("vmbr1") == []

    run(history())


class Forbidding(FakeKube):
    """Stand-in for an API server whose roles lack the Vlans."""

    async def list_all(self, resource: Resource, *_: Any, **__: Any) -> list[Json]:
        raise Denied(f"{resource.plural} is forbidden", 403)


def test_what_cannot_be_read_is_not_taken_for_free():
    async def history() -> None:
        world = World(Forbidding)
        world.serve()
        await world.vlans.find()
        assert await world.on("vmbr1") == [], "a zone that names no provider network does not care"
        with pytest.raises(Denied, match="vlans is forbidden"):
            await world.on()

    run(history())


def test_they_come_change_and_go_while_it_runs():
    async def history() -> None:
        world = World()
        await world.vlans.find()
        running = asyncio.create_task(world.vlans.run())
        await asyncio.sleep(LOOK_AGAIN * 3)
        world.serve()
        world.take("one", 1)
        world.take("other", 2, "west")
        world.take("untagged", 0)
        await asyncio.sleep(LOOK_AGAIN + SOON)
        assert (await world.on(), world.changes) == ([1], [("vmbr0", 1)])
        world.take("twin", 1)
        world.leave("one")
        world.store.patch(VLANS, "other", {"spec": {"provider": "east"}}, None, None)
        await asyncio.sleep(SOON)
        assert await world.on() == [1, 2]
        world.store.patch(VLANS, "twin", {"spec": {"id": 7}}, None, None)
        world.changes.clear()
        world.store.patch(VLANS, "twin", {"status": {"subnets": ["x"]}}, None, "status")
        await asyncio.sleep(SOON)
        assert (await world.on(), world.changes) == ([2, 7], [("vmbr0", 1), ("vmbr0", 7)])
        world.changes.clear()
        world.store.delete(CRDS, VLANS_CRD, None, None)
        await asyncio.sleep(LOOK_AGAIN + SOON)
        assert (await world.on(), {*world.changes}) == ([], {("vmbr0", 2), ("vmbr0", 7)})
        world.serve()
        await asyncio.sleep(LOOK_AGAIN + SOON)
        assert await world.on() == [2, 7], "they are followed anew"
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    run(history())
