"""Zones and networks as they were last read, with the look-ups by bridge and VLAN that finding overlaps needs.

Reading a row costs parsing, so it is done once a change of its zone. What is kept here may lag: before a network is
removed its zone is read from the API server itself.
"""

from collections import defaultdict
from collections.abc import Mapping

from provider.api.network import ProxmoxNetwork
from provider.api.zone import NetworkRow, ProxmoxNetworkZone
from provider.core.bars import Bars, bars_of
from provider.core.ground import Ground
from provider.core.names import NetworkKey
from provider.core.offers import Offer, Segment, in_force, read_row, rows, segment_of
from provider.core.overlaps import Rival
from provider.core.vlans import VlanCounts

Place = tuple[str, NetworkKey]
"""A zone's name and a row of its table."""


class Catalog:
    """All zones and networks. Every change returns the networks that it may matter to."""

    def __init__(self) -> None:
        self.zones: dict[str, ProxmoxNetworkZone] = {}
        self.networks: dict[NetworkKey, ProxmoxNetwork] = {}
        self.ground = Ground()
        self.bars = Bars()
        self.kube_ovn = VlanCounts()
        """VLANs of Kube-OVN's Vlans, by provider network."""
        self.granted: dict[NetworkKey, Offer] = {}
        """What was given on demand, as it should be by now."""
        self._members: dict[str, set[NetworkKey]] = defaultdict(set)
        self._homes: dict[str, set[NetworkKey]] = defaultdict(set)
        self._rows: dict[str, dict[NetworkKey, NetworkRow]] = {}
        self._offers: dict[Place, Offer] = {}
        self._offered: dict[Segment, set[Place]] = defaultdict(set)
        self._current: dict[NetworkKey, Offer] = {}
        self._settled: dict[Segment, set[NetworkKey]] = defaultdict(set)

    @property
    def bridges(self) -> Mapping[str, str]:
        return {name: zone.spec.bridge for name, zone in self.zones.items()}

    def put_zone(self, zone: ProxmoxNetworkZone) -> set[NetworkKey]:
        name = zone.metadata.name
        before = self.zones.get(name)
        if before is not None and before.metadata.resource_version == zone.metadata.resource_version:
            return set()
        if before is not None and before.spec == zone.spec and before.metadata.deleting == zone.metadata.deleting:
            self.zones[name] = zone
            return set()
        touched = self._forget_zone(name)
        self.zones[name] = zone
        self._rows[name] = dict(rows(zone))
        for key, row in self._rows[name].items():
            self._offered[segment_of(zone, row)].add((name, key))
            offer = self._offers[name, key] = read_row(zone, key, row)
            self.ground.enter(offer)
            touched.add(key)
        self.bars = bars_of(self.zones.values())
        for segment in {segment_of(zone, row) for row in self._rows[name].values()}:
            touched |= self.on(segment)
        return touched | self.of_zone(name)

    def drop_zone(self, name: str) -> set[NetworkKey]:
        touched = self._forget_zone(name)
        self.zones.pop(name, None)
        self.bars = bars_of(self.zones.values())
        return touched | self.of_zone(name)

    def _forget_zone(self, name: str) -> set[NetworkKey]:
        zone = self.zones.get(name)
        touched: set[NetworkKey] = set()
        if zone is not None:
            for key, row in self._rows.pop(name, {}).items():
                segment = segment_of(zone, row)
                self._offered[segment].discard((name, key))
                self.ground.leave(self._offers.pop((name, key)))
                touched |= {key} | self.on(segment)
        return touched

    def put_network(self, key: NetworkKey, network: ProxmoxNetwork) -> set[NetworkKey]:
        """Returns the neighbours that must look again, since what is in force of this network changed."""
        before = self._current.get(key)
        after = in_force(network.status)
        known = self.networks.get(key)
        if known is not None:
            self._members[known.spec.zone].discard(key)
        self.networks[key] = network
        self._members[network.spec.zone].add(key)
        self._homes[key[0]].add(key)
        if before == after:
            return set()
        touched = self._forget_current(key)
        if after is not None:
            self._current[key] = after
            self.ground.enter(after)
            self._settled[after.segment].add(key)
            touched |= self.on(after.segment)
        return touched - {key}

    def drop_network(self, key: NetworkKey) -> set[NetworkKey]:
        network = self.networks.pop(key, None)
        if network is not None:
            self._members[network.spec.zone].discard(key)
            self._homes[key[0]].discard(key)
        self.granted.pop(key, None)
        return self._forget_current(key) - {key}

    def _forget_current(self, key: NetworkKey) -> set[NetworkKey]:
        before = self._current.pop(key, None)
        if before is None:
            return set()
        self._settled[before.segment].discard(key)
        self.ground.leave(before)
        return self.on(before.segment)

    def on(self, segment: Segment) -> set[NetworkKey]:
        """Networks that are, or want to be, on a segment."""
        return {key for _, key in self._offered.get(segment, ())} | self._settled.get(segment, set())

    def of_zone(self, zone: str) -> set[NetworkKey]:
        """Networks that name a zone."""
        return {*self._members.get(zone, ())}

    def size(self, zone: str) -> int:
        """How many networks a zone has, about: rows, and networks that name it."""
        return len(self._rows.get(zone, ())) + len(self._members.get(zone, ()))

    def of_namespace(self, namespace: str) -> set[NetworkKey]:
        return {*self._homes.get(namespace, ())}

    def foreign(self, bridge: str) -> int:
        """VLANs of a bridge that belong to Kube-OVN's Vlans, as bits."""
        found = 0
        for name in self.bars.provider_networks.get(bridge, ()):
            found |= self.kube_ovn.mask(name)
        return found

    def current(self, key: NetworkKey) -> Offer | None:
        return self._current.get(key)

    def offer(self, zone: str, key: NetworkKey) -> Offer | None:
        """What a zone's table offers a network."""
        return self._offers.get((zone, key))

    def wanted(self, zone: str, key: NetworkKey) -> Offer | None:
        """What a network should have: its row, or else what it was given on demand."""
        return self.offer(zone, key) or self.granted.get(key)

    def offers(self, zone: str) -> dict[NetworkKey, Offer]:
        """The whole table of a zone, read."""
        return {key: self._offers[zone, key] for key in self._rows.get(zone, ())}

    def rivals(self, segment: Segment) -> list[Rival]:
        """All that are, or want to be, on a segment."""
        found: list[Rival] = []
        for zone, key in self._offered.get(segment, ()):
            network = self.networks.get(key)
            if network is None or network.spec.zone == zone:
                found.append(Rival(key, self.offer(zone, key), self.current(key)))
        told = {rival.key for rival in found}
        found += [Rival(key, None, self.current(key)) for key in self._settled.get(segment, ()) if key not in told]
        return found
