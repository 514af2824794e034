"""What becomes of one network: its place, its books and pools, and what its conditions say.

The rule of all edits: what a machine holds is never changed under it. A new VLAN, gateway or prefix, or the removal of
a family, waits until no address is held; new ranges count for new addresses alone, and what lies outside is reported.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from provider.core.addresses import Family, format_address
from provider.core.blocks import Entry
from provider.core.books import BookSpec
from provider.core.conditions import listed
from provider.core.machines import NOBODY, Users
from provider.core.names import NetworkKey, book_name
from provider.core.offers import Offer
from provider.core.ranges import Ranges
from provider.core.spans import Problem


class NetworkReason(enum.StrEnum):
    """Reasons of a network's conditions."""

    ALLOCATED = "Allocated"
    ZONE_NOT_FOUND = "ZoneNotFound"
    NAMESPACE_NOT_ALLOWED = "NamespaceNotAllowed"
    ZONE_INVALID = "ZoneInvalid"
    VLAN_CONFLICT = "VLANConflict"
    ZONE_EXHAUSTED = "ZoneExhausted"
    SUBNET_OVERLAPS = "SubnetOverlaps"
    SPEC_INVALID = "SpecInvalid"
    WAITING_FOR_VLAN = "WaitingForVLAN"
    POOLS_PENDING = "PoolsPending"
    POOLS_READY = "PoolsReady"
    POOL_OVERLAPS = "PoolOverlaps"
    POOL_EXHAUSTED = "PoolExhausted"
    POOL_CONFLICT = "PoolConflict"
    POOL_REFUSED = "PoolRefused"
    READY = "Ready"
    IN_USE = "InUse"
    TERMINATING = "Terminating"


Holders = Mapping[Family, Sequence[tuple[int, Entry]]]
"""Allocated addresses of each family's book and who has them, lowest first."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything about one network.

    Attributes:
        deleting: the network has a deletionTimestamp.
        made_by_us: it was made from a table, so it goes when its row goes.
        current: what its status says is in force.
        zone_exists: whether its zone is there to stay.
        wanted: what the zone's row offers, or what the network was given on demand; None without either.
        refused: why the zone gives it no place on demand, or not the one that it should have.
        notes: what is worth saying of its place.
        contested: why the offer is somebody else's.
        overlapped: per family, what other providers' pools may give out of it, and why.
        elsewhere: per family, addresses that other networks on the segment still hold outside their ranges.
        holders: who holds addresses now.
        machines: which machines refer to it; looked for only when it is on its way out.
    """

    key: NetworkKey
    zone: str
    deleting: bool
    made_by_us: bool
    current: Offer | None
    zone_exists: bool
    wanted: Offer | None
    contested: tuple[Problem, ...] = ()
    overlapped: Mapping[Family, Ranges] = field(default_factory=dict)
    overlap_messages: tuple[str, ...] = ()
    elsewhere: Mapping[Family, Ranges] = field(default_factory=dict)
    holders: Holders = field(default_factory=dict)
    refused: "Finding | None" = None
    notes: tuple[str, ...] = ()
    machines: Users = NOBODY


@dataclass(frozen=True, slots=True)
class Finding:
    """Why something is not as it should be."""

    reason: NetworkReason
    message: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """What to bring about.

    Attributes:
        offer: what is in force from now on; None while there is nothing.
        books: one for each family in force.
        place: why the zone gives it no place, or not the one that the table says by now.
        pools: why its pools do not give all their addresses.
        waiting: edits and removals that wait for addresses to be released.
        notes: what is worth saying although nothing is wrong with it.
        gives: False: nothing new is given any more.
        leaving: the network is on its way out.
        removable: it is on its way out, nobody holds an address of it, and no machine refers to it.
    """

    offer: Offer | None
    books: tuple[BookSpec, ...] = ()
    place: Finding | None = None
    pools: Finding | None = None
    waiting: Finding | None = None
    notes: tuple[str, ...] = ()
    gives: bool = True
    leaving: bool = False
    removable: bool = False


