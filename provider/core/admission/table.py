"""The table that admission reads: what a namespace may use, as an annotation of the namespace itself.

A request is judged by its own namespace's few lines, so neither a request nor a new network ever touches a list of all
tenants. pxnet alone writes it; a policy keeps everybody else off it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from provider.api.meta import GROUP
from provider.core.addresses import Family
from provider.core.names import NetworkKey, pool_name
from provider.core.offers import Offer

NETWORKS_ANNOTATION = f"{GROUP}/networks"

UNTAGGED = "-"
"""In place of a VLAN."""

COLUMNS = 6


class TableError(ValueError):
    """A line that is none; the message names it."""


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """One network in force.

    Attributes:
        vlan: 1 to 4094; None for untagged.
        pools: names of its InClusterIPPools in the namespace.
        cidrs: its subnets.
    """

    zone: str
    network: str
    bridge: str
    vlan: int | None
    pools: tuple[str, ...]
    cidrs: tuple[str, ...]

    def __str__(self) -> str:
        vlan = UNTAGGED if self.vlan is None else str(self.vlan)
        return " ".join((self.zone, self.network, self.bridge, vlan, ",".join(self.pools), ",".join(self.cidrs)))


def line(key: NetworkKey, offer: Offer) -> Line:
    """The line of a network of which `offer` is in force."""
    dual = len(offer.spans) > 1
    families = [family for family in Family if family in offer.spans]
    return Line(
        offer.zone,
        key[1],
        offer.segment.bridge,
        offer.segment.vlan,
        tuple(pool_name(key[1], family, dual=dual) for family in families),
        tuple(offer.spans[family].cidr for family in families),
    )


def write(lines: Iterable[Line]) -> str | None:
    """The annotation's value, the same for the same lines; None when there is nothing to say."""
    return "\n".join(sorted(map(str, lines))) or None


def read(value: str | None) -> tuple[Line, ...]:
    """The lines of an annotation's value.

    Raises:
        TableError: pxnet did not write it.
    """
    return tuple(_read(row) for row in (value or "").split("\n") if row)


def _read(row: str) -> Line:
    columns = row.split(" ")
    if len(columns) != COLUMNS or not all(columns):
        raise TableError(f"{row!r} is no line of {NETWORKS_ANNOTATION}: it has not {COLUMNS} words")
    zone, network, bridge, vlan, pools, cidrs = columns
    if vlan != UNTAGGED and not (vlan.isascii() and vlan.isdigit()):
        raise TableError(f"{row!r} is no line of {NETWORKS_ANNOTATION}: {vlan!r} is no VLAN")
    tag = None if vlan == UNTAGGED else int(vlan)
    return Line(zone, network, bridge, tag, tuple(pools.split(",")), tuple(cidrs.split(",")))
