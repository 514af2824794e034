"""Networks on demand: whether a network is one, whether its namespace is selected, and what it was given."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from provider.api.network import ProxmoxNetwork
from provider.controllers.catalog import Catalog
from provider.controllers.places import Places
from provider.core.granting import Grant
from provider.core.names import MANAGED_BY, NetworkKey
from provider.core.networks import Finding, NetworkReason
from provider.core.offers import Offer, Segment
from provider.core.place_blocks import Place, vlan_place
from provider.core.selectors import selects

Labels = Callable[[str], Awaitable[Mapping[str, str]]]
"""The labels of a namespace; none if it is not there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a network on demand is told beside its offer, which is in the catalog.

    Attributes:
        refused: why it gets no place, or not the one that it should have.
        notes: what is worth saying although nothing is wrong.
    """

    refused: Finding | None = None
    notes: tuple[str, ...] = ()


class Demand:
    """Puts into the catalog what each network on demand is given."""

    def __init__(self, catalog: Catalog, places: Places, labels: Labels) -> None:
        self._catalog = catalog
        self._places = places
        self._labels = labels
        self._wanted: dict[NetworkKey, tuple[Place, ...]] = {}

    def concerns(self, key: NetworkKey, network: ProxmoxNetwork) -> bool:
        """Whether a network stands in no table, and was not made from one."""
        made_from_row = network.metadata.labels.get(MANAGED_BY[0]) == MANAGED_BY[1]
        return self._catalog.offer(network.spec.zone, key) is None and not made_from_row

    def recall(self, key: NetworkKey) -> None:
        """At the start: what a network holds and has in force it has, so that its claims are answered at once."""
        current = self._catalog.current(key)
        if current is not None and self._places.holds(key):
            self._catalog.granted[key] = current

    async def answer(self, key: NetworkKey, network: ProxmoxNetwork) -> Answer:
        """Give the network its place. Its finalizer must be on it: what is written down here must be returned.

        Raises:
            Conflict, Unavailable: it was not possible now; try again.
        """
        if network.metadata.deleting:
            return Answer()
        zone = self._catalog.zones.get(network.spec.zone)
        if zone is None or zone.metadata.deleting or not self.concerns(key, network):
            self._wanted.pop(key, None)
            self._catalog.granted.pop(key, None)
            return Answer()
        current = self._catalog.current(key)
        uplink = self._catalog.bars.uplink_problem(Segment(zone.spec.bridge, None))
        if uplink is not None and current is None:
            return Answer(Finding(NetworkReason.ZONE_INVALID, f"zone {zone.metadata.name}: {uplink}"))
        selected = selects(zone.spec.namespace_selector, await self._labels(key[0]))
        found = await self._places.grant(key, network, zone, selected=selected)
        if isinstance(found, Grant):
            self._wanted[key] = found.places
            self._catalog.granted[key] = found.offer
            return Answer(notes=found.notes)
        if current is not None and found.reason is not NetworkReason.NAMESPACE_NOT_ALLOWED:
            # What it has it keeps, and goes on giving addresses.
            self._catalog.granted[key] = current
        else:
            self._catalog.granted.pop(key, None)
        return Answer(found)

    async def settle(self, key: NetworkKey, offer: Offer | None) -> None:
        """What is in force is what was given by now: return what the network held before."""
        if self._places.holds(key) and offer is not None:
            network = self._catalog.networks.get(key)
            if network is not None and offer == self._catalog.wanted(network.spec.zone, key):
                await self._places.keep(key, self._wanted.get(key, ()))

    async def give_back(self, key: NetworkKey, uid: str) -> None:
        """Return all that the network holds: nothing of it may be in force any more. Safe to repeat."""
        self._wanted.pop(key, None)
        self._catalog.granted.pop(key, None)
        await self._places.give_back(key, uid)

    def wake(self) -> None:
        """A network left what it had in force, of a table or on demand: have those look that wait for a place."""
        self._places.wake()

    async def was_given(self, key: NetworkKey, segment: Segment) -> bool:
        """Whether a VLAN that a row wants was given to another network, asked of the API server itself."""
        if segment.vlan is None or segment.bridge not in self._catalog.bars.giving:
            return False
        return await self._places.seen_live(segment, vlan_place(segment.bridge, segment.vlan)) not in (None, key)
