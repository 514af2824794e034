"""VLANs of a bridge as bits of one number: bit n stands for VLAN n, so finding a free one costs the same always."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from provider.api.zone import ZoneSpec
from provider.core.names import NetworkKey

ALL = ((1 << 4094) - 1) << 1
"""VLANs 1 to 4094."""


def mask_of(vlans: Iterable[int]) -> int:
    mask = 0
    for vlan in vlans:
        mask |= 1 << vlan
    return mask & ALL


def span_mask(first: int, last: int) -> int:
    """VLANs first to last; none if the range is reversed."""
    return ((1 << max(last - first + 1, 0)) - 1) << first & ALL


def lowest(mask: int) -> int | None:
    return (mask & -mask).bit_length() - 1 if mask else None


class VlanCounts:
    """How often each VLAN of a bridge, or of another provider's network, is in use.

    Every user counts for itself, so one that goes does not free what another one still has.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int]] = Counter()
        self._masks: dict[str, int] = defaultdict(int)

    def enter(self, wire: str, vlan: int) -> None:
        self._counts[wire, vlan] += 1
        self._masks[wire] |= 1 << vlan

    def leave(self, wire: str, vlan: int) -> None:
        self._counts[wire, vlan] -= 1
        if not self._counts[wire, vlan]:
            del self._counts[wire, vlan]
            self._masks[wire] &= ~(1 << vlan)

    def mask(self, wire: str) -> int:
        """The VLANs in use, as bits."""
        return self._masks.get(wire, 0)

    def users(self, wire: str, vlan: int) -> int:
        return self._counts[wire, vlan]


@dataclass(frozen=True, slots=True)
class ZoneMasks:
    """What a zone's spec says of the VLANs of its bridge.

    Attributes:
        offered: what it gives on demand.
        reserved: what no zone on the bridge gives on demand.
        uplink: what no tenant may ever have.
        assigned: VLANs that are set aside for one network each.
        assignments: which ones.
    """

    offered: int
    reserved: int
    uplink: int
    assigned: int
    assignments: Mapping[NetworkKey, int]

    @classmethod
    def of(cls, spec: ZoneSpec) -> "ZoneMasks":
        offered = 0
        for each in spec.vlan_ranges:
            offered |= span_mask(each.first, each.last)
        return cls(
            offered=offered,
            reserved=mask_of(spec.reserved_vlans),
            uplink=mask_of(spec.uplink.vlans) if spec.uplink is not None else 0,
            assigned=mask_of(each.vlan for each in spec.static_assignments),
            assignments={(each.namespace, each.network): each.vlan for each in spec.static_assignments},
        )