def resolve(seen: Seen) -> Resolution:
    """Decide about one network. Never raises, whatever the data."""
    if seen.deleting:
        return _leaving(seen, NetworkReason.TERMINATING, "the network is being deleted", None)
    refusal = _refusal(seen)
    if refusal is not None:
        unwanted = seen.wanted is None
        if unwanted and seen.current is not None:
            return _leaving(seen, NetworkReason.IN_USE, refusal.message, refusal)
        if seen.current is None:
            return Resolution(None, place=refusal, removable=unwanted and seen.made_by_us and not _held(seen))
        return _in_force(seen, seen.current, refusal, None)
    assert seen.wanted is not None
    if seen.current is None:
        return _in_force(seen, seen.wanted, None, None)
    offer, blocked = _edited(seen.current, seen.wanted, seen.holders)
    waiting = Finding(NetworkReason.IN_USE, "; ".join(blocked)) if blocked else None
    return _in_force(seen, offer, None, waiting)


def _refusal(seen: Seen) -> Finding | None:
    namespace, name = seen.key
    if not seen.zone_exists:
        text = f"there is no ProxmoxNetworkZone {seen.zone!r}, or it is being deleted"
        return Finding(NetworkReason.ZONE_NOT_FOUND, text)
    if seen.refused is not None:
        return seen.refused
    if seen.wanted is None:
        text = (
            f"zone {seen.zone} has no row {name!r} for namespace {namespace!r} in spec.networks; ask its admin for one"
        )
        return Finding(NetworkReason.NAMESPACE_NOT_ALLOWED, text)
    if seen.wanted.problems:
        text = listed([str(problem) for problem in seen.wanted.problems])
        return Finding(NetworkReason.ZONE_INVALID, f"zone {seen.zone}: {text}")
    if seen.contested:
        text = listed([problem.told(namespace) for problem in seen.contested])
        return Finding(NetworkReason.VLAN_CONFLICT, f"zone {seen.zone}: {text}")
    return None


def _held(seen: Seen) -> int:
    return sum(len(holders) for holders in seen.holders.values())


def _leaving(seen: Seen, reason: NetworkReason, why: str, place: Finding | None) -> Resolution:
    """Not wanted any more: nothing new is given, and it goes when nothing holds it any more."""
    books = books_in_force(seen)
    holding = _holding(seen)
    if not seen.deleting and not seen.made_by_us:
        # Not ours to delete. It stands, without addresses, and says what is missing.
        return Resolution(seen.current, books, place, gives=False)
    text = f"{why}; it goes when {' and '.join(holding)}" if holding else why
    return Resolution(
        seen.current, books, place, waiting=Finding(reason, text), gives=False, leaving=True, removable=not holding
    )


def _holding(seen: Seen) -> list[str]:
    """What a network that is on its way out waits for."""
    held, machines = _held(seen), seen.machines.machines
    found = []
    if held:
        found.append(f"{held} address(es) are released: {who(seen.holders)}")
    if machines:
        names = listed([str(machine) for machine in machines])
        found.append(f"{len(machines)} ProxmoxMachine(s) on it are gone: {names}")
    if seen.machines.unread is not None:
        found.append(f"its ProxmoxMachines can be read: {seen.machines.unread}")
    return found


def resting(resolution: Resolution, addresses: int) -> Resolution:
    """As it is told of a network that could go but for addresses that were released a moment ago and still rest."""
    assert resolution.waiting is not None
    text = f"{resolution.waiting.message}; it goes when {addresses} released address(es) have rested"
    return replace(resolution, waiting=replace(resolution.waiting, message=text))


