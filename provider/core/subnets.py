"""Which subnet of one address family a network on demand gets: the lowest free one, or ranges of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from provider.api.network import Ipv4Request, Ipv6Request
from provider.core.addresses import Family, format_address
from provider.core.asking import Ask, ZoneSpace, cidrs_of
from provider.core.ground import subnet_of
from provider.core.networks import Finding, NetworkReason
from provider.core.place_blocks import LARGEST, SMALLEST, Place, subnet_place
from provider.core.spaces import Subnet, contains
from provider.core.spans import Span, read_span

Request = Ipv4Request | Ipv6Request


@dataclass(frozen=True, slots=True)
class Side:
    """One family of a network.

    Attributes:
        place: what must be written down; None for addresses outside of all address space.
        note: what is worth saying, empty if nothing.
    """

    span: Span
    place: Place | None
    note: str = ""


def choose_subnet(ask: Ask, family: Family, request: Request) -> Side | Finding:
    """The subnet of one family, and what of it machines get."""
    if request.addresses is not None:
        return _own_addresses(ask, family, request)
    space = ask.space(family)
    subnet = _subnet(ask, family, request, space)
    if isinstance(subnet, Finding):
        return subnet
    span = ask.current.spans.get(family) if ask.current is not None else None
    if span is not None and subnet_of(span) == subnet:
        entries, gateway = span.entries, span.gateway
    else:
        first, last = subnet[0], subnet[0] + (1 << (family.width - subnet[1])) - 1
        lowest_given = first + 2 + (space.reserve if space is not None else 0)
        highest_given = last - (family is Family.IPv4)
        if lowest_given > highest_given:
            text = f"a /{subnet[1]} has no address left after the {space.reserve if space else 0} that zone "
            text += f"{ask.zone.metadata.name} keeps after the gateway; ask for a larger network"
            return Finding(NetworkReason.SPEC_INVALID, text)
        ends = (format_address(family, lowest_given), format_address(family, highest_given))
        entries = (ends[0] if lowest_given == highest_given else "-".join(ends),)
        gateway = format_address(family, first + 1)
    made = _read(family, entries, request, subnet[1], gateway)
    if isinstance(made, Finding):
        return made
    note = ""
    if not any(contains(family, each, subnet) for each in cidrs_of(space)):
        note = f"{made.cidr} is not in the zone's addressSpace any more; the network keeps it"
    return Side(made, subnet_place(family, subnet), note)


def _subnet(ask: Ask, family: Family, request: Request, space: ZoneSpace | None) -> Subnet | Finding:
    zone = ask.zone.metadata.name
    held = sorted(subnet for subnet in ask.held_subnets(family) if request.prefix in (None, subnet[1]))
    now = ask.current.spans.get(family) if ask.current is not None else None
    if held:
        return subnet_of(now) if now is not None and subnet_of(now) in held else held[0]
    if now is not None and request.prefix in (None, now.prefix) and _fits(family, now.prefix):
        own = subnet_of(now)
        if ask.is_free(family, own):
            return own
    if space is None:
        text = (
            f"zone {zone} has no addressSpace.{family.lower()}; name addresses in spec.{family.lower()} or leave it out"
        )
        return Finding(NetworkReason.SPEC_INVALID, text)
    prefix = request.prefix if request.prefix is not None else space.network_prefix
    if not _fits(family, prefix):
        text = (
            f"spec.{family.lower()}.prefix: a network on demand has {LARGEST[family]} to {SMALLEST[family]} bits, not "
        )
        return Finding(NetworkReason.SPEC_INVALID, f"{text}{prefix}; ask the zone's admin for a row in its table")
    for within in cidrs_of(space):
        first = ask.ground.spaces[family].lowest_free(within, prefix)
        if first is not None:
            return first, prefix
    text = (
        f"zone {zone} has no free {family} network of {prefix} bits; ask for a smaller one, delete a network, or ask "
    )
    return Finding(NetworkReason.ZONE_EXHAUSTED, f"{text}its admin to extend spec.addressSpace.{family.lower()}.cidrs")


def _fits(family: Family, prefix: int) -> bool:
    return LARGEST[family] <= prefix <= SMALLEST[family]


def _own_addresses(ask: Ask, family: Family, request: Request) -> Side | Finding:
    """Ranges that the network brings itself: anywhere outside of all address space, or what is free in it."""
    made = _read(family, request.addresses or (), request, request.prefix or 0, request.gateway)
    if isinstance(made, Finding):
        return made
    subnet = subnet_of(made)
    if not any(contains(family, each, subnet) or contains(family, subnet, each) for each in ask.spaces.get(family, ())):
        return Side(made, None)
    if made.prefix < LARGEST[family]:
        text = f"spec.{family.lower()}: {made.cidr} covers address space of a zone; use at least {LARGEST[family]} bits"
        return Finding(NetworkReason.SPEC_INVALID, text)
    place = subnet_place(family, subnet)
    if place not in ask.held and not ask.is_free(family, subnet):
        text = f"spec.{family.lower()}: {made.cidr} overlaps a network that is there already; use other addresses, or "
        return Finding(NetworkReason.SUBNET_OVERLAPS, f"{text}none: then the zone gives some that are free")
    return Side(made, place)


def _read(family: Family, entries: Sequence[str], request: Request, prefix: int, gateway: str | None) -> Span | Finding:
    span, problems = read_span(family, entries, request.excluded_addresses, prefix, gateway)
    if span is None:
        text = "; ".join(f"spec.{family.lower()}.{problem}" for problem in problems)
        return Finding(NetworkReason.SPEC_INVALID, text)
    return span
