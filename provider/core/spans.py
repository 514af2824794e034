"""One family's addresses of a network, read from text, with everything that is wrong with them.

Nothing raises: bad text becomes problems, each with the field, the value and what to do. Costs nothing for a /8 or a
/48.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from provider.core.addresses import (
    AddressError,
    Family,
    format_address,
    parse_address,
    parse_entry,
    reserved_in_subnet,
    subnet,
)
from provider.core.names import NetworkKey
from provider.core.ranges import Interval, Ranges

SOMEBODY = "a network of another tenant"
"""What one tenant is told of another's network."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that makes a field unusable.

    Attributes:
        other: the network that the message names, where there is one.
    """

    field: str
    message: str
    other: NetworkKey | None = None

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def told(self, namespace: str) -> str:
        """As a tenant of this namespace may read it: other tenants' networks have no names there."""
        if self.other is None or self.other[0] == namespace:
            return str(self)
        return str(self).replace(f"network {'/'.join(self.other)}", SOMEBODY)


@dataclass(frozen=True, slots=True)
class Span:
    """The addresses of one family of a network.

    Attributes:
        entries, excluded_entries: as they were written.
        subnet: first and last address of the one subnet that all of `ranges` lie in.
        ranges: all addresses of `entries`.
        excluded: all addresses of `excluded_entries`.
    """

    family: Family
    entries: tuple[str, ...]
    excluded_entries: tuple[str, ...]
    prefix: int
    gateway: str | None
    subnet: Interval
    ranges: Ranges
    excluded: Ranges

    @property
    def cidr(self) -> str:
        return f"{format_address(self.family, self.subnet[0])}/{self.prefix}"

    @property
    def allocatable(self) -> Ranges:
        """Without exclusions, the gateway, and what a subnet keeps for itself."""
        taken = self.excluded
        if self.prefix < self.family.width - 1:
            # A subnet of one or two addresses has no network and broadcast address (RFC 3021, RFC 6164).
            taken = taken.union(reserved_in_subnet(self.family, self.subnet[0], self.prefix))
        if self.gateway is not None:
            gateway = parse_address(self.gateway)[1]
            taken = taken.union(Ranges(((gateway, gateway),)))
        return self.ranges.difference(taken)

    def same_subnet(self, other: "Span") -> bool:
        """Whether machines of both can share the wire with one configuration: subnet and gateway."""
        return (self.subnet, self.gateway) == (other.subnet, other.gateway)


def read_span(
    family: Family, addresses: Sequence[str], excluded: Sequence[str], prefix: int, gateway: str | None
) -> tuple[Span | None, tuple[Problem, ...]]:
    """Read the fields of one family: the span, or None and what is wrong. All problems at once, not the first alone."""
    problems: list[Problem] = []
    ranges = _read_entries("addresses", family, addresses, problems)
    taken = _read_entries("excludedAddresses", family, excluded, problems)
    if not addresses:
        problems.append(Problem("addresses", "the list is empty; give at least one address, range or CIDR"))
    lowest = ranges.lowest
    if lowest is None:
        return None, tuple(problems)
    try:
        around = subnet(family, lowest, prefix)
    except AddressError as error:
        return None, (*problems, Problem("prefix", str(error)))
    outside = ranges.difference(Ranges((around,)))
    cidr = f"{format_address(family, around[0])}/{prefix}"
    if outside.lowest is not None:
        example = format_address(family, outside.lowest)
        problems.append(
            Problem(
                "addresses", f"{example} lies outside {cidr}, the subnet of the lowest address; correct it or prefix"
            )
        )
    router = _read_gateway(family, gateway, around, cidr, problems)
    span = Span(family, tuple(addresses), tuple(excluded), prefix, router, around, ranges, taken)
    if not problems and not span.allocatable:
        problems.append(
            Problem("addresses", f"no address is left after gateway, exclusions and what {cidr} keeps for itself")
        )
    return (None if problems else span), tuple(problems)


def _read_entries(field: str, family: Family, entries: Iterable[str], problems: list[Problem]) -> Ranges:
    intervals: list[Interval] = []
    for entry in entries:
        try:
            found, interval = parse_entry(entry)
        except AddressError as error:
            problems.append(Problem(field, str(error)))
            continue
        if found is not family:
            problems.append(Problem(field, f"{entry!r} is {found}, but {family} addresses are wanted here"))
        else:
            intervals.append(interval)
    return Ranges.of(intervals)


def _read_gateway(family: Family, text: str | None, around: Interval, cidr: str, problems: list[Problem]) -> str | None:
    if text is None:
        return None
    try:
        found, gateway = parse_address(text)
    except AddressError as error:
        problems.append(Problem("gateway", str(error)))
        return None
    if found is not family:
        problems.append(Problem("gateway", f"{text!r} is {found}, but the addresses are {family}"))
    elif not around[0] <= gateway <= around[1]:
        problems.append(Problem("gateway", f"{text!r} lies outside {cidr}; name a router inside the subnet"))
    return format_address(found, gateway)
