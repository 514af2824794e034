"""The fields we use of Cluster API's IPAM kinds, and how to write them at v1beta1 and v1beta2.

There are many claims and addresses, so they are kept as small values, not as models or JSON. The two versions differ
in where new-style conditions live and in nothing else that matters here.
"""

import functools
import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from provider.api.times import parse_time

Json = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name; the namespace is empty for cluster-scoped objects."""
PoolKey = tuple[str, str, str]
"""Kind, namespace (empty for global pools) and name."""

RELEASE_FINALIZER = "ipam.cluster.x-k8s.io/ReleaseAddress"
PROTECT_ADDRESS_FINALIZER = "ipam.cluster.x-k8s.io/ProtectAddress"
PROTECT_POOL_FINALIZER = "ipam.cluster.x-k8s.io/ProtectPool"
# The same names as the in-cluster provider's, on purpose: it writes finalizer lists blindly, so beside it only the very
# same names cannot erase each other.

CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
PAUSED_ANNOTATION = "cluster.x-k8s.io/paused"
IPAM_GROUP = "ipam.cluster.x-k8s.io"
GLOBAL_KIND = "GlobalInClusterIPPool"
POOL_KINDS = ("InClusterIPPool", GLOBAL_KIND)


@dataclass(frozen=True, slots=True)
class Ready:
    """The Ready condition of a claim."""

    status: str
    reason: str
    message: str
    since: str


@dataclass(frozen=True, slots=True)
class Claim:
    """An IPAddressClaim. `cluster` is spec.clusterName or, as capmox writes it, the label."""

    namespace: str
    name: str
    uid: str
    version: str
    created: datetime
    generation: int
    pool_group: str
    pool_kind: str
    pool_name: str
    cluster: str | None
    cluster_label: str | None
    paused: bool
    deleted: datetime | None
    finalizers: tuple[str, ...]
    address_name: str | None
    ready: Ready | None
    owner: tuple[str, str] | None

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    @property
    def pool_key(self) -> PoolKey:
        namespace = "" if self.pool_kind == GLOBAL_KIND else self.namespace
        return self.pool_kind, namespace, self.pool_name

    @property
    def holder(self) -> str:
        """How a book names this claim."""
        return sys.intern(f"IPAddressClaim/{self.namespace}/{self.name}")


@dataclass(frozen=True, slots=True)
class Address:
    """An IPAddress.

    Attributes:
        claim_uid: uid of the claim that owns it, None where none does (made by hand).
        pool_owned: its pool owns it, too; providers make them so.
    """

    namespace: str
    name: str
    uid: str
    version: str
    address: str
    pool_kind: str
    pool_name: str
    claim_name: str
    claim_uid: str | None
    deleted: bool
    finalizers: tuple[str, ...]
    pool_owned: bool = False

    @property
    def abandoned(self) -> bool:
        """A provider made it for a claim that it does not name any more.

        The garbage collector strikes an owner that is gone from an object that has another one, here the pool. The
        finalizer says nothing: whoever took it off may have died before the deletion.
        """
        return self.claim_uid is None and self.pool_owned

    @property
    def key(self) -> Key:
        return self.namespace, self.name

    @property
    def pool_key(self) -> PoolKey:
        namespace = "" if self.pool_kind == GLOBAL_KIND else self.namespace
        return self.pool_kind, namespace, self.pool_name

    @property
    def holder(self) -> str:
        """How a book names this address: by its claim where one owns it."""
        kind = "IPAddress" if self.claim_uid is None else "IPAddressClaim"
        return f"{kind}/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What of a Cluster matters to its claims."""

    version: str
    paused: bool


def read_claim(raw: Json) -> Claim:
    meta, spec, status = raw["metadata"], raw["spec"], raw.get("status") or {}
    pool = spec["poolRef"]
    label = (meta.get("labels") or {}).get(CLUSTER_LABEL)
    cluster = spec.get("clusterName") or label
    conditions = (status.get("v1beta2") or {}).get("conditions") if "v1beta2" in status else status.get("conditions")
    ready = next((item for item in conditions or () if item["type"] == "Ready"), None)
    owner = next((item for item in meta.get("ownerReferences") or () if item.get("controller")), None)
    deleted = meta.get("deletionTimestamp")
    return Claim(
        namespace=sys.intern(meta["namespace"]),
        name=sys.intern(meta["name"]),
        uid=sys.intern(meta["uid"]),
        version=meta["resourceVersion"],
        created=parse_time(meta["creationTimestamp"]),
        generation=meta.get("generation", 1),
        pool_group=sys.intern(pool.get("apiGroup") or ""),
        pool_kind=sys.intern(pool["kind"]),
        pool_name=sys.intern(pool["name"]),
        cluster=_shared(cluster),
        cluster_label=_shared(label),
        paused=PAUSED_ANNOTATION in (meta.get("annotations") or {}),
        deleted=parse_time(deleted) if deleted else None,
        finalizers=_finalizers(meta),
        address_name=_shared((status.get("addressRef") or {}).get("name") or None),
        ready=Ready(
            sys.intern(ready["status"]), sys.intern(ready.get("reason") or ""), ready.get("message") or "",
            sys.intern(ready.get("lastTransitionTime") or ""),
        )
        if ready
        else None,
        owner=(sys.intern(owner["kind"]), owner["name"]) if owner else None,
    )  # fmt: skip


