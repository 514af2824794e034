"""Zones and networks at work: their queues, and who has to look again when something changed."""

import asyncio

import structlog

from provider.api.network import ProxmoxNetwork
from provider.api.pool import Pool
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.admission import TENANTS, Admission
from provider.controllers.books import Books
from provider.controllers.catalog import Catalog
from provider.controllers.demand import Demand
from provider.controllers.kube_ovn import KubeOvnVlans
from provider.controllers.listing import Listing
from provider.controllers.namespaces import Namespaces
from provider.controllers.network import NetworkController
from provider.controllers.places import Places
from provider.controllers.view import View
from provider.controllers.zone import ZoneController
from provider.core.names import NetworkKey
from provider.core.offers import Segment
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import KubeError, NotFound
from provider.edge.kube.network_blocks import NetworkBlocks
from provider.edge.kube.resources import NETWORKS, ZONES, Resource
from provider.engine.queue import Queue

COUNT_DELAY = 1.0
"""Seconds for which changes of a book gather before its network's numbers are written."""

ZONE_DELAY = 1.0
"""Seconds for which changes of networks gather before their zone's counts are written; more where there are many."""

LOOK_AT_CAPMOX = 10.0
"""Seconds between looks at which versions capmox serves: after its update the newest one is what must be judged."""

RESYNC = 300.0
"""Seconds between looks at everything, for what no event told of."""

log = structlog.get_logger(__name__)


