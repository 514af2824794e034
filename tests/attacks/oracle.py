"""Plain Python of what admission must say of a machine's NICs: the rules, written again from their description.

It knows nothing of CEL and shares no code with the policies, so that one cannot be wrong in the way of the other.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass

GOOD = frozenset(string.ascii_letters + string.digits + "_.-")


@dataclass(frozen=True, slots=True)
class Place:
    """A network of the namespace."""

    bridge: str
    vlan: int | None
    pools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Nic:
    """A NIC as it is asked for. `pools` are kind and name."""

    bridge: str | None
    vlan: int | None
    pools: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Zone:
    bridge: str
    uplink_bridges: tuple[str, ...]
    uplink_vlans: tuple[int, ...]


def allowed(zones: Sequence[Zone], places: Sequence[Place], nics: Sequence[Nic], *, template: bool) -> bool:
    """Whether a machine of these NICs, or a template of such machines, may be made in the namespace of the places."""
    if len(nics) > 10 or (not nics and not template):
        return False
    return all(_fine(zones, places, nic, template=template) for nic in nics)


def _fine(zones: Sequence[Zone], places: Sequence[Place], nic: Nic, *, template: bool) -> bool:
    if nic.bridge is None:
        return template
    if not nic.bridge or not set(nic.bridge) <= GOOD:
        return False
    guarded = False
    for zone in zones:
        for uplink in zone.uplink_bridges:
            if nic.bridge.casefold() == uplink.casefold():
                return False
        if nic.bridge.casefold() != zone.bridge.casefold():
            continue
        if nic.bridge != zone.bridge or nic.vlan in zone.uplink_vlans:
            return False
        guarded = True
    return not guarded or any(_on(nic, place) for place in places)


def _on(nic: Nic, place: Place) -> bool:
    if (nic.bridge, nic.vlan) != (place.bridge, place.vlan):
        return False
    return all(kind == "InClusterIPPool" and name in place.pools for kind, name in nic.pools)
