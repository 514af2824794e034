"""The kinds that pxnet reads and writes, and where the API server serves them."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object at one API version."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part is not None]
        return "/".join(parts)

    def at(self, version: str) -> "Resource":
        return replace(self, version=version)


def plural_of(path: str) -> str:
    """The kind's plural in a path of the API server; "discovery" for a path that names none."""
    parts = path.strip("/").split("/")
    parts = parts[2:] if parts[0] == "api" else parts[3:]
    if len(parts) > 2 and parts[0] == "namespaces":
        parts = parts[2:]
    return parts[0] if parts else "discovery"


OWN_GROUP = "proxmox.cozystack.io"
IPAM_GROUP = "ipam.cluster.x-k8s.io"
CAPI_GROUP = "cluster.x-k8s.io"
INFRASTRUCTURE_GROUP = "infrastructure.cluster.x-k8s.io"
KUBE_OVN_GROUP = "kubeovn.io"

ZONES = Resource(OWN_GROUP, "v1alpha1", "proxmoxnetworkzones", "ProxmoxNetworkZone", namespaced=False)
NETWORKS = Resource(OWN_GROUP, "v1alpha1", "proxmoxnetworks", "ProxmoxNetwork")
BLOCKS = Resource(OWN_GROUP, "v1alpha1", "addressblocks", "AddressBlock", namespaced=False)
NETWORK_BLOCKS = Resource(OWN_GROUP, "v1alpha1", "networkblocks", "NetworkBlock", namespaced=False)

CLAIMS = Resource(IPAM_GROUP, "v1beta2", "ipaddressclaims", "IPAddressClaim")
ADDRESSES = Resource(IPAM_GROUP, "v1beta2", "ipaddresses", "IPAddress")
POOLS = Resource(IPAM_GROUP, "v1alpha2", "inclusterippools", "InClusterIPPool")
GLOBAL_POOLS = Resource(IPAM_GROUP, "v1alpha2", "globalinclusterippools", "GlobalInClusterIPPool", namespaced=False)

CLUSTERS = Resource(CAPI_GROUP, "v1beta2", "clusters", "Cluster")
PROXMOX_MACHINES = Resource(INFRASTRUCTURE_GROUP, "v1alpha2", "proxmoxmachines", "ProxmoxMachine")

VLANS = Resource(KUBE_OVN_GROUP, "v1", "vlans", "Vlan", namespaced=False)

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
POLICIES = Resource(
    "admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
POLICY_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
