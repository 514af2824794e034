"""The two ways to install, each as a kustomize directory and as one file for clusterctl.

default            instead of the in-cluster provider: its pool kinds are ours to serve.
beside-in-cluster  next to it: only pools of our networks are answered, its CRDs are left alone.

The files for clusterctl hold what `kubectl kustomize` makes of the directories.
"""

import json
from dataclasses import dataclass
from typing import Any

from config import admission, rbac
from config.crds import crd
from config.deployment import deployment, namespace
from provider.api.block import AddressBlock
from provider.api.meta import CustomResource
from provider.api.network import ProxmoxNetwork
from provider.api.peer_pools import GlobalInClusterIPPool, InClusterIPPool
from provider.api.zone import ProxmoxNetworkZone

Json = dict[str, Any]

KINDS: tuple[type[CustomResource], ...] = (ProxmoxNetworkZone, ProxmoxNetwork, AddressBlock)
POOL_KINDS: tuple[type[CustomResource], ...] = (InClusterIPPool, GlobalInClusterIPPool)

PROVIDER_LABEL = {"cluster.x-k8s.io/provider": "ipam-pxnet"}


@dataclass(frozen=True, slots=True)
class Overlay:
    name: str
    pools: str
    kinds: tuple[type[CustomResource], ...]
    parts: tuple[str, ...]


OVERLAYS = (
    Overlay("default", "all", (*KINDS, *POOL_KINDS), ("../base", "../admission", "../../crds", "../../crds/pools")),
    Overlay("beside-in-cluster", "networks", KINDS, ("../base", "../admission", "../../crds")),
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
    ]
    return [labelled(document) for document in documents]


def kustomization(resources: tuple[str, ...], **more: Any) -> Json:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [*resources],
        **more,
    }


def overlay_kustomization(overlay: Overlay) -> Json:
    labels = [{"pairs": PROVIDER_LABEL, "includeSelectors": False}]
    if overlay.pools == "all":
        return kustomization(overlay.parts, labels=labels)
    arguments = deployment(overlay.pools)["spec"]["template"]["spec"]["containers"][0]["args"]
    operation = {"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": arguments}
    patch = {"target": {"kind": "Deployment"}, "patch": _inline([operation])}
    return kustomization(overlay.parts, labels=labels, patches=[patch])


def _inline(operations: list[Json]) -> str:
    """Kustomize takes a patch as text."""
    return json.dumps(operations)
