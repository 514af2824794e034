"""Who waits for a VLAN gets it at once when it is free, not at the next regular look."""

import asyncio
import random

import pytest

from provider.edge.kube.resources import CLAIMS, NAMESPACES, NETWORKS, ZONES, Resource
from tests.flow.faults import Faults
from tests.flow.simulate import quiet
from tests.flow.simulated_time import run
from tests.flow.store import Json, Store
from tests.flow.tables import Run

HOME = "team"
MOMENT = 0.001
"""Seconds. Here no request takes time, but a zone looks at most a second after its networks changed, and wakes then."""


@pytest.fixture(autouse=True)
def _quiet():
    quiet()


def make(store: Store, kind: Resource, name: str, spec: Json, home: str | None = None) -> None:
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}
    store.create(kind, body, home)


class Timetable:
    """When networks came onto VLANs, and off them."""

    def __init__(self, store: Store) -> None:
        self.now: dict[str, int | None] = {}
        self.since: dict[str, float] = {}
        store.listeners.append(self._look)

    def _look(self, plural: str, event: str, item: Json) -> None:
        if plural == NETWORKS.plural:
            name = item["metadata"]["name"]
            vlan = None if event == "DELETED" else (item.get("status") or {}).get("vlan")
            if self.now.get(name) != vlan:
                self.now[name], self.since[name] = vlan, asyncio.get_running_loop().time()


@pytest.mark.parametrize("vlans", [[11], []])
def test_a_row_leaves_its_vlan_when_its_last_machine_goes(vlans):
    def rows(vlans: list[int]) -> Json:
        ipv4 = {"addresses": ["192.168.9.9"], "prefix": 24}
        return {HOME: [{"name": "row", "vlan": each, "ipv4": ipv4} for each in vlans]}

    async def story(store: Store, networks: Timetable) -> None:
        make(store, ZONES, "table", {"bridge": "vmbr0", "networks": rows([10]), "addressReuseSeconds": 0})
        await asyncio.sleep(5)
        pool = {"apiGroup": CLAIMS.group, "kind": "InClusterIPPool", "name": "row-inet"}
        make(store, CLAIMS, "machine", {"poolRef": pool}, HOME)
        demand = {
            "bridge": "vmbr0", "namespaceSelector": {}, "vlanRanges": [{"first": 10, "last": 10}],
            "addressSpace": {"ipv4": {"cidrs": ["10.0.0.0/16"]}},
        }  # fmt: skip
        make(store, ZONES, "demand", demand)
        make(store, NETWORKS, "waits", {"zone": "demand"}, HOME)
        await asyncio.sleep(33)
        store.patch(ZONES, "table", {"spec": {"networks": rows(vlans)}}, None, None)
        await asyncio.sleep(32)
        assert networks.now == {"row": 10}
        store.delete(CLAIMS, "machine", HOME, None)
        await asyncio.sleep(30)
        assert networks.now == {"row": vlans[0] if vlans else None, "waits": 10}
        assert networks.since["waits"] - networks.since["row"] < MOMENT

    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        make(store, NAMESPACES, HOME, {})
        leader = Run(store, random.Random(0), Faults())
        try:
            await story(store, Timetable(store))
        finally:
            await leader.stop()

    run(history())
