"""What the policies are made from: plain values, put into their texts as literals."""

from dataclasses import dataclass

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
VERSIONS = ("v1alpha2", "v1alpha1")
"""Of capmox's kinds, newest first: v1alpha2 from 0.8 on, v1alpha1 alone before."""

MOST_NICS = 10
"""go-proxmox reads net0 to net9 only, so nobody would see what an eleventh NIC is connected to."""

CLUSTER_KINDS = ("ProxmoxCluster", "ProxmoxClusterTemplate")
MACHINE_KINDS = ("ProxmoxMachine", "ProxmoxMachineTemplate")


@dataclass(frozen=True, slots=True)
class Templates:
    """PVE templates that machines may be cloned from: by id, or by a tag that the selector must ask for."""

    ids: tuple[int, ...] = ()
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.ids or self.tags)


@dataclass(frozen=True, slots=True)
class ZoneFacts:
    """What a policy has to know of a zone.

    Attributes:
        bridges: the bridge of its spec, and those that its networks are still on.
        uplink_bridges, uplink_vlans: what no tenant may ever use.
    """

    name: str
    bridges: tuple[str, ...]
    uplink_bridges: tuple[str, ...] = ()
    uplink_vlans: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """What holds for all policies.

    Attributes:
        version: the newest served version of capmox's kinds, one of VERSIONS. Requests at an older one are converted
            by the API server before they are judged, so nothing slips by in what only the newer one has.
        exempt: namespaces that are not judged at all.
    """

    version: str = VERSIONS[0]
    exempt: tuple[str, ...] = ()
