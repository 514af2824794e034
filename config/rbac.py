"""What the provider may do, from one table: a kind, what the code does with it, and why where that is not plain.

The bed runs the provider with nothing else, so a verb that is missing here breaks a test there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from provider.edge.kube.resources import (
    ADDRESSES,
    BLOCKS,
    CLAIMS,
    CLUSTERS,
    CRDS,
    EVENTS,
    GLOBAL_POOLS,
    LEASES,
    NAMESPACES,
    NETWORK_BLOCKS,
    NETWORKS,
    POLICIES,
    POLICY_BINDINGS,
    POOLS,
    PROXMOX_MACHINES,
    VLANS,
    ZONES,
    Resource,
)

Json = dict[str, Any]

NAMESPACE = "pxnet-system"
ACCOUNT = "pxnet-provider"
# clusterctl deletes a cluster-scoped object of a provider only if its name begins with the namespace.
CLUSTER_NAME = f"{NAMESPACE}-provider"

READ = ("get", "list", "watch")
WATCH = ("list", "watch")


@dataclass(frozen=True, slots=True)
class Use:
    """What is done with a kind.

    Attributes:
        verbs: on the objects.
        status: whether its status is written.
        owns: whether objects of ours name it as an owner that blocks its deletion; where that is policed, it takes
            `update` on its finalizers.
    """

    resource: Resource
    verbs: tuple[str, ...]
    status: bool = False
    owns: bool = False


USES = (
    Use(ZONES, (*READ, "patch"), status=True),
    Use(NETWORKS, (*READ, "create", "patch", "delete"), status=True),
    Use(BLOCKS, (*WATCH, "create", "patch", "delete")),
    Use(NETWORK_BLOCKS, ("get", "list", "create", "patch", "delete")),
    Use(CLAIMS, (*READ, "patch"), status=True, owns=True),
    Use(ADDRESSES, (*READ, "create", "patch", "delete")),
    Use(POOLS, (*READ, "create", "patch", "delete"), status=True, owns=True),
    Use(GLOBAL_POOLS, (*READ, "patch"), status=True, owns=True),
    Use(CLUSTERS, WATCH),
    # Touched after a late answer, so that capmox looks at once instead of ten seconds later. Listed to see whether any
    # keeps a network that is on its way out.
    Use(PROXMOX_MACHINES, ("list", "patch")),
    # Where Kube-OVN is: what its Vlans have is not given to networks.
    Use(VLANS, WATCH),
    # Whether kinds of our names are ours, and which of others are served.
    Use(CRDS, ("get",)),
    Use(EVENTS, ("create",)),
    # Which of a long table's tenants are there yet, and which a zone selects; and, as an annotation, which networks
    # each may use.
    Use(NAMESPACES, (*READ, "patch")),
    Use(POLICIES, ("get", "list", "create", "patch", "delete")),
    Use(POLICY_BINDINGS, ("get", "create", "patch", "delete")),
)
OWN_NAMESPACE_USES = (Use(LEASES, ("get", "create", "patch")),)
TENANT_USES = (Use(NETWORKS, READ),)
TENANT_WRITES = (Use(NETWORKS, ("create", "update", "patch", "delete")),)
"""Who may edit a namespace may ask for networks there; the zone's selector decides whether it gets any."""


def rules(uses: tuple[Use, ...]) -> list[Json]:
    return [rule for use in uses for rule in _rules(use)]


def _rules(use: Use) -> Iterator[Json]:
    group, plural = use.resource.group, use.resource.plural
    yield {"apiGroups": [group], "resources": [plural], "verbs": [*use.verbs]}
    if use.status:
        yield {"apiGroups": [group], "resources": [f"{plural}/status"], "verbs": ["patch"]}
    if use.owns:
        yield {"apiGroups": [group], "resources": [f"{plural}/finalizers"], "verbs": ["update"]}


def documents() -> list[Json]:
    """Account, roles and bindings, and what a tenant may see of its own namespace."""
    api = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    local = {"name": ACCOUNT, "namespace": NAMESPACE}
    shown = {f"{api}/aggregate-to-{role}": "true" for role in ("view", "edit", "admin")}
    written = {f"{api}/aggregate-to-{role}": "true" for role in ("edit", "admin")}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": local},
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": CLUSTER_NAME},
            "rules": rules(USES),
        },
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": CLUSTER_NAME},
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": CLUSTER_NAME},
            "subjects": [account],
        },
        {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": local, "rules": rules(OWN_NAMESPACE_USES)},
        {
            "apiVersion": f"{api}/v1",
            "kind": "RoleBinding",
            "metadata": local,
            "roleRef": {"apiGroup": api, "kind": "Role", "name": ACCOUNT},
            "subjects": [account],
        },
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": f"{NAMESPACE}-view", "labels": shown},
            "rules": rules(TENANT_USES),
        },
        {
            "apiVersion": f"{api}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": f"{NAMESPACE}-edit", "labels": written},
            "rules": rules(TENANT_WRITES),
        },
    ]
