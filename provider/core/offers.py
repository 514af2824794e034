"""What a zone's table offers each network, and what a network has in force: bridge, VLAN and addresses, as values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from provider.api.addressing import Space
from provider.api.network import FamilyStatus, NetworkStatus
from provider.api.zone import NetworkRow, ProxmoxNetworkZone
from provider.core.addresses import Family
from provider.core.names import NetworkKey
from provider.core.spans import Problem, Span, read_span


@dataclass(frozen=True, slots=True)
class Segment:
    """One broadcast domain: a bridge and a VLAN on it."""

    bridge: str
    vlan: int | None

    def __str__(self) -> str:
        return f"{self.bridge} VLAN {self.vlan}" if self.vlan is not None else f"{self.bridge} untagged"


@dataclass(frozen=True, slots=True)
class Offer:
    """A place for a network.

    Attributes:
        zone: name of the zone.
        mtu: bytes, 1 for the bridge's own, None for Proxmox's choice.
        reuse_seconds: rest of a released address.
        metric: of the default route.
        spans: by family; a family with problems is missing.
        problems: what is wrong with the row; then nothing of it is used.
        order: the earlier one keeps the addresses where two offers want the same: zone age, zone, namespace, name.
    """

    zone: str
    segment: Segment
    mtu: int | None
    reuse_seconds: int
    metric: int
    spans: Mapping[Family, Span]
    problems: tuple[Problem, ...] = ()
    order: tuple[datetime, str, NetworkKey] = field(
        default=(datetime.max.replace(tzinfo=UTC), "", ("", "")), compare=False
    )


def row_field(key: NetworkKey) -> str:
    """How messages name a row of a zone's table."""
    return f"spec.networks[{key[0]}][{key[1]}]"


def rows(zone: ProxmoxNetworkZone) -> Iterator[tuple[NetworkKey, NetworkRow]]:
    for namespace, table in zone.spec.networks.items():
        for row in table:
            yield (namespace, row.name), row


def segment_of(zone: ProxmoxNetworkZone, row: NetworkRow) -> Segment:
    return Segment(zone.spec.bridge, row.vlan)


def read_row(zone: ProxmoxNetworkZone, key: NetworkKey, row: NetworkRow) -> Offer:
    """What the zone's row offers."""
    spans: dict[Family, Span] = {}
    problems: list[Problem] = []
    if row.ipv4 is None and row.ipv6 is None:
        problems.append(Problem(row_field(key), "has neither ipv4 nor ipv6; a network needs addresses"))
    spaces: tuple[tuple[Family, Space | None], ...] = ((Family.IPv4, row.ipv4), (Family.IPv6, row.ipv6))
    for family, space in spaces:
        if space is None:
            continue
        span, found = read_span(family, space.addresses, space.excluded_addresses, space.prefix, space.gateway)
        prefix = f"{row_field(key)}.{family.lower()}"
        problems += [Problem(f"{prefix}.{problem.field}", problem.message) for problem in found]
        if span is not None:
            spans[family] = span
    return Offer(
        zone=zone.metadata.name,
        segment=segment_of(zone, row),
        mtu=row.mtu if row.mtu is not None else zone.spec.mtu,
        reuse_seconds=zone.spec.address_reuse_seconds,
        metric=zone.spec.route_metric,
        spans=spans,
        problems=tuple(problems),
        order=(zone.metadata.creation_timestamp or datetime.max.replace(tzinfo=UTC), zone.metadata.name, key),
    )


def in_force(status: NetworkStatus) -> Offer | None:
    """What a network's status says is in force, None when there is nothing yet (or it cannot be read any more)."""
    if status.bridge is None or status.zone is None:
        return None
    spans: dict[Family, Span] = {}
    sides: tuple[tuple[Family, FamilyStatus | None], ...] = ((Family.IPv4, status.ipv4), (Family.IPv6, status.ipv6))
    for family, side in sides:
        if side is None:
            continue
        span, _ = read_span(family, side.addresses, side.excluded_addresses, side.prefix, side.gateway)
        if span is not None:
            spans[family] = span
    if not spans:
        return None
    segment = Segment(status.bridge, status.vlan)
    return Offer(status.zone, segment, status.mtu, status.address_reuse_seconds or 0, status.route_metric or 0, spans)