class Zoning:
    """All that is done about zones and networks while we lead.

    One worker for networks: whether an address is free on a segment is decided from what is in force of the others,
    so two decisions must not be made at the same time.
    """

    def __init__(
        self,
        kube: Kube,
        view: View,
        books: Books,
        clock: Clock,
        events: Events,
        namespace: str | None,
        *,
        admission: bool = True,
        exempt: tuple[str, ...] = (),
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._namespace = namespace
        self.catalog = Catalog()
        self.admission = Admission(kube, self.catalog, exempt, self._zone_due, on=admission)
        self.listing = Listing(kube)
        self._kube_ovn = KubeOvnVlans(kube, self.catalog, clock, self._foreign_changed)
        self.places = Places(NetworkBlocks(kube), self.catalog, clock, self._look, self._kube_ovn.on)
        self.namespaces = Namespaces(kube, clock, self._namespace_changed)
        self._demand = Demand(self.catalog, self.places, self.namespaces.labels)
        self._networks = NetworkController(
            kube, view, books, self.catalog, self.listing, self._demand, clock, events, self._look, self._told
        )
        self._zones = ZoneController(kube, view, self.catalog, clock, events, self._look, self.admission.statement)
        self.network_queue: Queue[NetworkKey] = Queue("networks", self._reconcile_network, clock, 1)
        self.zone_queue: Queue[str] = Queue("zones", self._reconcile_zone, clock, 1)
        self.policy_queue: Queue[str] = Queue("guards", self._reconcile_policy, clock, 1)
        self._networks_due: set[NetworkKey] = set()
        self._zones_due: set[str] = set()
        self._policies_due: set[str] = set()

    @property
    def idle(self) -> bool:
        queues = (self.network_queue, self.zone_queue, self.policy_queue)
        due = self._networks_due or self._zones_due or self._policies_due
        return all(queue.idle for queue in queues) and not due

    async def load(self) -> None:
        """Read all zones and networks, and publish the books that are in force."""
        for raw in await self._kube.list_all(ZONES):
            zone = ProxmoxNetworkZone.model_validate(raw)
            self.catalog.put_zone(zone)
            self.zone_queue.add(zone.metadata.name)
        for raw in await self._kube.list_all(NETWORKS, self._namespace):
            network = ProxmoxNetwork.model_validate(raw)
            key = (network.metadata.namespace or "", network.metadata.name)
            self.catalog.put_network(key, network)
            self.network_queue.add(key)
        await self.places.load()
        for key in self.catalog.networks:
            self._demand.recall(key)
            self._networks.serve(key)
        await self._kube_ovn.find()
        await self.admission.find_version()
        for policy in {TENANTS, *self.catalog.zones} | await self.admission.existing():
            self.policy_queue.add(policy)
        log.info("zones read", zones=len(self.catalog.zones), networks=len(self.catalog.networks))

    async def run(self) -> None:
        """Reconcile until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.zone_queue.run())
            group.create_task(self.network_queue.run())
            group.create_task(self.policy_queue.run())
            group.create_task(self.namespaces.run())
            group.create_task(self._kube_ovn.run())
            group.create_task(self._follow_capmox())
            group.create_task(self._resync())

    def changed(self, resource: Resource, key: NetworkKey) -> None:
        """The watch saw a zone or a network change."""
        if resource.plural == ZONES.plural:
            self.zone_queue.add(key[1])
        else:
            self.network_queue.add(key)

    def book_changed(self, book: str) -> None:
        """The use of a network's book changed."""
        kind, _, rest = book.partition("/")
        if kind == "network":
            namespace, name, _ = rest.split("/")
            self._network_due((namespace, name))

    def pool_changed(self, old: Pool | None, new: Pool | None) -> None:
        """A pool came, went or changed: one of a network may have been edited, one marked with a zone may overlap."""
        for pool in (old, new):
            if pool is None:
                continue
            if pool.network is not None and (new is None or old is None or _content(old) != _content(new)):
                self._network_due((pool.namespace, pool.network), gone=True)
            if pool.zone in self.catalog.zones and (old is None or new is None or _content(old) != _content(new)):
                self._zone_due(pool.zone)
                bridge = self.catalog.zones[pool.zone].spec.bridge
                for zone, table in self.catalog.zones.items():
                    if table.spec.bridge == bridge:
                        for key in self.catalog.of_zone(zone):
                            self.network_queue.add(key)

    async def _follow_capmox(self) -> None:
        while True:
            await self._clock.sleep(LOOK_AT_CAPMOX)
            try:
                changed = await self.admission.find_version()
            except KubeError as error:
                log.info("capmox's versions are looked at again later", error=str(error))
                continue
            if changed:
                self._all_policies()

    def _all_policies(self) -> None:
        for policy in (
            TENANTS,
            *self.catalog.zones,
            *{network.spec.zone for network in self.catalog.networks.values()},
        ):
            self.policy_queue.add(policy)

    async def _resync(self) -> None:
        while True:
            await self._clock.sleep(RESYNC)
            self.admission.forget()
            self.listing.forget()
            self._all_policies()
            for zone in self.catalog.zones:
                self.zone_queue.add(zone)
            for key in self.catalog.networks:
                self.network_queue.add(key)
            try:
                await self.places.sweep(self._lives)
            except KubeError as error:
                log.info("places of networks that are gone stay until the next look", error=str(error))

    async def _lives(self, key: NetworkKey, uid: str) -> bool:
        """Whether a network is there, asked live where the copy says no, or machines have addresses of it."""
        known = self.catalog.networks.get(key)
        if known is not None and known.metadata.uid == uid:
            return True
        try:
            found = ProxmoxNetwork.model_validate(await self._kube.get(NETWORKS, key[1], key[0]))
        except NotFound:
            return await self._networks.in_use(key)
        # One of the same name and another uid takes over what stands there.
        self.network_queue.add(key)
        return found.metadata.uid == uid or not found.metadata.deleting

    def _namespace_changed(self, namespace: str) -> None:
        """Its labels changed: zones may select it now, or not any more."""
        for key in self.catalog.of_namespace(namespace):
            if self._demand.concerns(key, self.catalog.networks[key]):
                self.network_queue.add(key)

    def _foreign_changed(self, bridge: str, vlan: int) -> None:
        """A Vlan of Kube-OVN took a VLAN or left it: who is on it says so, zones count, and their waiters look."""
        for key in self.catalog.on(Segment(bridge, vlan)):
            self.network_queue.add(key)
        for name, zone in self.catalog.zones.items():
            if zone.spec.bridge == bridge:
                self._zone_due(name)

    def _look(self, key: NetworkKey) -> None:
        self.network_queue.add(key)

    def _network_due(self, key: NetworkKey, *, gone: bool = False) -> None:
        """Look at a network soon. `gone`: also at one that is not there, for what may be left of it."""
        if (gone or key in self.catalog.networks) and key not in self._networks_due:
            self._networks_due.add(key)
            self.network_queue.add_after(key, COUNT_DELAY)

    def _told(self, zone: str) -> None:
        """A network of the zone changed."""
        self._zone_due(zone)
        if zone not in self._policies_due:
            self._policies_due.add(zone)
            self.policy_queue.add_after(zone, COUNT_DELAY)

    def _zone_due(self, zone: str | None) -> None:
        if zone in self.catalog.zones and zone not in self._zones_due:
            self._zones_due.add(zone)
            self.zone_queue.add_after(zone, ZONE_DELAY + self.catalog.size(zone) / 500)

    async def _reconcile_network(self, key: NetworkKey) -> float | None:
        self._networks_due.discard(key)
        return await self._networks.reconcile(key)

    async def _reconcile_zone(self, zone: str) -> float | None:
        self._zones_due.discard(zone)
        try:
            return await self._zones.reconcile(zone)
        finally:
            self.places.wake()
            for policy in (zone, TENANTS):
                self.policy_queue.add(policy)

    async def _reconcile_policy(self, policy: str) -> float | None:
        self._policies_due.discard(policy)
        return await self.admission.reconcile(policy)


def _content(pool: Pool) -> tuple[object, ...]:
    """What of a pool a network cares for: not its version, and not the numbers that change with every claim."""
    return (
        pool.addresses, pool.prefix, pool.gateway, pool.excluded, pool.reuse_seconds, pool.paused, pool.deleted,
        pool.network, pool.zone, pool.vlan,
    )  # fmt: skip
