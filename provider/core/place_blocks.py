"""One NetworkBlock as a value: 256 VLANs of a bridge, or one large subnet, and which networks hold what of it.

A block is aligned on the number or the address, never on a range that somebody may edit, and no place lies in two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from provider.core.addresses import AddressError, Family, format_address, parse_address
from provider.core.names import NetworkKey
from provider.core.offers import Segment
from provider.core.spaces import Subnet

VLANS = 256
LARGEST = {Family.IPv4: 16, Family.IPv6: 56}
"""Prefix of a block of addresses: the largest network on demand."""
SMALLEST = {Family.IPv4: 29, Family.IPv6: 124}
"""Prefix of the smallest network on demand."""

HOLDER = "ProxmoxNetwork"


@dataclass(frozen=True, slots=True)
class BlockId:
    """Which block. `book` is vlan/<bridge> or space/<family>, `range` what of it, both as the API says them."""

    book: str
    range: str


@dataclass(frozen=True, slots=True)
class Place:
    """A VLAN of a bridge or a subnet: where its entry stands, and under which key."""

    block: BlockId
    key: str


@dataclass(frozen=True, slots=True)
class Holding:
    """Who holds a place."""

    network: NetworkKey
    uid: str
    since: datetime

    @property
    def holder(self) -> str:
        return f"{HOLDER}/{self.network[0]}/{self.network[1]}"


@dataclass(frozen=True, slots=True)
class PlaceBlock:
    """A block as it was last read or written. `version` is empty when it does not exist."""

    id: BlockId
    entries: Mapping[str, Holding] = field(default_factory=dict)
    version: str = ""

    def changed(self, changes: Mapping[str, Holding | None], version: str) -> "PlaceBlock":
        entries = {**self.entries, **changes}
        return PlaceBlock(self.id, {key: entry for key, entry in entries.items() if entry is not None}, version)


def vlan_place(bridge: str, vlan: int) -> Place:
    base = vlan - vlan % VLANS
    return Place(BlockId(f"vlan/{bridge}", f"{base}-{base + VLANS - 1}"), str(vlan))


def subnet_place(family: Family, subnet: Subnet) -> Place:
    """Where a subnet is written down; it must not be larger than a block."""
    return Place(BlockId(f"space/{family}", _text(family, block_subnet(family, subnet[0]))), _text(family, subnet))


def block_subnet(family: Family, address: int) -> Subnet:
    """The subnet of the block around an address."""
    host = family.width - LARGEST[family]
    return address >> host << host, LARGEST[family]


def segment_of(place: Place) -> Segment | None:
    """The VLAN that a place is; None for a subnet, or for a key that is none."""
    kind, _, bridge = place.block.book.partition("/")
    if kind != "vlan" or not (place.key.isascii() and place.key.isdigit() and 1 <= int(place.key) <= 4094):
        return None
    return Segment(bridge, int(place.key))


def subnet_in(place: Place) -> tuple[Family, Subnet] | None:
    """The subnet that a place is; None for a VLAN, or for a key that is none."""
    if not place.block.book.startswith("space/"):
        return None
    address, _, prefix = place.key.partition("/")
    try:
        family, first = parse_address(address)
    except AddressError:
        return None
    if place.block.book != f"space/{family}" or not (prefix.isascii() and prefix.isdigit()):
        return None
    length = int(prefix)
    if not LARGEST[family] <= length <= family.width or first & ((1 << (family.width - length)) - 1):
        return None
    return family, (first, length)


def _text(family: Family, subnet: Subnet) -> str:
    return f"{format_address(family, subnet[0])}/{subnet[1]}"
