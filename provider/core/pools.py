"""What a pool may give and what its status says, by the in-cluster provider's rules.

Also to which book a pool belongs: a namespaced pool whose range meets a network of its namespace gives from that
network's book, whoever made the pool. So two clusters' pools with the same range cannot give one address twice.
"""

import enum
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from provider.api.pool import Pool, PoolNumbers
from provider.core.addresses import AddressError, parse_address, parse_entries, reserved_in_subnet, subnet
from provider.core.books import BookSpec
from provider.core.ranges import Ranges


class PoolReason(enum.StrEnum):
    """Why a pool gives nothing; the words are those of Cluster API's claims."""

    NOT_READY = "PoolNotReady"
    FAILED = "AllocationFailed"


@dataclass(frozen=True, slots=True)
class Binding:
    """The book a pool gives from, and which of the book's addresses are the pool's."""

    book: BookSpec
    allowed: Ranges


@dataclass(frozen=True, slots=True)
class Refusal:
    """A pool that cannot give anything, and what to do about it."""

    reason: PoolReason
    message: str


def allocatable(pool: Pool) -> BookSpec:
    """A plain pool as a book of its own.

    Left out are the gateway, exclusions and, unless allocateReservedIPAddresses, network and broadcast address (IPv4)
    or the anycast address (IPv6) of the subnet around the pool's lowest address.

    Raises:
        AddressError: a field cannot be used; the message names field and value.
    """
    try:
        found = parse_entries(pool.addresses)
    except AddressError as error:
        raise AddressError(f"spec.addresses: {error}") from error
    family, ranges = found.family, found.ranges
    lowest = ranges.lowest
    assert lowest is not None
    try:
        first, last = subnet(family, lowest, pool.prefix)
    except AddressError as error:
        raise AddressError(f"spec.prefix: {error}") from error
    if not Ranges(((first, last),)).issuperset(ranges):
        raise AddressError(f"spec.addresses: not all of them lie in one /{pool.prefix} (spec.prefix)")
    taken = Ranges()
    if pool.excluded:
        try:
            taken = parse_entries(pool.excluded, family).ranges
        except AddressError as error:
            raise AddressError(f"spec.excludedAddresses: {error}") from error
    if not pool.allocate_reserved:
        taken = taken.union(reserved_in_subnet(family, lowest, pool.prefix))
    if pool.gateway is not None:
        try:
            gateway_family, gateway = parse_address(pool.gateway)
        except AddressError as error:
            raise AddressError(f"spec.gateway: {error}") from error
        if gateway_family is not family:
            raise AddressError(f"spec.gateway: {pool.gateway!r} is {gateway_family}, the addresses are {family}")
        taken = taken.union(Ranges(((gateway, gateway),)))
    offered = ranges.difference(taken)
    return BookSpec(pool.book, family, offered, pool.prefix, pool.gateway, reuse_seconds=pool.reuse_seconds)


def bind(pool: Pool, networks: Sequence[BookSpec]) -> Binding | Refusal:
    """Find a pool's book.

    Args:
        pool: the pool.
        networks: books of the networks of the pool's namespace; empty for a global pool.
    """
    try:
        own = allocatable(pool)
    except AddressError as error:
        return Refusal(PoolReason.NOT_READY, f"{pool}: {error}")
    met = [book for book in networks if book.family is own.family and _meets(book, own)]
    if pool.network is not None:
        # Made for a network (by us, or marked at its creation): never a book of its own, not even before we know it.
        met = [book for book in networks if book.family is own.family and _network(book) == pool.network]
        if not met:
            return Refusal(
                PoolReason.NOT_READY, f"{pool}: its network {pool.network!r} has no {own.family} addresses yet"
            )
    if not met:
        return Binding(own, own.allocatable)
    if len(met) > 1:
        names = ", ".join(sorted(_network(book) for book in met))
        return Refusal(
            PoolReason.FAILED, f"{pool}: its addresses lie in several networks ({names}); use the range of one of them"
        )
    return Binding(met[0], met[0].allocatable.intersection(own.allocatable))


def _meets(book: BookSpec, pool: BookSpec) -> bool:
    return bool(book.territory.union(book.allocatable).intersection(pool.allocatable))


def _network(book: BookSpec) -> str:
    return book.name.split("/")[2]


def count(pool: Pool, used: Iterable[int], objects: int) -> PoolNumbers:
    """status.ipAddresses by the peer's formula, which runs beside us and would otherwise write over ours for ever.

    Args:
        pool: a pool whose spec may be unusable: then it offers nothing.
        used: distinct addresses of the pool's IPAddress objects.
        objects: how many IPAddress objects name the pool, readable or not.
    """
    try:
        offered = allocatable(pool).allocatable
    except AddressError:
        offered = Ranges()
    total = min(offered.size, sys.maxsize)
    return PoolNumbers(total, objects, total - objects, sum(1 for address in set(used) if address not in offered))
