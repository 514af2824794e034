"""Which VLAN and which subnets a network on demand gets. Pure: what is chosen here counts once it is written down.

What a network holds it keeps, whatever becomes of ranges, selectors and address space; only an assignment by the admin
moves it, and that waits like any edit of a table.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from provider.api.network import Ipv4Request, Ipv6Request
from provider.core.addresses import Family
from provider.core.asking import Ask
from provider.core.networks import Finding, NetworkReason
from provider.core.offers import Offer, Segment
from provider.core.place_blocks import Place, vlan_place
from provider.core.spans import Span
from provider.core.subnets import Request, choose_subnet
from provider.core.vlans import lowest


@dataclass(frozen=True, slots=True)
class Grant:
    """A place on demand.

    Attributes:
        places: what must be written down for the network before it counts.
        notes: what is worth saying although nothing is wrong.
    """

    offer: Offer
    places: tuple[Place, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Choice:
    places: list[Place] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    spans: dict[Family, Span] = field(default_factory=dict)


def choose(ask: Ask) -> Grant | Finding:
    """Choose a network's places, the lowest free ones first. Never raises, whatever the data."""
    name = ask.zone.metadata.name
    if not ask.selected and (not ask.held or ask.current is None):
        return _not_allowed(ask)
    choice = _Choice()
    if not ask.selected:
        choice.notes.append(f"zone {name} does not select namespace {ask.key[0]} any more; the network keeps its place")
    vlan = _vlan(ask)
    if isinstance(vlan, Finding):
        return vlan
    choice.places.append(vlan_place(ask.zone.spec.bridge, vlan))
    if not ask.masks.offered >> vlan & 1 and ask.masks.assignments.get(ask.key) != vlan:
        choice.notes.append(f"VLAN {vlan} is not in the zone's vlanRanges any more; the network keeps it")
    if ask.foreign >> vlan & 1:
        choice.notes.append(f"VLAN {vlan} is by now also that of a Vlan of Kube-OVN; the network keeps it")
    families = _families(ask)
    if not families:
        text = f"zone {name} has no addressSpace, and the network asks for no addresses of its own in spec"
        return Finding(NetworkReason.SPEC_INVALID, text)
    for family, request in families.items():
        side = choose_subnet(ask, family, request)
        if isinstance(side, Finding):
            return side
        choice.spans[family] = side.span
        choice.places += [side.place] if side.place is not None else []
        choice.notes += [side.note] if side.note else []
    spec = ask.zone.spec
    offer = Offer(
        zone=name,
        segment=Segment(spec.bridge, vlan),
        mtu=spec.mtu,
        reuse_seconds=spec.address_reuse_seconds,
        metric=spec.route_metric,
        spans=choice.spans,
        order=(ask.zone.metadata.creation_timestamp or datetime.max.replace(tzinfo=UTC), name, ask.key),
    )
    return Grant(offer, tuple(choice.places), tuple(choice.notes))


def _not_allowed(ask: Ask) -> Finding:
    namespace, name = ask.key
    zone = ask.zone.metadata.name
    text = f"zone {zone} has no row {name!r} for namespace {namespace!r} in spec.networks"
    if ask.zone.spec.namespace_selector is not None:
        text += ", and its namespaceSelector does not select that namespace"
    return Finding(NetworkReason.NAMESPACE_NOT_ALLOWED, f"{text}; ask its admin for one")


def _vlan(ask: Ask) -> int | Finding:
    name, bridge = ask.zone.metadata.name, ask.zone.spec.bridge
    held = sorted(each.vlan for each in ask.held_segments if each.bridge == bridge and each.vlan is not None)
    now = ask.current.segment.vlan if ask.current is not None and ask.current.segment.bridge == bridge else None
    assigned = ask.masks.assignments.get(ask.key)
    if assigned is not None:
        if ask.uplink >> assigned & 1:
            text = (
                f"VLAN {assigned}, which zone {name} assigns to it, is an uplink's on {bridge}, where no tenant may be"
            )
            return Finding(NetworkReason.ZONE_INVALID, text)
        if assigned not in held and not ask.is_mine_alone(Segment(bridge, assigned)):
            text = f"VLAN {assigned}, which zone {name} assigns to it, is in use by another network on {bridge}"
            return Finding(NetworkReason.VLAN_CONFLICT, text)
        return assigned
    if held:
        return now if now in held else held[0]
    if now is not None and not ask.uplink >> now & 1 and ask.is_mine_alone(Segment(bridge, now)):
        return now
    free = lowest(ask.masks.offered & ~ask.barred & ~ask.foreign & ~ask.ground.mask(bridge))
    if free is None:
        text = f"zone {name} has no free VLAN; delete a network or ask its admin to extend spec.vlanRanges"
        return Finding(NetworkReason.ZONE_EXHAUSTED, text)
    return free


def _families(ask: Ask) -> dict[Family, Request]:
    """The families to give, and what is asked of each."""
    spec = ask.network.spec
    asked: dict[Family, Request] = {}
    if spec.ipv4 is not None:
        asked[Family.IPv4] = spec.ipv4
    if spec.ipv6 is not None:
        asked[Family.IPv6] = spec.ipv6
    if asked:
        return asked
    # A space that comes later must not change a network that is in force: its pools would get other names.
    if ask.current is not None:
        given = {family: family in ask.current.spans for family in Family}
    else:
        given = {family: ask.space(family) is not None for family in Family}
    empty: dict[Family, Request] = {Family.IPv4: Ipv4Request(), Family.IPv6: Ipv6Request()}
    return {family: empty[family] for family in Family if given[family]}
