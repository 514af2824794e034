"""The load of networks on demand: each in a namespace of its own, and a bare writer to compare with.

The bare writer makes the writes that a network on demand takes, with the provider's client and bodies, one network
after the other as the provider does (two decisions about one bridge must not be made at once). It decides nothing:
VLANs and subnets are counted up.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from e2e.bench.errors import BenchError
from provider.api.ipam import Json
from provider.api.network import NETWORK_FINALIZER
from provider.core.addresses import Family
from provider.core.admission.table import NETWORKS_ANNOTATION, line, write
from provider.core.conditions import conditions
from provider.core.network_pools import pool_body
from provider.core.network_status import network_status, statements
from provider.core.networks import Resolution
from provider.core.offers import Offer, Segment
from provider.core.place_blocks import BlockId, Holding, Place, PlaceBlock, subnet_place, vlan_place
from provider.core.spans import read_span
from provider.edge.kube.client import Client
from provider.edge.kube.network_blocks import NetworkBlocks
from provider.edge.kube.resources import NAMESPACES, NETWORKS, POOLS, ZONES

CREATORS = 8
NAME = "blue"
SLOWEST = 2.0
"""Networks a second; a side that is slower than this has failed."""


def zone_body(name: str, bridge: str) -> Json:
    """A zone that gives every namespace a /24 and one of all VLANs."""
    spec = {
        "bridge": bridge,
        "vlanRanges": [{"first": 1, "last": 4094}],
        "namespaceSelector": {},
        "addressSpace": {"ipv4": {"cidrs": ["10.0.0.0/8"]}},
    }
    return {"apiVersion": ZONES.api_version, "kind": ZONES.kind, "metadata": {"name": name}, "spec": spec}


@dataclass(slots=True)
class Demand:
    """Networks that are asked for, and those that were seen Ready."""

    kube: Client
    zone: str
    ready: dict[str, float] = field(default_factory=dict)
    status: dict[str, Json] = field(default_factory=dict)
    zone_writes: list[int] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def namespaces(self, names: Sequence[str]) -> None:
        """Make them, before the time runs."""
        bodies = ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names)
        await _all(lambda body: self.kube.create(NAMESPACES, body), [*bodies])

    async def ask(self, names: Sequence[str], tell: Callable[[Json], None] = lambda _: None) -> float:
        """Ask for a network in each namespace and wait until all are Ready; gives networks a second."""
        begun = time.monotonic()
        body = {"apiVersion": NETWORKS.api_version, "kind": NETWORKS.kind, "metadata": {"name": NAME}}

        async def make(name: str) -> None:
            tell(await self.kube.create(NETWORKS, {**body, "spec": {"zone": self.zone}}, name))

        await asyncio.gather(_all(make, names), self._until(names))
        return len(names) / (max(self.ready[name] for name in names) - begun)

    async def _until(self, names: Sequence[str]) -> None:
        deadline = time.monotonic() + 60 + len(names) / SLOWEST
        while missing := sum(name not in self.ready for name in names):
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), 1.0)
            if time.monotonic() > deadline:
                raise BenchError(f"zone {self.zone}: {missing} of {len(names)} networks are not ready")

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """See networks become Ready, and the sizes in bytes of what is written of the zone."""
        tasks = [asyncio.create_task(self._watch_networks()), asyncio.create_task(self._watch_zone())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch_networks(self) -> None:
        version = (await self.kube.list_page(NETWORKS))["metadata"]["resourceVersion"]
        while True:
            async for event in self.kube.watch(NETWORKS, version):
                item = event["object"]
                version = item["metadata"]["resourceVersion"]
                conditions = (item.get("status") or {}).get("conditions") or ()
                if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
                    self.ready.setdefault(item["metadata"]["namespace"], time.monotonic())
                    self.status.setdefault(item["metadata"]["namespace"], item["status"])
                    self._news.set()

    async def _watch_zone(self) -> None:
        version = (await self.kube.list_page(ZONES))["metadata"]["resourceVersion"]
        while True:
            async for event in self.kube.watch(ZONES, version):
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] == "MODIFIED":
                    self.zone_writes.append(len(str(event["object"])))


class BareDemand:
    """Writes for the networks of one zone, one after the other."""

    def __init__(self, kube: Client, zone: str, bridge: str) -> None:
        self._kube, self._zone, self._bridge = kube, zone, bridge
        self._store = NetworkBlocks(kube)
        self._blocks: dict[BlockId, PlaceBlock] = {}
        self._orders: asyncio.Queue[Json] = asyncio.Queue()
        self._given = 0

    def take(self, network: Json) -> None:
        self._orders.put_nowait(network)

    async def run(self) -> None:
        while True:
            await self._bring_about(await self._orders.get())

    async def _bring_about(self, raw: Json) -> None:
        """Finalizer, VLAN, subnet, status, the namespace's line, pool, status."""
        namespace, now = raw["metadata"]["namespace"], datetime.now(UTC)
        key = (namespace, NAME)
        self._given += 1
        await self._kube.patch(NETWORKS, NAME, {"metadata": {"finalizers": [NETWORK_FINALIZER]}}, namespace)
        first = (11 << 24) + (self._given << 8)
        holding = Holding(key, raw["metadata"]["uid"], now)
        await self._hold(vlan_place(self._bridge, self._given), holding)
        await self._hold(subnet_place(Family.IPv4, (first, 24)), holding)
        cidr = f"11.{first >> 16 & 255}.{first >> 8 & 255}"
        span, _ = read_span(Family.IPv4, [f"{cidr}.6-{cidr}.254"], [], 24, f"{cidr}.1")
        assert span is not None
        offer = Offer(self._zone, Segment(self._bridge, self._given), None, 60, 100, {Family.IPv4: span})
        said = conditions((), statements(Resolution(offer), None, {}), 1, now)
        status = network_status(key, offer, {}, said[:1], 1).to_json()
        await self._status(namespace, status)
        lines = {"metadata": {"annotations": {NETWORKS_ANNOTATION: write([line(key, offer)])}}}
        await self._kube.patch(NAMESPACES, namespace, lines, metadata_only=True)
        await self._kube.create(POOLS, pool_body(key, offer, span), namespace)
        await self._status(namespace, network_status(key, offer, {}, said, 1).to_json())

    async def _hold(self, place: Place, holding: Holding) -> None:
        block = self._blocks.get(place.block) or PlaceBlock(place.block)
        self._blocks[place.block] = await self._store.write(block, {place.key: holding})

    async def _status(self, namespace: str, status: Json) -> None:
        await self._kube.patch(NETWORKS, NAME, {"status": status}, namespace, subresource="status")


async def _all(act: Callable[..., Awaitable[object]], wanted: Sequence[object]) -> None:
    waiting = iter(wanted)

    async def work() -> None:
        for each in waiting:
            await act(each)

    async with asyncio.TaskGroup() as group:
        for _ in range(CREATORS):
            group.create_task(work())
