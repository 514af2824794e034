"""Names that one object gives another: pools, books, labels and annotations of networks."""

from provider.api.meta import GROUP
from provider.core.addresses import Family

NetworkKey = tuple[str, str]
"""Namespace and name of a ProxmoxNetwork."""

MANAGED_BY = ("app.kubernetes.io/managed-by", "pxnet")
"""Label of the networks and pools that we made, and may delete."""

ZONE_FINALIZER = f"{GROUP}/zone"


def pool_name(network: str, family: Family, *, dual: bool) -> str:
    """The pool of one family of a network.

    capmox turns stored pool lists into its older API version by name: the first name with "inet" is the IPv4 pool, the
    first with "inet6" the IPv6 one. So a pool for IPv6 alone must not be called "...inet6": it would be taken for both.
    """
    if family is Family.IPv4:
        return f"{network}-inet"
    return f"{network}-inet6" if dual else f"{network}-v6"


def book_name(namespace: str, network: str, family: Family) -> str:
    """The address book of one family of a network."""
    return f"network/{namespace}/{network}/{family}"


def pool_names(network: str) -> tuple[str, ...]:
    """Every name that a pool of this network can have."""
    return f"{network}-inet", f"{network}-inet6", f"{network}-v6"
