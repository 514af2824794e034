"""Who may use an address of a bridge and VLAN, where two want it.

A network that is in force keeps its addresses, whatever is written into a table later. Between two that are both new
the older zone wins, then the first by zone, namespace and name: always the same one, whoever looks first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from provider.api.pool import VLAN_ANNOTATION, ZONE_ANNOTATION, Pool
from provider.core.addresses import AddressError, Family, format_interval
from provider.core.conditions import listed
from provider.core.names import NetworkKey
from provider.core.offers import Offer, Segment, row_field
from provider.core.pools import allocatable
from provider.core.ranges import Ranges
from provider.core.spans import SOMEBODY, Problem


@dataclass(frozen=True, slots=True)
class Rival:
    """Another network: what its zone's table offers it, and what it has."""

    key: NetworkKey
    wanted: Offer | None
    current: Offer | None


@dataclass(frozen=True, slots=True)
class ForeignPool:
    """A pool of another provider that its admin says sits on a segment of a zone."""

    title: str
    segment: Segment
    family: Family
    ranges: Ranges


def contested(key: NetworkKey, offer: Offer, current: Offer | None, rivals: Iterable[Rival]) -> tuple[Problem, ...]:
    """Addresses of the offer that another network has, or wants with the better right."""
    problems: list[Problem] = []
    for family, span in offer.spans.items():
        mine = _ranges(current, offer.segment, family)
        for rival in rivals:
            if rival.key == key:
                continue
            theirs = _ranges(rival.current, offer.segment, family)
            if rival.wanted is not None and not rival.wanted.problems and rival.wanted.order < offer.order:
                theirs = theirs.union(_ranges(rival.wanted, offer.segment, family))
            common = span.ranges.intersection(theirs).difference(mine)
            if common:
                zone = (rival.wanted or rival.current or offer).zone
                problems.append(
                    Problem(
                        f"{row_field(key)}.{family.lower()}.addresses",
                        f"{shown(family, common)} on {offer.segment} belongs to network {'/'.join(rival.key)} "
                        f"(zone {zone}); use other addresses or another VLAN",
                        rival.key,
                    )
                )
    return tuple(problems)


def twice_in_force(
    key: NetworkKey, current: Offer | None, rivals: Iterable[Rival]
) -> tuple[Mapping[Family, Ranges], tuple[str, ...]]:
    """What of a network is in force of another one too, which comes first by name: only that one goes on giving it.

    It takes two leaders at the same moment, or statuses written by hand, to get there.
    """
    taken: dict[Family, Ranges] = {}
    messages: list[str] = []
    for rival in rivals:
        if current is None or rival.key >= key:
            continue
        for family, span in current.spans.items():
            common = span.ranges.intersection(_ranges(rival.current, current.segment, family))
            if common:
                taken[family] = taken.get(family, Ranges()).union(common)
                other = f"network {'/'.join(rival.key)}" if rival.key[0] == key[0] else SOMEBODY
                messages.append(f"{shown(family, common)} is in force for {other} too")
    return taken, tuple(messages)


def _ranges(offer: Offer | None, segment: Segment, family: Family) -> Ranges:
    if offer is None or offer.segment != segment or family not in offer.spans:
        return Ranges()
    return offer.spans[family].ranges


def shown(family: Family, ranges: Ranges) -> str:
    """Ranges as text, a few of them."""
    return listed([format_interval(family, interval) for interval in ranges.intervals])


def read_foreign_pool(pool: Pool, bridges: Mapping[str, str]) -> ForeignPool | Problem | None:
    """A pool that is annotated as sitting on a zone; None for any other, or a Problem when it cannot be understood.

    Args:
        pool: the pool.
        bridges: zone -> bridge.
    """
    if pool.zone is None:
        return None
    if pool.zone not in bridges:
        text = f"there is no ProxmoxNetworkZone {pool.zone!r}; correct it"
        return Problem(f"{pool} annotation {ZONE_ANNOTATION}", text)
    tag = pool.vlan
    if tag is not None and not (tag.isascii() and tag.isdigit() and 1 <= int(tag) <= 4094):
        return Problem(f"{pool} annotation {VLAN_ANNOTATION}", f"{tag!r} is no VLAN tag; write a number from 1 to 4094")
    try:
        book = allocatable(pool)
    except AddressError as error:
        return Problem(str(pool), f"{error}; nothing can be kept free for it")
    segment = Segment(bridges[pool.zone], int(tag) if tag else None)
    return ForeignPool(str(pool), segment, book.family, book.allocatable)


def overlapped(
    offers: Sequence[Offer], pools: Sequence[ForeignPool], reader: str | None = None
) -> tuple[Mapping[Family, Ranges], tuple[str, ...]]:
    """What other providers' pools may give out of these offers: by family, and as text that names the pools.

    With `reader`, a namespace, the text is for its tenant: pools of other namespaces have no names there.
    """
    taken: dict[Family, Ranges] = {}
    messages: dict[str, None] = {}
    for pool in pools:
        for offer in offers:
            span = offer.spans.get(pool.family)
            if span is None or pool.segment != offer.segment:
                continue
            common = span.ranges.intersection(pool.ranges)
            if common:
                taken[pool.family] = taken.get(pool.family, Ranges()).union(common)
                title = pool.title if reader is None or f" {reader}/" in pool.title else "a pool of somebody else's"
                text = f"may be given by {title} too and is left to it; take it out of one of the two"
                messages[f"{shown(pool.family, common)} {text}"] = None
    return taken, tuple(messages)
