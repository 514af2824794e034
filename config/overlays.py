"""The two ways to install, each as one file for clusterctl that is a kustomize directory too.

default            instead of the in-cluster provider: its pool kinds are ours to serve.
beside-in-cluster  next to it: only pools of our networks are answered, its CRDs are left alone.
"""

from dataclasses import dataclass
from typing import Any

from config import admission, guards, rbac
from config.crds import crd
from config.deployment import deployment, namespace
from provider.api.block import AddressBlock
from provider.api.meta import CustomResource
from provider.api.network import ProxmoxNetwork
from provider.api.network_block import NetworkBlock
from provider.api.peer_pools import GlobalInClusterIPPool, InClusterIPPool
from provider.api.zone import ProxmoxNetworkZone

Json = dict[str, Any]

KINDS: tuple[type[CustomResource], ...] = (ProxmoxNetworkZone, ProxmoxNetwork, AddressBlock, NetworkBlock)
POOL_KINDS: tuple[type[CustomResource], ...] = (InClusterIPPool, GlobalInClusterIPPool)

COMPONENTS = "ipam-components.yaml"
PROVIDER_LABEL = {"cluster.x-k8s.io/provider": "ipam-pxnet"}


@dataclass(frozen=True, slots=True)
class Overlay:
    name: str
    pools: str
    kinds: tuple[type[CustomResource], ...]


OVERLAYS = (
    Overlay("default", "all", (*KINDS, *POOL_KINDS)),
    Overlay("beside-in-cluster", "networks", KINDS),
)


def labelled(document: Json) -> Json:
    """With the label by which clusterctl knows what belongs to a provider."""
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **PROVIDER_LABEL}}}


def components(overlay: Overlay) -> list[Json]:
    """All objects in the order they are applied: a namespace before what is in it, kinds before policies on them."""
    documents = [
        namespace(),
        *(crd(model) for model in overlay.kinds),
        *rbac.documents(),
        deployment(overlay.pools),
        *admission.documents(),
        *guards.documents(),
    ]
    return [labelled(document) for document in documents]


def kustomization() -> Json:
    """So that a platform can build its own overlay on one of ours."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [COMPONENTS],
    }
