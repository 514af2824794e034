"""The InClusterIPPools of a network: one for each family, with all that capmox reads and the in-cluster provider heeds.

They are made whole in one request: the paused mark keeps the in-cluster provider from answering, and it must be there
from the first moment. There is no owner reference: `clusterctl move` would leave behind what an owned pool owns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provider.api.ipam import PAUSED_ANNOTATION, PROTECT_POOL_FINALIZER
from provider.api.pool import NETWORK_ANNOTATION
from provider.core.addresses import Family
from provider.core.names import MANAGED_BY, NetworkKey, pool_name, pool_names
from provider.core.offers import Offer
from provider.core.patches import merge_patch
from provider.core.spans import Span

Json = dict[str, Any]

CAPMOX = "ipam.capmox.cluster.x-k8s.io"
ZONE_LABEL = "topology.kubernetes.io/proxmox-zone"
"""capmox's own idea of a zone, which has nothing to do with ours; it copies the label to the claims."""


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """What to do with a network's pools.

    Attributes:
        create: whole objects.
        patch: name -> merge patch.
        delete: names, of pools that are not wanted any more.
        conflicts: names of pools that somebody else made; never touched.
        remaining: names of our pools that are there, wanted or not.
        ending: of these, the wanted ones that are being deleted; they are made again when they are gone.
    """

    create: tuple[Json, ...] = ()
    patch: Mapping[str, Json] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    ending: tuple[str, ...] = ()


def pool_body(key: NetworkKey, offer: Offer, span: Span) -> Json:
    """A pool as it is created."""
    namespace, network = key
    return {
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
        "kind": "InClusterIPPool",
        "metadata": {
            "name": pool_name(network, span.family, dual=len(offer.spans) > 1),
            "namespace": namespace,
            "labels": {MANAGED_BY[0]: MANAGED_BY[1], ZONE_LABEL: "default"},
            "annotations": _annotations(network, offer, span),
            "finalizers": [PROTECT_POOL_FINALIZER],
        },
        "spec": _spec(offer, span),
    }


def _annotations(network: str, offer: Offer, span: Span) -> dict[str, str]:
    return {
        PAUSED_ANNOTATION: "true",
        NETWORK_ANNOTATION: network,
        "metric": str(offer.metric),
        f"{CAPMOX}/gateway-metric": str(offer.metric),
        f"{CAPMOX}/ip-family": span.family.lower(),
    }


def _spec(offer: Offer, span: Span) -> Json:
    spec: Json = {
        "addresses": [*span.entries],
        "prefix": span.prefix,
        "addressReuseGracePeriodSeconds": offer.reuse_seconds,
    }
    if span.excluded_entries:
        spec["excludedAddresses"] = [*span.excluded_entries]
    if span.gateway is not None:
        spec["gateway"] = span.gateway
    return spec


def plan_pools(key: NetworkKey, offer: Offer | None, existing: Sequence[Json]) -> PoolPlan:
    """Compare the pools that should be with those that are.

    Args:
        key: the network.
        offer: what is in force; None or without spans: no pools.
        existing: the InClusterIPPools of the network's namespace that have one of its pool names.
    """
    wanted = {} if offer is None else {body["metadata"]["name"]: body for body in _bodies(key, offer)}
    found = {raw["metadata"]["name"]: raw for raw in existing if raw["metadata"]["name"] in pool_names(key[1])}
    ours = {name for name, raw in found.items() if _is_ours(raw, key[1])}
    patches: dict[str, Json] = {}
    for name, body in wanted.items():
        if name in ours and not _ending(found[name]):
            patch = _patch(found[name], body)
            if patch:
                patches[name] = patch
    return PoolPlan(
        create=tuple(body for name, body in wanted.items() if name not in found),
        patch=patches,
        delete=tuple(sorted(name for name in ours - set(wanted) if "deletionTimestamp" not in found[name]["metadata"])),
        conflicts=tuple(sorted(name for name in wanted if name in found and name not in ours)),
        remaining=tuple(sorted(ours)),
        ending=tuple(sorted(name for name in wanted if name in ours and _ending(found[name]))),
    )


def _bodies(key: NetworkKey, offer: Offer) -> list[Json]:
    return [pool_body(key, offer, offer.spans[family]) for family in Family if family in offer.spans]


def _is_ours(raw: Json, network: str) -> bool:
    metadata = raw["metadata"]
    marked = (metadata.get("annotations") or {}).get(NETWORK_ANNOTATION) == network
    return marked and (metadata.get("labels") or {}).get(MANAGED_BY[0]) == MANAGED_BY[1]


def _ending(raw: Json) -> bool:
    return "deletionTimestamp" in raw["metadata"]


def _patch(raw: Json, body: Json) -> Json:
    """What to change of a pool: our annotations where they were edited away, and the spec. Never its finalizers."""
    annotations = raw["metadata"].get("annotations") or {}
    kept = {**annotations, **body["metadata"]["annotations"]}
    patch: Json = {}
    marks = merge_patch(annotations, kept)
    if marks:
        patch["metadata"] = {"annotations": marks}
    # Fields that the API server defaults, or that a newer version of the kind has, are not ours to remove.
    known = {name: raw["spec"][name] for name in (*_FIELDS,) if name in raw["spec"]}
    spec = merge_patch(known, body["spec"])
    if spec:
        patch["spec"] = spec
    return patch


_FIELDS = ("addresses", "prefix", "gateway", "excludedAddresses", "addressReuseGracePeriodSeconds")
