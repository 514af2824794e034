"""All that decides which place a network on demand gets, as one value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from provider.api.network import ProxmoxNetwork
from provider.api.on_demand import Ipv4AddressSpace, Ipv6AddressSpace
from provider.api.zone import ProxmoxNetworkZone
from provider.core.addresses import Family, parse_cidr
from provider.core.ground import Ground, subnet_of
from provider.core.names import NetworkKey
from provider.core.offers import Offer, Segment
from provider.core.place_blocks import Place, segment_of, subnet_in
from provider.core.spaces import Subnet
from provider.core.vlans import ZoneMasks

ZoneSpace = Ipv4AddressSpace | Ipv6AddressSpace


@dataclass(frozen=True, slots=True)
class Ask:
    """All that a choice depends on.

    Attributes:
        current: what the network has in force.
        held: what is written down for it, in any block.
        selected: whether the zone selects its namespace.
        masks: of the zone.
        barred: VLANs that no network on this bridge gets without an assignment, because of any zone on it.
        uplink: of these, what no tenant may have at all.
        foreign: VLANs of this bridge that belong to Kube-OVN's Vlans; none of these is given either.
        spaces: what all zones together call address space.
        ground: what is in use, this network's own places included.
    """

    key: NetworkKey
    zone: ProxmoxNetworkZone
    network: ProxmoxNetwork
    current: Offer | None
    held: Sequence[Place]
    selected: bool
    masks: ZoneMasks
    barred: int
    uplink: int
    foreign: int
    spaces: Mapping[Family, Sequence[Subnet]]
    ground: Ground

    @property
    def held_segments(self) -> list[Segment]:
        return [segment for segment in map(segment_of, self.held) if segment is not None]

    def held_subnets(self, family: Family) -> list[Subnet]:
        found = [subnet for subnet in map(subnet_in, self.held) if subnet is not None]
        return [subnet for of, subnet in found if of is family]

    def is_mine_alone(self, segment: Segment) -> bool:
        """Whether nobody else is on a segment, or wants to be."""
        mine = [*self.held_segments, *([self.current.segment] if self.current is not None else ())]
        return self.ground.users(segment) == mine.count(segment)

    def is_free(self, family: Family, subnet: Subnet) -> bool:
        """Whether nobody else has, or wants, any of a subnet."""
        mine = self.held_subnets(family)
        if self.current is not None and family in self.current.spans:
            mine.append(subnet_of(self.current.spans[family]))
        return self.ground.spaces[family].is_free(subnet, mine)

    def space(self, family: Family) -> ZoneSpace | None:
        """What the zone has for networks of this family."""
        return space_of(self.zone, family)


def space_of(zone: ProxmoxNetworkZone, family: Family) -> ZoneSpace | None:
    space = zone.spec.address_space
    if space is None:
        return None
    return space.ipv4 if family is Family.IPv4 else space.ipv6


def cidrs_of(space: ZoneSpace | None) -> list[Subnet]:
    """The CIDRs of an address space, the lowest first. The API server let none in that cannot be read."""
    return sorted(map(_read_cidr, space.cidrs)) if space is not None else []


def _read_cidr(text: str) -> Subnet:
    family, (first, last) = parse_cidr(text)
    return first, family.width - (last - first).bit_length()
