"""Text to addresses and back: the one place that knows how addresses, and a pool's ranges, are written.

A pool entry is a single address, a range "a-b" or a CIDR whose host bits are ignored (10.0.0.9/24 is the whole /24),
as the in-cluster provider reads them. Everything else is refused with the entry in the message.
"""

import enum
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass

from provider.core.ranges import Interval, Ranges


class Family(enum.StrEnum):
    IPv4 = "IPv4"
    IPv6 = "IPv6"

    @property
    def width(self) -> int:
        """Bits of an address."""
        return 32 if self is Family.IPv4 else 128


class AddressError(ValueError):
    """A text that is no address, range, CIDR or prefix, or one of the wrong family. The message names the text."""


@dataclass(frozen=True, slots=True)
class AddressSet:
    """What a list of entries stands for."""

    family: Family
    ranges: Ranges


def parse_address(text: str) -> tuple[Family, int]:
    """Read one address.

    Raises:
        AddressError: the text is no IPv4 or IPv6 address in canonical notation (no octal, no short forms, no zone).
    """
    # inet_pton is as strict as the API server, and twenty times as fast as the libraries: a start reads every address.
    family = Family.IPv6 if ":" in text else Family.IPv4
    try:
        packed = socket.inet_pton(socket.AF_INET6 if family is Family.IPv6 else socket.AF_INET, text)
    except (OSError, ValueError) as error:
        raise AddressError(f"{text!r} is no IP address") from error
    return family, int.from_bytes(packed)


def format_address(family: Family, address: int) -> str:
    """The canonical text: lower case and shortest form for IPv6.

    Not by inet_ntop: the C library writes the lowest IPv6 addresses as ::1.2.3.4, which the API server calls not
    canonical.
    """
    return str(ipaddress.IPv4Address(address) if family is Family.IPv4 else ipaddress.IPv6Address(address))


def parse_cidr(text: str) -> tuple[Family, Interval]:
    """Read "address/prefix", host bits ignored."""
    address, _, prefix = text.partition("/")
    family, value = parse_address(address)
    if not (prefix.isascii() and prefix.isdigit()) or int(prefix) > family.width:
        raise AddressError(f"{text!r}: the prefix must be a number from 0 to {family.width}")
    return family, subnet(family, value, int(prefix))


def parse_entry(text: str) -> tuple[Family, Interval]:
    """Read one pool entry.

    Raises:
        AddressError: no entry; a range that is reversed, or whose ends are of two families.
    """
    if "-" in text:
        first_text, _, last_text = text.partition("-")
        try:
            family, first = parse_address(first_text)
            last_family, last = parse_address(last_text)
        except AddressError as error:
            raise AddressError(f"{text!r} is no range: {error}") from error
        if family is not last_family:
            raise AddressError(f"{text!r} mixes IPv4 and IPv6")
        if first > last:
            raise AddressError(f"{text!r} is reversed: write {last_text}-{first_text}")
        return family, (first, last)
    if "/" in text:
        return parse_cidr(text)
    family, value = parse_address(text)
    return family, (value, value)


def parse_entries(entries: Iterable[str], expected: Family | None = None) -> AddressSet:
    """Read a pool's list of entries: the order does not matter, overlaps are joined.

    Raises:
        AddressError: an entry is bad, the list is empty, or it mixes families (or is not of the expected one).
    """
    family = expected
    intervals: list[Interval] = []
    for entry in entries:
        found, interval = parse_entry(entry)
        if family is not None and found is not family:
            raise AddressError(f"{entry!r} is {found}, but {family} addresses are wanted here")
        family = found
        intervals.append(interval)
    if family is None or (not intervals and expected is None):
        raise AddressError("the list of addresses is empty")
    return AddressSet(family, Ranges.of(intervals))


def subnet(family: Family, address: int, prefix: int) -> Interval:
    """First and last address of the subnet of this prefix length around an address.

    Raises:
        AddressError: the prefix does not fit the family (0 to 32, or 0 to 128).
    """
    if not 0 <= prefix <= family.width:
        raise AddressError(f"prefix {prefix} does not fit {family}: it must be from 0 to {family.width}")
    host = (1 << (family.width - prefix)) - 1
    first = address & ~host
    return first, first | host


def format_interval(family: Family, interval: Interval) -> str:
    """An interval as a pool entry."""
    first, last = interval
    if first == last:
        return format_address(family, first)
    return f"{format_address(family, first)}-{format_address(family, last)}"


def reserved_in_subnet(family: Family, address: int, prefix: int) -> Ranges:
    """What the peer calls reserved addresses: network and broadcast (IPv4), the subnet-router anycast (IPv6).

    Only of the one subnet around `address`, so x.x.0.255 inside a /16 stays allocatable. Also true of /31 and /32,
    as in the peer: their users ask for them with allocateReservedIPAddresses.
    """
    first, last = subnet(family, address, prefix)
    return Ranges.of([(first, first), (last, last)] if family is Family.IPv4 else [(first, first)])
