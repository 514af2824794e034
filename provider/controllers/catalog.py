"""Zones and networks as they were last read, with the look-ups by bridge and VLAN that finding overlaps needs.

Reading a row costs parsing, so it is done once a version of its zone. What is kept here may lag: before a network is
removed its zone is read from the API server itself.
"""

from collections import defaultdict
from collections.abc import Mapping

from provider.api.network import ProxmoxNetwork
from provider.api.zone import NetworkRow, ProxmoxNetworkZone
from provider.core.names import NetworkKey
from provider.core.offers import Offer, Segment, in_force, read_row, rows, segment_of
from provider.core.overlaps import Rival

Place = tuple[str, NetworkKey]
"""A zone's name and a row of its table."""


class Catalog:
    """All zones and networks. Every change returns the networks that it may matter to."""

    def __init__(self) -> None:
        self.zones: dict[str, ProxmoxNetworkZone] = {}
        self.networks: dict[NetworkKey, ProxmoxNetwork] = {}
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
            touched.add(key)
        for segment in {segment_of(zone, row) for row in self._rows[name].values()}:
            touched |= self.on(segment)
        return touched | self.of_zone(name)

    def drop_zone(self, name: str) -> set[NetworkKey]:
        touched = self._forget_zone(name)
        self.zones.pop(name, None)
        return touched | self.of_zone(name)

    def _forget_zone(self, name: str) -> set[NetworkKey]:
        zone = self.zones.get(name)
        touched: set[NetworkKey] = set()
        if zone is not None:
            for key, row in self._rows.pop(name, {}).items():
                segment = segment_of(zone, row)
                self._offered[segment].discard((name, key))
                self._offers.pop((name, key), None)
                touched |= {key} | self.on(segment)
        return touched

    def put_network(self, key: NetworkKey, network: ProxmoxNetwork) -> set[NetworkKey]:
        """Returns the neighbours that must look again, since what is in force of this network changed."""
        before = self._current.get(key)
        after = in_force(network.status)
        self.networks[key] = network
        if before == after:
            return set()
        touched = self._forget_current(key)
        if after is not None:
            self._current[key] = after
            self._settled[after.segment].add(key)
            touched |= self.on(after.segment)
        return touched - {key}

    def drop_network(self, key: NetworkKey) -> set[NetworkKey]:
        self.networks.pop(key, None)
        return self._forget_current(key) - {key}

    def _forget_current(self, key: NetworkKey) -> set[NetworkKey]:
        before = self._current.pop(key, None)
        if before is None:
            return set()
        self._settled[before.segment].discard(key)
        return self.on(before.segment)

    def on(self, segment: Segment) -> set[NetworkKey]:
        """Networks that are, or want to be, on a segment."""
        return {key for _, key in self._offered.get(segment, ())} | self._settled.get(segment, set())

    def of_zone(self, zone: str) -> set[NetworkKey]:
        """Networks that name a zone."""
        return {key for key, network in self.networks.items() if network.spec.zone == zone}

    def current(self, key: NetworkKey) -> Offer | None:
        return self._current.get(key)

    def offer(self, zone: str, key: NetworkKey) -> Offer | None:
        """What a zone's table offers a network."""
        known = self._offers.get((zone, key))
        row = self._rows.get(zone, {}).get(key)
        if known is None and row is not None:
            known = self._offers[zone, key] = read_row(self.zones[zone], key, row)
        return known

    def offers(self, zone: str) -> dict[NetworkKey, Offer]:
        """The whole table of a zone, read."""
        read = {key: self.offer(zone, key) for key in self._rows.get(zone, ())}
        return {key: offer for key, offer in read.items() if offer is not None}

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
