"""ProxmoxNetwork: a tenant's network by name, with everything about it resolved into its status."""

from typing import Annotated, ClassVar

from pydantic import Field

from provider.api.addressing import Ipv4Entry, Ipv4Text, Ipv6Entry, Ipv6Text
from provider.api.meta import (
    AGE_COLUMN,
    MESSAGE_COLUMN,
    OBSERVED_GENERATION,
    READY_COLUMN,
    REASON_COLUMN,
    Column,
    Conditions,
    Count,
    CustomResource,
    Kind,
    Model,
    ObservedGeneration,
    Schema,
    cel,
    validated,
)

NETWORK_FINALIZER = "proxmox.cozystack.io/network"


def _request_rules(version: int, least: int, most: int) -> tuple[tuple[str, str], ...]:
    return (
        (
            f"has(self.addresses) ? has(self.prefix) : !has(self.prefix) || (self.prefix >= {least} && "
            f"self.prefix <= {most})",
            f"a network without addresses of its own may have a prefix of {least} to {most} bits; one with addresses "
            "must say its prefix",
        ),
        ("has(self.addresses) || !has(self.gateway)", "gateway needs addresses: without them the zone gives both"),
        (
            "has(self.addresses) == has(oldSelf.addresses) && (!has(self.addresses) || "
            "self.addresses == oldSelf.addresses) && has(self.prefix) == has(oldSelf.prefix) && (!has(self.prefix) || "
            "self.prefix == oldSelf.prefix) && has(self.gateway) == has(oldSelf.gateway) && (!has(self.gateway) || "
            "self.gateway == oldSelf.gateway)",
            "addresses, prefix and gateway cannot change under machines: delete the network and make it anew",
        ),
    )


_SIZE = (
    "With addresses: length of their subnet's prefix in bits. Without: the size asked for, {least} to {most}; unset "
    "means the zone's addressSpace.{family}.networkPrefix. Cannot change."
)
_OWN = (
    "Ranges to use instead of what the zone would give, in the forms of a zone's table. Addresses of a zone's address "
    "space must not be anybody else's. Cannot change."
)
_ROUTER = "The subnet's router, with addresses only. Without it the network has no default route. Cannot change."
_NEVER = (
    "Addresses that machines never get, 0 to 64 single addresses, ranges or CIDRs: control-plane endpoints, hand-made "
    "VMs. May change at any time."
)


class Ipv4Request(Model):
    """IPv4 addresses that are asked for. Empty: a network of the zone's usual size."""

    model_config = validated(*_request_rules(4, 16, 29))

    prefix: Annotated[int | None, Schema(minimum=0, maximum=32)] = Field(
        default=None, description=_SIZE.format(least=16, most=29, family="ipv4")
    )
    addresses: Annotated[tuple[Ipv4Entry, ...], Schema(minItems=1, maxItems=64)] | None = Field(
        default=None, description=_OWN
    )
    gateway: Ipv4Text | None = Field(default=None, description=_ROUTER)
    excluded_addresses: Annotated[tuple[Ipv4Entry, ...], Schema(maxItems=64)] = Field(default=(), description=_NEVER)


class Ipv6Request(Model):
    """IPv6 addresses that are asked for. Empty: a network of the zone's usual size."""

    model_config = validated(*_request_rules(6, 56, 124))

    prefix: Annotated[int | None, Schema(minimum=0, maximum=128)] = Field(
        default=None, description=_SIZE.format(least=56, most=124, family="ipv6")
    )
    addresses: Annotated[tuple[Ipv6Entry, ...], Schema(minItems=1, maxItems=64)] | None = Field(
        default=None, description=_OWN
    )
    gateway: Ipv6Text | None = Field(default=None, description=_ROUTER)
    excluded_addresses: Annotated[tuple[Ipv6Entry, ...], Schema(maxItems=64)] = Field(default=(), description=_NEVER)


class NetworkSpec(Model):
    """What is asked for. A network that has a row in its zone's table gets what the row says, and nothing else."""

    model_config = validated(
        (
            "has(self.ipv4) == has(oldSelf.ipv4) && has(self.ipv6) == has(oldSelf.ipv6)",
            "the address families of a network cannot change: delete the network and make it anew",
        ),
    )

    zone: Annotated[
        str,
        Schema(
            **{
                "minLength": 1,
                "maxLength": 253,
                "x-kubernetes-validations": cel(
                    ("self == oldSelf", "the zone of a network cannot change: delete the network and make it anew")
                ),
            }
        ),
    ] = Field(
        description="Name of the ProxmoxNetworkZone that the network lies in. Its table has a row for this network, or "
        "its namespaceSelector selects this namespace. Cannot change."
    )
    ipv4: Ipv4Request | None = Field(
        default=None,
        description="IPv4 addresses. Where neither ipv4 nor ipv6 is set, the zone gives what its addressSpace has.",
    )
    ipv6: Ipv6Request | None = Field(default=None, description="IPv6 addresses.")


