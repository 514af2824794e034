"""Offers, holders and networks for tables, as short as they can be written."""

from datetime import UTC, datetime

from provider.core.addresses import Family, parse_address
from provider.core.blocks import Entry, State
from provider.core.networks import Holders, Seen
from provider.core.offers import Offer, Segment
from provider.core.spans import Span, read_span

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BLUE = ("team-a", "blue")


def span(*addresses: str, prefix: int = 24, gateway: str | None = "10.0.0.1", family: Family = Family.IPv4) -> Span:
    read, problems = read_span(family, addresses, (), prefix, gateway)
    assert read is not None, problems
    return read


def offer(*spans: Span, vlan: int | None = 107, bridge: str = "vmbr7", zone: str = "lab", age: int = 0) -> Offer:
    return Offer(
        zone=zone,
        segment=Segment(bridge, vlan),
        mtu=None,
        reuse_seconds=60,
        metric=100,
        spans={each.family: each for each in spans},
        order=(datetime(2026, 1, 1 + age, tzinfo=UTC), zone, BLUE),
    )


def holders(*addresses: str) -> Holders:
    found: dict[Family, list[tuple[int, Entry]]] = {}
    for text in addresses:
        family, address = parse_address(text)
        entry = Entry(State.ALLOCATED, f"IPAddressClaim/team-a/m-{text.rpartition('.')[2]}", NOW)
        found.setdefault(family, []).append((address, entry))
    return found


def seen(**known: object) -> Seen:
    facts = {"key": BLUE, "zone": "lab", "deleting": False, "made_by_us": True, "current": None, "zone_exists": True}
    return Seen(**{"wanted": None, **facts, **known})  # type: ignore[arg-type]
