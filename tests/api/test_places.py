"""Who gets a place when several ask the same API server at once: all of a bridge's VLANs, and leaders that lag."""

import itertools
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from e2e.bed.bed import Bed
from provider.api.network import ProxmoxNetwork
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.catalog import Catalog
from provider.controllers.places import Places
from provider.core.granting import Grant
from provider.core.networks import Finding
from provider.core.place_blocks import Holding, PlaceBlock
from provider.edge.clock import SystemClock
from provider.edge.kube.auth import find_access
from provider.edge.kube.client import Client
from provider.edge.kube.errors import Conflict
from provider.edge.kube.network_blocks import NetworkBlocks
from tests.api.witness import NETWORK_BLOCK, Json, Witness

_numbers = itertools.count(1)


def zone_named(name: str, bridge: str, **spec: Any) -> ProxmoxNetworkZone:
    known: Json = {
        "bridge": bridge, "namespaceSelector": {}, "vlanRanges": [{"first": 1, "last": 4094}],
        "addressSpace": {"ipv4": {"cidrs": ["172.16.0.0/12"]}}, **spec,
    }  # fmt: skip
    return ProxmoxNetworkZone.model_validate({"metadata": {"name": name}, "spec": known})


class Leader:
    """A process's knowledge of places, at work on the real API server."""

    class Counting(NetworkBlocks):
        def __init__(self, kube: Client, leader: "Leader") -> None:
            super().__init__(kube)
            self._leader = leader

        async def write(self, block: PlaceBlock, changes: Mapping[str, Holding | None]) -> PlaceBlock:
            try:
                return await super().write(block, changes)
            except Conflict:
                self._leader.conflicts += 1
                raise

    def __init__(self, kube: Client, zone: ProxmoxNetworkZone) -> None:
        self.catalog, self.zone, self.conflicts = Catalog(), zone, 0
        self.catalog.put_zone(zone)
        self.places = Places(self.Counting(kube, self), self.catalog, SystemClock(), lambda _: None)

    async def grant(self, name: str) -> Grant | Finding:
        raw = {"metadata": {"namespace": "t", "name": name, "uid": f"uid-{name}"}, "spec": {"zone": "z"}}
        return await self.places.grant(("t", name), ProxmoxNetwork.model_validate(raw), self.zone, selected=True)

    async def vlan(self, name: str) -> int | None:
        found = await self.grant(name)
        assert isinstance(found, Grant), found
        return found.offer.segment.vlan

    async def drop(self, name: str) -> None:
        await self.places.give_back(("t", name), f"uid-{name}")


@pytest.fixture
async def kube(control_plane: Bed, witness: Witness) -> AsyncIterator[Client]:
    async with Client(find_access(str(control_plane.kubeconfig), None)) as client:
        yield client
    for item in witness.list(NETWORK_BLOCK, None):
        witness.delete(NETWORK_BLOCK, None, item["metadata"]["name"])


def mine(key: str) -> bool:
    """Networks that other tests left have other addresses."""
    return key.startswith("172.") or "/" not in key


def entries(witness: Witness, book: str) -> list[str]:
    blocks = [item["spec"] for item in witness.list(NETWORK_BLOCK, None)]
    return [key for spec in blocks if spec["book"] == book for key in spec.get("entries", {}) if mine(key)]


async def test_vlans_of_several_blocks_are_given_and_returned(kube: Client, witness: Witness) -> None:
    """The whole of a bridge is given in tests/flow: here it would take minutes."""
    leader = Leader(kube, zone_named("z", f"all{next(_numbers)}", vlanRanges=[{"first": 200, "last": 299}]))
    book, names = f"vlan/{leader.zone.spec.bridge}", [f"n{number}" for number in range(200, 300)]
    assert [await leader.vlan(name) for name in names] == [*range(200, 300)]
    assert sorted(map(int, entries(witness, book))) == [*range(200, 300)]
    assert len(set(entries(witness, "space/IPv4"))) == 100
    refused = await leader.grant("one-more")
    assert isinstance(refused, Finding)
    assert refused.reason == "ZoneExhausted"
    await leader.drop("n250")
    assert await leader.vlan("one-more") == 250
    for name in (*names, "one-more"):
        await leader.drop(name)
    assert entries(witness, book) == entries(witness, "space/IPv4") == []


async def test_a_leader_that_lags_loses_and_reads_again(kube: Client, witness: Witness) -> None:
    zone = zone_named("z", f"lag{next(_numbers)}")
    first, late = Leader(kube, zone), Leader(kube, zone)
    assert await first.vlan("a") == 1
    assert await late.vlan("b") == 2, "its create lost against the block that was there"
    assert await first.vlan("c") == 3
    assert (first.conflicts, late.conflicts) == (2, 0), "one write of each block came with an old version"
    await late.drop("b")
    assert await first.vlan("d") == 2, "it lost with the next one in mind, read again, and saw what was returned"
    await first.drop("a")
    await first.drop("c")
    assert await first.vlan("e") == 1
    assert sorted(map(int, entries(witness, f"vlan/{zone.spec.bridge}"))) == [1, 2]


async def test_after_a_crash_a_network_goes_on_with_what_is_its_own(kube: Client, witness: Witness) -> None:
    zone = zone_named("z", f"crash{next(_numbers)}")
    before = Leader(kube, zone)
    assert [await before.vlan(name) for name in "abc"] == [1, 2, 3]
    after = Leader(kube, zone)
    await after.places.load()
    assert [await after.vlan(name) for name in "cabd"] == [3, 1, 2, 4]


async def test_a_sweep_returns_what_nobody_has(kube: Client, witness: Witness) -> None:
    zone = zone_named("z", f"sweep{next(_numbers)}")
    leader = Leader(kube, zone)
    for name in "ab":
        await leader.vlan(name)

    async def lives(key: tuple[str, str], _: str) -> bool:
        return key[1] == "b"

    await leader.places.sweep(lives)
    assert entries(witness, f"vlan/{zone.spec.bridge}") == ["2"]
    await leader.drop("b")
    await leader.places.sweep(lives)
    assert [item for item in witness.list(NETWORK_BLOCK, None) if zone.spec.bridge in item["spec"]["book"]] == []
