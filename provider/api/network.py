"""ProxmoxNetwork: a tenant's network by name, with everything about it resolved into its status."""

from typing import Annotated, ClassVar

from pydantic import Field

from provider.api.meta import (
    AGE_COLUMN,
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
)

NETWORK_FINALIZER = "proxmox.cozystack.io/network"


class NetworkSpec(Model):
    """What is asked for."""

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
        description="Name of the ProxmoxNetworkZone whose table has a row of this object's namespace and name. Cannot "
        "change."
    )


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
        default=None, description="Seconds that a released address rests before it is given again."
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
        "ZoneInvalid, VLANConflict). IPPoolReady: its pools exist and give addresses (PoolOverlaps, PoolExhausted, "
        "PoolConflict). Ready: both, and the table's newest edit is in force (InUse, Terminating).",
    )


class ProxmoxNetwork(CustomResource):
    """A ProxmoxNetwork is a network that this namespace may use, by name.

    It is made from a row of a ProxmoxNetworkZone. Its status says the bridge, the VLAN and the pools: what to write
    into machine templates. Only pxnet and the platform's admin write it.
    """

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
        ),
    )

    spec: NetworkSpec = Field(description="What is asked for: a place in a zone.")
    status: NetworkStatus = Field(
        default=NetworkStatus(), description="The network as it is in force. Written by pxnet."
    )
