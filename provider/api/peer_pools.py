"""The in-cluster provider's pool kinds, field by field, for clusters where pxnet serves them in its place.

Beside that provider its own CRDs stay in charge and these are not installed. Served is v1alpha2, which Cluster API's
providers use. Where the peer has a webhook, rules in the CRD say the same, as far as rules can: addresses in use
when a pool shrinks show in status.ipAddresses.outOfRange, addresses outside the subnet in an Event.
"""

from typing import Annotated, ClassVar

from pydantic import Field

from provider.api.meta import Column, CustomResource, Kind, Model, Schema, cel, validated

_FIRST = "self.addresses[0].split('-')[0].split('/')[0]"
_FAMILY = f"ip({_FIRST}).family()"
_ENTRY = (
    "self.contains('-') ? (self.split('-').size() == 2 && self.split('-').all(end, isIP(end))"
    " && ip(self.split('-')[0]).family() == ip(self.split('-')[1]).family())"
    " : (self.contains('/') ? isCIDR(self) : isIP(self))"
)
_SOUND = f"isIP({_FIRST}) && self.prefix <= ({_FAMILY} == 4 ? 32 : 128)"

Entry = Annotated[
    str,
    Schema(
        **{
            "minLength": 2,
            "maxLength": 79,
            "x-kubernetes-validations": cel(
                (_ENTRY, "must be an IP address, a range first-last of one family, or a CIDR")
            ),
        }
    ),
]


class PoolSpec(Model):
    """The addresses of the pool."""

    model_config = validated(
        (_SOUND, "prefix does not fit the family of addresses: 0 to 32 for IPv4, 0 to 128 for IPv6"),
        (
            f"!has(self.gateway) || self.gateway == '' || (isIP(self.gateway) && (!({_SOUND})"
            f" || ip(self.gateway).family() == {_FAMILY}))",
            "gateway must be an IP address of the family of addresses",
        ),
        (
            f"!has(self.excludedAddresses) || !({_SOUND}) || self.excludedAddresses.all(entry,"
            " !isIP(entry.split('-')[0].split('/')[0])"
            f" || ip(entry.split('-')[0].split('/')[0]).family() == {_FAMILY})",
            "excludedAddresses must be of the family of addresses",
        ),
    )

    addresses: Annotated[tuple[Entry, ...], Schema(minItems=1, maxItems=256)] = Field(
        description="Addresses of the pool, 1 to 256 entries: single addresses, ranges first-last, or CIDRs, of one "
        "family and one subnet. The lowest free address is given first."
    )
    prefix: Annotated[int, Schema(minimum=0, maximum=128)] = Field(
        description="Length of the subnet's prefix in bits, 0 to 32 for IPv4, 0 to 128 for IPv6."
    )
    gateway: Annotated[str | None, Schema(maxLength=39)] = Field(
        default=None, description="The subnet's router. Never given as an address."
    )
    allocate_reserved_ip_addresses: bool | None = Field(
        default=None,
        alias="allocateReservedIPAddresses",
        description="Whether to give the subnet's network and broadcast address (IPv6: its anycast address) too.",
    )
    excluded_addresses: Annotated[tuple[Entry, ...], Schema(maxItems=256)] = Field(
        default=(), description="Addresses that are never given, 0 to 256 entries of the same forms."
    )
    address_reuse_grace_period_seconds: Annotated[int | None, Schema(minimum=0, maximum=2147483647, format="int32")] = (
        Field(default=None, description="Seconds after the deletion of a claim before its address can be given again.")
    )


class PoolUsage(Model):
    """Counts of addresses; each ends at 9223372036854775807."""

    total: int = Field(description="Addresses that could be given if none was in use.")
    free: int = Field(description="total - used; below zero when more are in use than the ranges have.")
    used: int = Field(description="IPAddress objects of the pool, also those outside its ranges.")
    out_of_range: int = Field(description="Used addresses that the ranges no longer contain.")


class PoolStatus(Model):
    """Use of the pool."""

    ip_addresses: PoolUsage | None = Field(
        default=None, alias="ipAddresses", description="Counts of addresses; each ends at 9223372036854775807."
    )


_COLUMNS = (
    Column("Addresses", ".spec.addresses", description="Addresses of the pool."),
    Column("Total", ".status.ipAddresses.total", "integer", "Addresses that could be given."),
    Column("Free", ".status.ipAddresses.free", "integer", "Addresses that are free."),
    Column("Used", ".status.ipAddresses.used", "integer", "Addresses in use."),
)
# Pools move with their cluster, or the IPAddress objects that they own would be left behind by `clusterctl move`.
_LABELS = {"clusterctl.cluster.x-k8s.io/move-hierarchy": ""}
IPAM_GROUP = "ipam.cluster.x-k8s.io"


class InClusterIPPool(CustomResource):
    """An InClusterIPPool is a set of addresses that claims of its namespace are answered from."""

    KIND: ClassVar[Kind] = Kind(
        kind="InClusterIPPool",
        plural="inclusterippools",
        namespaced=True,
        columns=_COLUMNS,
        group=IPAM_GROUP,
        version="v1alpha2",
        labels=_LABELS,
    )

    spec: PoolSpec = Field(description="The addresses of the pool.")
    status: PoolStatus = Field(default=PoolStatus(), description="Use of the pool.")


class GlobalInClusterIPPool(CustomResource):
    """A GlobalInClusterIPPool is a set of addresses that claims of all namespaces are answered from."""

    KIND: ClassVar[Kind] = Kind(
        kind="GlobalInClusterIPPool",
        plural="globalinclusterippools",
        namespaced=False,
        columns=_COLUMNS,
        group=IPAM_GROUP,
        version="v1alpha2",
        labels=_LABELS,
    )

    spec: PoolSpec = Field(description="The addresses of the pool.")
    status: PoolStatus = Field(default=PoolStatus(), description="Use of the pool.")
