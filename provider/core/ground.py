"""All that is in use of VLANs and of address space: by tables, by networks in force, and by what was given on demand.

Every user counts once for each reason, so one that goes does not free what another one still has.
"""

from provider.core.addresses import Family
from provider.core.names import NetworkKey
from provider.core.offers import Offer, Segment
from provider.core.spaces import Space, Subnet
from provider.core.spans import Span
from provider.core.vlans import VlanCounts


def subnet_of(span: Span) -> Subnet:
    return span.subnet[0], span.prefix


class Ground:
    """`holders` has the VLANs given on demand: each is one network's alone."""

    def __init__(self) -> None:
        self.spaces = {family: Space(family) for family in Family}
        self.holders: dict[Segment, NetworkKey] = {}
        self._vlans = VlanCounts()

    def enter(self, offer: Offer) -> None:
        """A row of a table, or what a network has in force."""
        self.enter_segment(offer.segment)
        for family, span in offer.spans.items():
            self.spaces[family].take(subnet_of(span))

    def leave(self, offer: Offer) -> None:
        self.leave_segment(offer.segment)
        for family, span in offer.spans.items():
            self.spaces[family].release(subnet_of(span))

    def enter_segment(self, segment: Segment) -> None:
        if segment.vlan is not None:
            self._vlans.enter(segment.bridge, segment.vlan)

    def leave_segment(self, segment: Segment) -> None:
        if segment.vlan is not None:
            self._vlans.leave(segment.bridge, segment.vlan)

    def mask(self, bridge: str) -> int:
        """The VLANs of a bridge that are in use, as bits."""
        return self._vlans.mask(bridge)

    def users(self, segment: Segment) -> int:
        return self._vlans.users(segment.bridge, segment.vlan) if segment.vlan is not None else 0