def _shared(text: str | None) -> str | None:
    """Names and uids come again in claims, addresses, blocks and indexes: one string for all of them."""
    return None if text is None else sys.intern(text)


@functools.lru_cache(maxsize=64)
def _one_tuple(finalizers: tuple[str, ...]) -> tuple[str, ...]:
    return finalizers


def _finalizers(meta: Json) -> tuple[str, ...]:
    """Nearly all objects of a kind have the same finalizers: one tuple for all of them."""
    return _one_tuple(tuple(meta.get("finalizers") or ()))


def read_address(raw: Json) -> Address:
    meta, spec = raw["metadata"], raw["spec"]
    owners = meta.get("ownerReferences") or ()
    claim_uid = next((owner["uid"] for owner in owners if owner["kind"] == "IPAddressClaim"), None)
    return Address(
        namespace=sys.intern(meta["namespace"]),
        name=sys.intern(meta["name"]),
        uid=meta["uid"],
        version=meta["resourceVersion"],
        address=spec["address"],
        pool_kind=sys.intern(spec["poolRef"]["kind"]),
        pool_name=sys.intern(spec["poolRef"]["name"]),
        claim_name=sys.intern((spec.get("claimRef") or {}).get("name", "")),
        claim_uid=_shared(claim_uid),
        deleted="deletionTimestamp" in meta,
        finalizers=_finalizers(meta),
        pool_owned=any(owner["kind"] in POOL_KINDS for owner in owners),
    )


def read_cluster(raw: Json) -> ClusterState:
    meta = raw["metadata"]
    paused = bool((raw.get("spec") or {}).get("paused")) or PAUSED_ANNOTATION in (meta.get("annotations") or {})
    return ClusterState(meta["resourceVersion"], paused)


def owner_references(claim: Claim, api_version: str, pool_uid: str, pool_version: str) -> list[Json]:
    """The owners the contract asks for: the claim as controller, then the pool."""
    return [
        {
            "apiVersion": api_version,
            "kind": "IPAddressClaim",
            "name": claim.name,
            "uid": claim.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        },
        {
            "apiVersion": f"{IPAM_GROUP}/{pool_version}",
            "kind": claim.pool_kind,
            "name": claim.pool_name,
            "uid": pool_uid,
            "controller": False,
            "blockOwnerDeletion": True,
        },
    ]


def address_body(
    claim: Claim, owners: list[Json], version: str, address: str, prefix: int, gateway: str | None
) -> Json:
    """The IPAddress for a claim: named like it, its pool reference repeated to the letter (CAPI's webhook compares)."""
    metadata: Json = {
        "name": claim.name,
        "namespace": claim.namespace,
        "finalizers": [PROTECT_ADDRESS_FINALIZER],
        "ownerReferences": owners,
    }
    if claim.cluster_label is not None:
        metadata["labels"] = {CLUSTER_LABEL: claim.cluster_label}
    spec: Json = {
        "claimRef": {"name": claim.name},
        "poolRef": {"apiGroup": claim.pool_group, "kind": claim.pool_kind, "name": claim.pool_name},
        "address": address,
        "prefix": prefix,
    }
    if gateway:
        spec["gateway"] = gateway
    return {"apiVersion": f"{IPAM_GROUP}/{version}", "kind": "IPAddress", "metadata": metadata, "spec": spec}


def claim_status(version: str, ready: Ready, generation: int, address_name: str | None) -> Json:
    """The status patch of a claim.

    At v1beta1 conditions are the old kind (with severity, without observedGeneration) and the new ones live under
    status.v1beta2; both are written, so that clients of either find theirs. A merge patch replaces lists whole, and
    no one else sets conditions on claims.
    """
    condition = {
        "type": "Ready",
        "status": ready.status,
        "reason": ready.reason,
        "message": ready.message,
        "lastTransitionTime": ready.since,
        "observedGeneration": generation,
    }
    status: Json = {"addressRef": {"name": address_name}} if address_name is not None else {}
    if version == "v1beta1":
        old = {"type": "Ready", "status": ready.status, "lastTransitionTime": ready.since}
        if ready.status != "True":
            old.update(reason=ready.reason, message=ready.message, severity="Info")
        return {"status": {**status, "conditions": [old], "v1beta2": {"conditions": [condition]}}}
    return {"status": {**status, "conditions": [condition]}}
