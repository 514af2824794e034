"""What the zones together keep from being given: on each bridge, and as address space. Read once a change of zones."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from provider.api.zone import ProxmoxNetworkZone
from provider.core.addresses import Family
from provider.core.asking import cidrs_of, space_of
from provider.core.names import NetworkKey
from provider.core.offers import Segment, row_field
from provider.core.spaces import Subnet
from provider.core.spans import Problem
from provider.core.vlans import ZoneMasks


@dataclass(frozen=True, slots=True)
class Bars:
    """What all zones say.

    Attributes:
        masks: of each zone.
        barred: bridge -> VLANs that are not given on demand but to whom they are assigned.
        uplink: bridge -> of these, what no tenant may have.
        provider_networks: bridge -> the names under which Kube-OVN has it, as its zones say.
        giving: bridges on which VLANs are given on demand.
        uplink_bridges: bridges that no tenant may be on.
        spaces: all that any zone calls its address space.
    """

    masks: Mapping[str, ZoneMasks] = field(default_factory=dict)
    barred: Mapping[str, int] = field(default_factory=dict)
    uplink: Mapping[str, int] = field(default_factory=dict)
    provider_networks: Mapping[str, frozenset[str]] = field(default_factory=dict)
    giving: frozenset[str] = frozenset()
    uplink_bridges: frozenset[str] = frozenset()
    spaces: Mapping[Family, tuple[Subnet, ...]] = field(default_factory=dict)

    def uplink_problem(self, segment: Segment) -> str | None:
        """Why no tenant may be on a segment; None if it may."""
        if segment.bridge in self.uplink_bridges:
            return f"bridge {segment.bridge} is one of a zone's uplink.bridges, where no tenant may be"
        if segment.vlan is not None and self.uplink.get(segment.bridge, 0) >> segment.vlan & 1:
            return f"{segment} is one of a zone's uplink.vlans, where no tenant may be"
        return None


def bars_of(zones: Iterable[ProxmoxNetworkZone]) -> Bars:
    masks: dict[str, ZoneMasks] = {}
    barred: dict[str, int] = {}
    uplink: dict[str, int] = {}
    provider_networks: dict[str, frozenset[str]] = defaultdict(frozenset)
    bridges: set[str] = set()
    giving: set[str] = set()
    spaces: dict[Family, tuple[Subnet, ...]] = {}
    for zone in zones:
        mask = masks[zone.metadata.name] = ZoneMasks.of(zone.spec)
        bridge = zone.spec.bridge
        barred[bridge] = barred.get(bridge, 0) | mask.reserved | mask.uplink | mask.assigned
        uplink[bridge] = uplink.get(bridge, 0) | mask.uplink
        if zone.spec.provider_network is not None:
            provider_networks[bridge] |= {zone.spec.provider_network}
        if mask.offered or mask.assigned:
            giving.add(bridge)
        if zone.spec.uplink is not None:
            bridges |= {*zone.spec.uplink.bridges}
        for family in Family:
            spaces[family] = (*spaces.get(family, ()), *cidrs_of(space_of(zone, family)))
    return Bars(masks, barred, uplink, {**provider_networks}, frozenset(giving), frozenset(bridges), spaces)


def denied(key: NetworkKey, segment: Segment, bars: Bars, holder: NetworkKey | None) -> tuple[Problem, ...]:
    """Why a row may not have its segment at all. `holder`: the network that was given the segment on demand."""
    problems: list[Problem] = []
    text = bars.uplink_problem(segment)
    if text is not None:
        problems.append(Problem(f"{row_field(key)}.vlan", f"{text}; use another VLAN"))
    if holder not in (None, key):
        text = f"{segment} was given to network {'/'.join(holder or ())} alone, on demand; use another VLAN"
        problems.append(Problem(f"{row_field(key)}.vlan", text, holder))
    return tuple(problems)
