"""Who plays in the demo: the admin's zone, two tenants, their clusters, and three claims for two addresses. Data only.

What a cluster says about its network is taken from the ProxmoxNetwork's status, as a tenant or a chart would do it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.stories.objects import Family, Plan, everything

Object = dict[str, Any]
ZONE_FILE = Path(__file__).with_name("zone.yaml")
BRIDGE = "vmbr7"
ZONE = "demo"
TENANTS = ("team-a", "team-b")
NETWORKS = (("team-a", "blue"), ("team-b", "green"), ("team-b", "tiny"))
TINY = ("team-b", "tiny")
CACHE_KEY = ("team-b", "cache")
CACHE: Object = {
    "apiVersion": "proxmox.cozystack.io/v1alpha1",
    "kind": "ProxmoxNetwork",
    "metadata": {"name": CACHE_KEY[1], "namespace": CACHE_KEY[0]},
    "spec": {"zone": ZONE},
}
"""The network that team-b asks for."""
MARK = "proxmox.cozystack.io/demo"
"""Label of what the demo makes in a cluster that is not its own, so that it removes nothing else."""


@dataclass(frozen=True, slots=True)
class Role:
    """One cluster: its tenant, the network it names, the host number of its endpoint there, its workers."""

    cluster: str
    namespace: str
    network: str
    endpoint: int
    workers: int = 0


ROLES = (
    Role("shop", "team-a", "blue", endpoint=5, workers=1),
    Role("search", "team-a", "blue", endpoint=6),
    Role("media", "team-b", "green", endpoint=5),
)


def zone_text(bridge: str) -> str:
    """The zone as the admin writes it."""
    return ZONE_FILE.read_text().replace(BRIDGE, bridge)


def zone(bridge: str) -> Object:
    item: Object = yaml.safe_load(zone_text(bridge))
    item["metadata"]["labels"] = {MARK: "true"}
    return item


def namespaces() -> list[Object]:
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {MARK: "true"}}}
        for name in TENANTS
    ]


def plan(role: Role, network: Object, node: str, template: int) -> Plan:
    """The cluster on its network, from the network's status."""
    status = network["status"]
    families = {key: _family(status[key]) for key in ("ipv4", "ipv6") if key in status}
    return Plan(
        name=role.cluster,
        namespace=role.namespace,
        endpoint=_host(status["ipv4"]["gateway"], role.endpoint),
        bridge=status["bridge"],
        vlan=status.get("vlan"),
        ipv4=families.get("ipv4"),
        ipv6=families.get("ipv6"),
        workers=role.workers,
        source_node=node,
        template=template,
    )


def clusters(networks: Mapping[tuple[str, str], Object], node: str, template: int) -> list[Object]:
    """All manifests of all clusters."""
    plans = [plan(role, networks[role.namespace, role.network], node, template) for role in ROLES]
    return [item for each in plans for item in everything(each)]


def claim(name: str, pool: str) -> Object:
    """A claim that no machine stands behind, for the network that runs full."""
    return {
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta2",
        "kind": "IPAddressClaim",
        "metadata": {"name": name, "namespace": TINY[0]},
        "spec": {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": pool}},
    }


def machines(roles: Sequence[Role] = ROLES) -> int:
    """How many machines come up: one control-plane machine a cluster, and the workers."""
    return sum(1 + role.workers for role in roles)


def _family(side: Object) -> Family:
    return Family(addresses=side["addresses"], prefix=side["prefix"], gateway=side["gateway"])


def _host(gateway: str, number: int) -> str:
    return f"{gateway.rpartition('.')[0]}.{number}"
