"""Networks: the place that the zone gives them, their books, their pools, and an end that strands nobody.

What is in force is written into the status before books and pools follow it. So after a crash anywhere the next one
knows what machines may have been given, and an edit never slips past an address that was given meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from provider.api.network import NETWORK_FINALIZER, ProxmoxNetwork
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.books import Books
from provider.controllers.catalog import Catalog
from provider.controllers.demand import Answer, Demand
from provider.controllers.listing import Listing
from provider.controllers.machines import Machines
from provider.controllers.network_pools import NetworkPools
from provider.controllers.seeing import see_network
from provider.controllers.view import View
from provider.core.addresses import Family
from provider.core.blocks import Entry
from provider.core.conditions import conditions, transitions
from provider.core.machines import NOBODY, Users
from provider.core.names import NetworkKey, book_name
from provider.core.network_pools import PoolPlan, plan_pools
from provider.core.network_status import network_status, statements
from provider.core.networks import (
    Finding,
    NetworkReason,
    Resolution,
    Seen,
    books_in_force,
    keeps_place,
    resolve,
    resting,
)
from provider.core.offers import Offer
from provider.core.overlaps import contested
from provider.core.patches import merge_patch
from provider.core.ranges import Ranges
from provider.core.usage import Usage
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import Conflict, NotFound
from provider.edge.kube.resources import NETWORKS, ZONES

Json = dict[str, Any]
Held = Mapping[Family, Sequence[tuple[int, Entry]]]

SOON = 0.05
ENDING = 0.5
"""Seconds between looks at pools that are on their way out."""
WAITING = 5.0
"""Seconds between looks at a network that waits for addresses to be released, or for machines to go."""

log = structlog.get_logger(__name__)


class NetworkController:
    """Reconciles ProxmoxNetworks. `look(key)` has a neighbour looked at, `told(zone)` the zone of a changed network."""

    def __init__(
        self,
        kube: Kube,
        view: View,
        books: Books,
        catalog: Catalog,
        listing: Listing,
        demand: Demand,
        clock: Clock,
        events: Events,
        look: Callable[[NetworkKey], None],
        told: Callable[[str], None],
    ) -> None:
        self._kube = kube
        self._view = view
        self._books = books
        self._catalog = catalog
        self._listing = listing
        self._demand = demand
        self._machines = Machines(kube, catalog)
        self._pools = NetworkPools(kube, view)
        self._clock = clock
        self._events = events
        self._look = look
        self._told = told
        self._published: dict[NetworkKey, set[Family]] = {}

    def serve(self, key: NetworkKey) -> None:
        """Publish what a network's status says is in force, before anything is given from anywhere."""
        published = self._published.setdefault(key, set())
        for book in books_in_force(self._see(key, self._catalog.networks[key], {}, {})):
            if book.family not in published:
                self._books.publish(book)
                published.add(book.family)

    async def reconcile(self, key: NetworkKey) -> float | None:
        namespace, name = key
        try:
            raw = await self._kube.get(NETWORKS, name, namespace)
        except NotFound:
            await self._gone(key)
            return None
        network = ProxmoxNetwork.model_validate(raw)
        self._note(key, network)
        await self._find_zone(network.spec.zone)
        if self._demand.concerns(key, network):
            raw, network = await self._protect(key, raw, network)
        answer = await self._demand.answer(key, network)
        self.serve(key)
        elsewhere = await self._elsewhere(key)
        seen = self._see(key, network, await self._holders(key), elsewhere, answer)
        resolution = resolve(seen)
        machines = NOBODY
        if resolution.leaving:
            machines = await self._machines.of(key)
            seen = self._see(key, network, seen.holders, elsewhere, answer, machines)
            resolution = resolve(seen)
        if resolution.removable or not keeps_place(seen.current, resolution.offer):
            # Looked at again with the books at rest, so that nobody gets an address between this look and the change.
            seen = self._see(key, network, await self._freeze(key), elsewhere, answer, machines)
            resolution = resolve(seen)
        plan = plan_pools(key, None if resolution.removable else resolution.offer, await self._pools.read(key))
        if resolution.leaving:
            # One that somebody takes away now is of no use to anybody; in a namespace that goes it could not be made.
            plan = replace(plan, create=())
        if resolution.removable:
            return await self._remove(key, raw, network, resolution, plan)
        try:
            waiting = bool(resolution.waiting or seen.elsewhere)
            return await self._bring_about(key, raw, network, resolution, plan, waiting)
        except (Conflict, NotFound):
            return SOON

    def _see(
        self,
        key: NetworkKey,
        network: ProxmoxNetwork,
        held: Held,
        elsewhere: Mapping[Family, Ranges],
        answer: Answer | None = None,
        machines: Users = NOBODY,
    ) -> Seen:
        return see_network(self._catalog, self._view.zoned.values(), key, network, held, elsewhere, answer, machines)

    def _note(self, key: NetworkKey, network: ProxmoxNetwork) -> None:
        before, place = self._catalog.networks.get(key), self._catalog.current(key)
        for neighbour in self._catalog.put_network(key, network):
            self._look(neighbour)
        if place is not None and place != self._catalog.current(key):
            self._demand.wake()
        if before is None or before.status != network.status or before.metadata.deleting != network.metadata.deleting:
            self._told(network.spec.zone)

    async def _find_zone(self, name: str) -> None:
        """The watch may tell of a network before it tells of its zone."""
        if name not in self._catalog.zones:
            try:
                zone = ProxmoxNetworkZone.model_validate(await self._kube.get(ZONES, name))
            except NotFound:
                return
            self._catalog.put_zone(zone)

    async def _holders(self, key: NetworkKey) -> Held:
        return {family: await self._books.holders(book_name(*key, family)) for family in self._published.get(key, ())}

    async def in_use(self, key: NetworkKey) -> bool:
        """Whether machines hold addresses of a network, which may be gone."""
        return any((await self._holders(key)).values())

    async def _freeze(self, key: NetworkKey) -> Held:
        """As `_holders`, read anew, and nothing is given until the books are published again."""
        return {family: await self._books.freeze(book_name(*key, family)) for family in self._published.get(key, ())}

    async def _elsewhere(self, key: NetworkKey) -> dict[Family, Ranges]:
        """What other networks on the segment still hold outside of their own ranges."""
        zone = self._catalog.networks[key].spec.zone
        found: dict[Family, Ranges] = {}
        for place in (self._catalog.current(key), self._catalog.wanted(zone, key)):
            for neighbour in self._catalog.on(place.segment) - {key} if place is not None else ():
                for family, held in (await self._holders(neighbour)).items():
                    span = place.spans.get(family) if place is not None else None
                    common = Ranges.of((address, address) for address, _ in held if span and address in span.ranges)
                    if common:
                        found[family] = found.get(family, Ranges()).union(common)
        return found

    async def _bring_about(
        self,
        key: NetworkKey,
        raw: Json,
        network: ProxmoxNetwork,
        resolution: Resolution,
        plan: PoolPlan,
        waiting: bool,
    ) -> float | None:
        raw, network = await self._protect(key, raw, network)
        before = self._catalog.current(key)
        if resolution.offer != before:
            raw, network = await self._announce(key, raw, network, resolution.offer)
            if resolution.offer is not None and await self._is_overtaken(key, resolution.offer, before):
                await self._announce(key, raw, network, before)
                return ENDING
        if resolution.offer is not None and not resolution.leaving:
            # Before its pools are there and it says that it is ready: what it tells a tenant to use must be allowed.
            await self._listing.show(key, resolution.offer)
        elif before is not None:
            # Of one on its way out: or new machines would keep it for ever.
            await self._listing.hide(key)
        published = self._published.setdefault(key, set())
        for book in resolution.books:
            self._books.publish(book)
            published.add(book.family)
        for family in published - {book.family for book in resolution.books}:
            await self._books.withdraw(book_name(*key, family))
            published.discard(family)
        trouble = await self._pools.change(key, plan)
        usage = {book.family: await self._books.usage(book.name) for book in resolution.books}
        await self._write(key, raw, network, resolution, trouble, usage)
        if resolution.place is None:
            await self._demand.settle(key, resolution.offer)
        return WAITING if waiting or trouble is not None else None

    async def _protect(self, key: NetworkKey, raw: Json, network: ProxmoxNetwork) -> tuple[Json, ProxmoxNetwork]:
        """Put our finalizer on: before anything is given, so that it is returned."""
        if NETWORK_FINALIZER in network.metadata.finalizers or network.metadata.deleting:
            return raw, network
        metadata = {
            "finalizers": [*network.metadata.finalizers, NETWORK_FINALIZER],
            "resourceVersion": network.metadata.resource_version,
        }
        raw = await self._kube.patch(NETWORKS, key[1], {"metadata": metadata}, key[0])
        return raw, ProxmoxNetwork.model_validate(raw)

    async def _announce(
        self, key: NetworkKey, raw: Json, network: ProxmoxNetwork, offer: Offer | None
    ) -> tuple[Json, ProxmoxNetwork]:
        """Write what will be in force before anything follows it; conditions and numbers come when it does."""
        generation = network.metadata.generation
        said = network.status.conditions
        if not said:
            pending = Finding(NetworkReason.POOLS_PENDING, "its pools are being made")
            said = conditions((), statements(Resolution(offer), pending, {}), generation, self._clock.now())
        status = network_status(key, offer, {}, said, generation).to_json()
        before = raw.get("status") or {}
        for side in ("ipv4", "ipv6"):
            if side in status and "usage" in before.get(side, {}):
                status[side]["usage"] = before[side]["usage"]
        if "free" in before and "cidr" in status:
            status["free"] = before["free"]
        return await self._patch_status(key, raw, network, status)

    async def _is_overtaken(self, key: NetworkKey, offer: Offer, before: Offer | None) -> bool:
        """Whether another leader put a rival in force meanwhile.

        Each writes first and then looks at the others, so of two at the same moment at least one sees the other.
        Both may step back then; at the next try the better right decides, since neither is in force.
        """
        for namespace, name in self._catalog.on(offer.segment) - {key}:
            try:
                rival = ProxmoxNetwork.model_validate(await self._kube.get(NETWORKS, name, namespace))
            except NotFound:
                continue  # a row whose network is not made yet has nothing in force
            self._note((namespace, name), rival)
        if self._catalog.granted.get(key) is None and await self._demand.was_given(key, offer.segment):
            return True
        return bool(contested(key, offer, before, self._catalog.rivals(offer.segment)))

    async def _write(
        self,
        key: NetworkKey,
        raw: Json,
        network: ProxmoxNetwork,
        resolution: Resolution,
        trouble: Finding | None,
        usage: Mapping[Family, Usage],
    ) -> tuple[Json, ProxmoxNetwork]:
        """The whole status, with an Event for a new Ready."""
        said = conditions(
            network.status.conditions,
            statements(resolution, trouble, usage),
            network.metadata.generation,
            self._clock.now(),
        )
        status = network_status(key, resolution.offer, usage, said, network.metadata.generation).to_json()
        after, written = await self._patch_status(key, raw, network, status)
        self._tell(key, network, transitions(network.status.conditions, said))
        return after, written

    async def _patch_status(
        self, key: NetworkKey, raw: Json, network: ProxmoxNetwork, status: Json
    ) -> tuple[Json, ProxmoxNetwork]:
        """Write the status if it changed, with the version that was read: a newer one means to look again."""
        patch = merge_patch(raw.get("status") or {}, status)
        if not patch:
            return raw, network
        body = {"status": patch, "metadata": {"resourceVersion": network.metadata.resource_version}}
        after = await self._kube.patch(NETWORKS, key[1], body, key[0], subresource="status")
        written = ProxmoxNetwork.model_validate(after)
        self._note(key, written)
        return after, written

    def _tell(self, key: NetworkKey, network: ProxmoxNetwork, changed: Sequence[Any]) -> None:
        for condition in changed:
            if condition.type != "Ready":
                continue
            record = self._events.note if condition.status == "True" else self._events.warn
            record(
                NETWORKS.api_version,
                NETWORKS.kind,
                *key,
                network.metadata.uid,
                condition.reason,
                condition.message or "the network is ready",
            )

    async def _remove(
        self, key: NetworkKey, raw: Json, network: ProxmoxNetwork, resolution: Resolution, plan: PoolPlan
    ) -> float | None:
        """Nobody wants it and nothing holds it: pools first, then books and blocks, then the network."""
        namespace, name = key
        if not network.metadata.deleting:
            if not await self._confirm_unwanted(key, network.spec.zone):
                return SOON
            await self._kube.delete(NETWORKS, name, namespace, uid=network.metadata.uid)
            return SOON
        # From here on nothing is given, so that no address can appear between this look and the end.
        offer = self._catalog.current(key)
        for book in resolution.books:
            self._books.publish(book)
        if any((await self._holders(key)).values()):
            return SOON
        for family in self._published.get(key, ()):
            # Addresses at rest end with their blocks, and the next network on this segment would give them at once.
            held = (await self._books.usage(book_name(*key, family))).tally.held
            if held:
                await self._listing.hide(key)
                await self._write(key, raw, network, resting(resolution, held), None, {})
                return WAITING
        # Before anything is returned: from here on no new machine is let onto its VLAN or its pools.
        await self._listing.hide(key)
        if await self._machines.of(key):
            return SOON  # one was let on between the look at them and this
        await self._pools.change(key, plan)
        if plan.remaining:
            return ENDING
        await self._end(key, network, offer)
        return None

    async def _end(self, key: NetworkKey, network: ProxmoxNetwork, offer: Offer | None) -> None:
        for family in {*self._published.pop(key, set()), *(offer.spans if offer is not None else ())}:
            await self._books.withdraw(book_name(*key, family))
        await self._demand.give_back(key, network.metadata.uid)
        finalizers = [name for name in network.metadata.finalizers if name != NETWORK_FINALIZER]
        if len(finalizers) != len(network.metadata.finalizers):
            metadata = {"finalizers": finalizers, "resourceVersion": network.metadata.resource_version}
            await self._kube.patch(NETWORKS, key[1], {"metadata": metadata}, key[0])
        log.info("network removed", namespace=key[0], network=key[1])

    async def _confirm_unwanted(self, key: NetworkKey, zone_name: str) -> bool:
        """Ask the API server itself: a deletion cannot be taken back when the copy turns out to be old."""
        try:
            zone = ProxmoxNetworkZone.model_validate(await self._kube.get(ZONES, zone_name))
        except NotFound:
            return True
        self._catalog.put_zone(zone)
        return zone.metadata.deleting or self._catalog.offer(zone_name, key) is None

    async def _gone(self, key: NetworkKey) -> None:
        """Gone, normally after `_end`. If somebody forced our finalizer off, its holders keep the book alive."""
        before = self._catalog.networks.get(key)
        if before is not None:
            await self._listing.drop(key)
        for family in [*self._published.get(key, ())]:
            name = book_name(*key, family)
            if not await self._books.holders(name):
                await self._books.withdraw(name)
                self._published[key].discard(family)
        if not self._published.get(key):
            # A leader that lost its lease may make a pool after the one that leads took all of them away.
            await self._pools.change(key, plan_pools(key, None, await self._pools.read(key)))
            if before is not None:
                await self._demand.give_back(key, before.metadata.uid)
        for neighbour in self._catalog.drop_network(key):
            self._look(neighbour)
        if before is not None:
            self._demand.wake()
            self._told(before.spec.zone)