class Usage(Model):
    """How many addresses there are and what they are doing. Counts end at 9223372036854775807."""

    total: Count = Field(description="Addresses that could be given if none was in use.")
    allocated: Count = Field(description="Addresses that claims hold, also outside the present ranges.")
    reserved: Count = Field(description="Addresses set aside on purpose.")
    held: Count = Field(description="Released addresses that rest before they are given again.")
    quarantined: Count = Field(description="Addresses set aside because something else was found to use them.")
    free: Count = Field(description="Addresses that can be given now.")


class FamilyStatus(Model):
    """One address family of a network, as it is in force."""

    addresses: tuple[str, ...] = Field(default=(), description="Ranges that new addresses are taken from.")
    excluded_addresses: tuple[str, ...] = Field(default=(), description="Addresses of these that are never given.")
    gateway: str | None = Field(default=None, description="Default route of the machines.")
    prefix: int = Field(description="Length of the subnet's prefix in bits.")
    cidr: str = Field(description="The subnet.")
    pool: str = Field(description="Name of the InClusterIPPool in this namespace that stands for this family.")
    usage: Usage | None = Field(default=None, description="Use of the addresses, both of this and of other pools.")


class NetworkStatus(Model):
    """The network as it is in force: this is what machines get, whatever the zone's table says by now."""

    observed_generation: ObservedGeneration = Field(default=None, description=OBSERVED_GENERATION)
    zone: str | None = Field(default=None, description="The zone that this status was made from.")
    bridge: str | None = Field(default=None, description="Bridge of the machines' NICs.")
    vlan: int | None = Field(default=None, description="VLAN tag of the machines' NICs, unset when untagged.")
    mtu: int | None = Field(
        default=None, description="MTU of the NICs in bytes, 1 for the bridge's own; unset: Proxmox's."
    )
    route_metric: int | None = Field(default=None, description="Metric of the default route.")
    address_reuse_seconds: int | None = Field(
        default=None,
        description="Seconds that a released address rests before it is given again, whichever pool it came from.",
    )
    cidr: str | None = Field(default=None, description="The subnets of both families, for reading.")
    free: Count | None = Field(
        default=None, description="Machines that still fit: free addresses, of the scarcer family where there are two."
    )
    ipv4: FamilyStatus | None = Field(default=None, description="The IPv4 side, unset when there is none.")
    ipv6: FamilyStatus | None = Field(default=None, description="The IPv6 side, unset when there is none.")
    conditions: Conditions = Field(
        default=(),
        description="VLANAllocated: the zone gave the network its place (ZoneNotFound, NamespaceNotAllowed, "
        "ZoneInvalid, VLANConflict, ZoneExhausted, SubnetOverlaps, SpecInvalid). IPPoolReady: its pools exist and give "
        "addresses (PoolOverlaps, PoolExhausted, PoolConflict). Ready: both, and the newest edit is in force (InUse, "
        "Terminating).",
    )


class ProxmoxNetwork(CustomResource):
    """A ProxmoxNetwork is a network that this namespace may use, by name.

    It is made from a row of a ProxmoxNetworkZone, or by a tenant whose namespace the zone selects: then the zone gives
    it a VLAN of its own and addresses. Its status says the bridge, the VLAN and the pools: what to write into machine
    templates.
    """

    model_config = validated(
        (
            "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 40 && "
            "!self.metadata.name.contains('inet6')",
            "metadata.name must be a DNS label of at most 40 characters without 'inet6': pools are named after it, and "
            "capmox reads their family out of the name",
        ),
    )

    KIND: ClassVar[Kind] = Kind(
        kind="ProxmoxNetwork",
        plural="proxmoxnetworks",
        namespaced=True,
        short_names=("pxnet",),
        columns=(
            Column("Zone", ".spec.zone", description="The zone that the network belongs to."),
            Column("Bridge", ".status.bridge", description="Bridge of the machines' NICs."),
            Column("VLAN", ".status.vlan", "integer", "VLAN tag, empty when untagged."),
            READY_COLUMN,
            Column("CIDR", ".status.cidr", description="The subnets of both families."),
            Column("Free", ".status.free", "integer", "Machines that still fit."),
            Column("IPv4 pool", ".status.ipv4.pool", description="Pool of the IPv4 side.", wide=True),
            Column("IPv6 pool", ".status.ipv6.pool", description="Pool of the IPv6 side.", wide=True),
            Column("IPv4 gateway", ".status.ipv4.gateway", description="IPv4 default route.", wide=True),
            Column("IPv6 gateway", ".status.ipv6.gateway", description="IPv6 default route.", wide=True),
            REASON_COLUMN,
            AGE_COLUMN,
            MESSAGE_COLUMN,
        ),
    )

    spec: NetworkSpec = Field(description="What is asked for: a place in a zone, and addresses.")
    status: NetworkStatus = Field(
        default=NetworkStatus(), description="The network as it is in force. Written by pxnet."
    )