def _in_force(seen: Seen, offer: Offer, place: Finding | None, waiting: Finding | None) -> Resolution:
    books = _books(seen, offer)
    pools = Finding(NetworkReason.POOL_OVERLAPS, "; ".join(seen.overlap_messages)) if seen.overlap_messages else None
    notes = [*seen.notes, *_stranded(offer, seen.holders)]
    for family, ranges in seen.elsewhere.items():
        if ranges:
            example = format_address(family, ranges.intervals[0][0])
            notes.append(
                f"{ranges.size} address(es) still held by another network on {offer.segment} are not given: {example}"
            )
    return Resolution(offer, books, place, pools, waiting, tuple(notes))


def books_in_force(seen: Seen) -> tuple[BookSpec, ...]:
    """The books of what the network's status says is in force, without anything to give if it is on its way out."""
    books = () if seen.current is None else _books(seen, seen.current)
    if seen.deleting or seen.wanted is None:
        return tuple(replace(book, allocatable=Ranges()) for book in books)
    return books


def _books(seen: Seen, offer: Offer) -> tuple[BookSpec, ...]:
    books: list[BookSpec] = []
    for family, span in offer.spans.items():
        taken = seen.overlapped.get(family, Ranges()).union(seen.elsewhere.get(family, Ranges()))
        held = Ranges.of((address, address) for address, _ in seen.holders.get(family, ()))
        books.append(
            BookSpec(
                name=book_name(*seen.key, family),
                family=family,
                allocatable=span.allocatable.difference(taken),
                prefix=span.prefix,
                gateway=span.gateway,
                # Also what is only held still: the pool it came from must not get a book of its own for it.
                territory=span.ranges.union(held),
                holds_in_book=True,
                reuse_seconds=offer.reuse_seconds,
            )
        )
    return tuple(books)


def _edited(current: Offer, wanted: Offer, holders: Holders) -> tuple[Offer, list[str]]:
    """What of an edit can be in force now, and what waits and why."""
    held = {family: found for family, found in holders.items() if found}
    if not held:
        return wanted, []
    if current.segment != wanted.segment:
        text = (
            f"stays on {current.segment}; {wanted.segment}, as the zone says now, waits for "
            f"{sum(map(len, held.values()))} address(es) to be released: {who(holders)}"
        )
        return replace(wanted, segment=current.segment, spans=current.spans), [text]
    spans = dict(wanted.spans)
    blocked: list[str] = []
    for family, span in current.spans.items():
        if not held.get(family):
            continue
        after = wanted.spans.get(family)
        if after is not None and after.same_subnet(span):
            continue
        spans[family] = span
        change = "its removal" if after is None else f"{after.cidr} with gateway {after.gateway or 'none'}"
        blocked.append(
            f"{family} stays {span.cidr} with gateway {span.gateway or 'none'}; {change}, as the zone says now, "
            f"waits for {len(held[family])} address(es) to be released: {who({family: held[family]})}"
        )
    return replace(wanted, spans=spans), blocked


def keeps_place(current: Offer | None, after: Offer | None) -> bool:
    """Whether a change leaves every machine of the network where it is: segment, subnets and gateways."""
    if current is None:
        return True
    return (
        after is not None
        and current.segment == after.segment
        and all(
            family in after.spans and after.spans[family].same_subnet(span) for family, span in current.spans.items()
        )
    )


def _stranded(offer: Offer, holders: Holders) -> list[str]:
    """Addresses that are held although the ranges in force do not contain them."""
    notes: list[str] = []
    for family, found in holders.items():
        span = offer.spans.get(family)
        inside = span.allocatable if span is not None else Ranges()
        outside = [(address, entry) for address, entry in found if address not in inside]
        if outside:
            notes.append(
                f"{len(outside)} {family} address(es) in use lie outside the network's ranges and stay with their "
                "holders: "
                f"{who({family: outside})}"
            )
    return notes


def who(holders: Holders) -> str:
    """A few holders by address and name."""
    first = [
        f"{format_address(family, address)} ({entry.holder})"
        for family, found in holders.items()
        for address, entry in found[:3]
    ]
    return listed(first, sum(map(len, holders.values())))
