"""ProxmoxNetworkZone: a bridge, the table of the tenants' networks on it, and what it gives on demand.

Written by the platform's admin alone.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from provider.api.addressing import MTU, Bridge, Ipv4Space, Ipv6Space, Mtu, Vlan
from provider.api.clonable import ClonableTemplates
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
    keyed,
    validated,
)
from provider.api.on_demand import (
    AddressSpace,
    LabelSelector,
    ReservedVlans,
    StaticAssignments,
    Uplink,
    VlanRanges,
)

ProviderNetwork = Annotated[str, Schema(pattern="^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$", minLength=1, maxLength=12)]
NetworkName = Annotated[str, Schema(pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", minLength=1, maxLength=40)]


class NetworkRow(Model):
    """One network of a tenant."""

    model_config = validated(
        ("has(self.ipv4) || has(self.ipv6)", "a network needs ipv4, ipv6 or both"),
        (
            "!self.name.contains('inet6')",
            "must not contain 'inet6': capmox reads a pool's family out of its name, which starts with the network's",
        ),
    )

    name: NetworkName = Field(
        description="The network's name, by which the tenant asks for it: a DNS label of 1 to 40 characters, unique in "
        "its namespace over all zones. It must not contain 'inet6', out of which capmox reads a pool's family."
    )
    vlan: Vlan | None = Field(
        default=None,
        description="VLAN tag of the network's machines on the bridge, 1 to 4094. Unset means untagged. Networks may "
        "share a tag only where their addresses do not overlap.",
    )
    mtu: Mtu | None = Field(default=None, description=f"MTU of this network's NICs, {MTU} Unset means the zone's.")
    ipv4: Ipv4Space | None = Field(default=None, description="The network's IPv4 addresses.")
    ipv6: Ipv6Space | None = Field(default=None, description="The network's IPv6 addresses.")


Rows = Annotated[
    tuple[NetworkRow, ...],
    keyed("name", limit=16, description="The networks of one namespace, at most 16, told apart by name."),
]


class ZoneSpec(Model):
    """What the zone offers."""

    model_config = validated(
        (
            "!has(self.uplink) || !has(self.uplink.bridges) || !(self.bridge in self.uplink.bridges)",
            "bridge is one of uplink.bridges, which no tenant may ever use: name another one",
        ),
        (
            "!has(self.uplink) || !has(self.uplink.vlans) || !has(self.staticAssignments) || "
            "self.staticAssignments.all(one, !(one.vlan in self.uplink.vlans))",
            "staticAssignments has a VLAN of uplink.vlans, which no tenant may ever use: give another one",
        ),
    )

    bridge: Bridge = Field(
        description="Bridge on every Proxmox node that carries these networks (or an SDN vnet): 1 to 15 letters, "
        "digits or underscores. A dash or a dot would be accepted by Proxmox but not here: capmox 0.7 never recognises "
        "such a name in the NIC it has written, and rewrites it for ever."
    )
    mtu: Mtu | None = Field(
        default=None, description=f"MTU of the NICs, {MTU} Unset leaves it to Proxmox. A network may have its own."
    )
    networks: Annotated[Mapping[str, Rows], Schema(maxProperties=4096)] = Field(
        default={},
        description="The table: namespace -> its networks on this zone. Each row makes a ProxmoxNetwork of that name "
        "in that namespace. A row is removed, or its VLAN, gateway or prefix changed, only when no machine holds an "
        "address of the network; until then the network keeps what it has and says so.",
    )
    namespace_selector: LabelSelector | None = Field(
        default=None,
        description="Namespaces that may make ProxmoxNetworks here without a row in the table: each gets a VLAN and "
        "addresses on demand. Unset: none may; {}: all may. A network whose namespace is not selected any more keeps "
        "what it has.",
    )
    vlan_ranges: VlanRanges = Field(
        default=(),
        description="VLANs that are given on demand, at most 64 ranges, the lowest free VLAN first. One that is given "
        "is its network's alone on the bridge. Left out is what any zone on this bridge reserves, assigns, puts into "
        "its table or calls an uplink, and what Kube-OVN has there (providerNetwork). A network keeps its VLAN when a "
        "range shrinks.",
    )
    reserved_vlans: ReservedVlans = Field(
        default=(),
        alias="reservedVLANs",
        description="VLANs of the bridge that are not given on demand, by no zone on this bridge. Rows of the table "
        "may have them.",
    )
    static_assignments: StaticAssignments = Field(
        default=(),
        description="Networks on demand that get one VLAN and no other, at most 256. Their namespace must be selected "
        "like any other. No other network is given these VLANs.",
    )
    provider_network: ProviderNetwork | None = Field(
        default=None,
        description="Kube-OVN's ProviderNetwork on the same wire as the bridge: its name, 1 to 12 characters as "
        "Kube-OVN has it. VLANs of its Vlan objects, whoever made them, are not given on demand on this bridge, by "
        "none of its zones; a network that has one already keeps it and says so. Unset, or without Kube-OVN in this "
        "cluster: none are left out.",
    )
    address_space: AddressSpace | None = Field(
        default=None, description="Addresses for networks on demand that bring none of their own."
    )
    uplink: Uplink | None = Field(
        default=None, description="Bridges and VLANs of the platform itself, which no tenant may ever use."
    )
    templates: ClonableTemplates | None = Field(
        default=None,
        description="Proxmox templates that tenants' machines may be cloned from; what several zones say adds up. "
        "capmox keeps NICs that a template has and a machine does not list, so a template with a NIC of its own is a "
        "way past admission. Unset in all zones: any template.",
    )
    address_reuse_seconds: Annotated[int, Schema(minimum=0, maximum=86400)] = Field(
        default=60,
        description="Seconds that a released address rests before another machine can get it, 0 to 86400, so that "
        "switches and neighbours forget its old hardware address. It counts for whatever gives from the zone's "
        "networks, also for pools that capmox makes with a value of their own; an edit counts for what is released "
        "from then on.",
    )
    route_metric: Annotated[int, Schema(minimum=1, maximum=4294967295)] = Field(
        default=100,
        description="Metric of the default route that machines get from these networks, 1 to 4294967295, the lower the "
        "better. A machine with two networks needs two different metrics, or capmox refuses it for good.",
    )


class ZoneNetworkStatus(Model):
    """A network that is not ready."""

    namespace: str = Field(description="Namespace of the network.")
    name: str = Field(description="Name of the network.")
    reason: str = Field(default="", description="Reason of the network's Ready condition.")


class ZoneCounts(Model):
    """Sums over the zone's networks."""

    networks: Count = Field(default=0, description="Networks: rows of the table, and those on demand.")
    on_demand: Count = Field(default=0, description="Of these, networks without a row in the table.")
    ready: Count = Field(default=0, description="Of these, networks that are ready.")
    namespaces: Count = Field(default=0, description="Namespaces that have networks here.")
    allocated: Count = Field(
        default=0, description="Addresses that machines hold, over all networks and both families."
    )


class ZoneVlans(Model):
    """VLANs that the zone gives on demand."""

    total: Count = Field(default=0, description="VLANs of vlanRanges that are neither reserved nor an uplink's.")
    allocated: Count = Field(
        default=0,
        description="Of these, VLANs that are in use or set aside: by networks of any zone on this bridge, on demand "
        "or not, by static assignments, and by Kube-OVN's Vlans.",
    )
    free: Count = Field(default=0, description="Of these, VLANs that a new network can get.")


class ZoneStatus(Model):
    """What became of the zone."""

    observed_generation: ObservedGeneration = Field(default=None, description=OBSERVED_GENERATION)
    conditions: Conditions = Field(
        default=(),
        description="Ready: True when the whole table is sound and in force; False with reason ZoneInvalid (a row "
        "cannot be used), NetworkOverlaps (two networks want one address on one bridge and VLAN), PoolOverlaps (a pool "
        "of another provider sits on it) or InUse (an edit or a removal waits for addresses to be released). A network "
        "that finds no place is not the zone's fault: its own conditions say so. AdmissionReady: the policies are in "
        "the API server that keep tenants off networks that are not theirs (PoliciesRefused, UnknownVersion).",
    )
    not_ready: Annotated[tuple[ZoneNetworkStatus, ...], keyed("namespace", "name", limit=20)] = Field(
        default=(),
        description="The first networks that are not ready, at most 20, ordered by namespace and name. All networks: "
        "kubectl get pxnet -A.",
    )
    counts: ZoneCounts | None = Field(
        default=None, description="Sums over the zone's networks. Refreshed within seconds."
    )
    vlans: ZoneVlans | None = Field(default=None, description="VLANs that the zone gives on demand.")


class ProxmoxNetworkZone(CustomResource):
    """A ProxmoxNetworkZone is a bridge of a Proxmox cluster and the networks that tenants have on it.

    Networks come from its table, or on demand: then the zone gives VLAN and addresses. The platform's admin writes it.
    Tenants see their own networks as ProxmoxNetwork objects in their namespaces.
    """

    KIND: ClassVar[Kind] = Kind(
        kind="ProxmoxNetworkZone",
        plural="proxmoxnetworkzones",
        namespaced=False,
        short_names=("pxzone",),
        columns=(
            Column("Bridge", ".spec.bridge", description="Bridge on the Proxmox nodes."),
            READY_COLUMN,
            Column("Networks", ".status.counts.networks", "integer", "Networks of the zone."),
            Column("Free VLANs", ".status.vlans.free", "integer", "VLANs that can be given on demand now."),
            Column("Allocated", ".status.counts.allocated", "integer", "Addresses that machines hold."),
            Column("On demand", ".status.counts.onDemand", "integer", "Networks without a row.", wide=True),
            Column("Not ready", ".status.notReady[*].name", description="A few that are not ready.", wide=True),
            REASON_COLUMN,
            AGE_COLUMN,
            MESSAGE_COLUMN,
        ),
        # Networks are made again out of the zone, so the zone alone is copied by `clusterctl move`.
        labels={"clusterctl.cluster.x-k8s.io/move": ""},
    )

    spec: ZoneSpec = Field(description="What the zone offers: the bridge and the table of networks.")
    status: ZoneStatus = Field(default=ZoneStatus(), description="What became of it. Written by pxnet.")
