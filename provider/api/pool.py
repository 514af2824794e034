"""The fields we use of the in-cluster provider's pools (InClusterIPPool and GlobalInClusterIPPool, v1alpha2)."""

import sys
from dataclasses import dataclass
from typing import Any

from provider.api.ipam import PAUSED_ANNOTATION, Json, PoolKey

NETWORK_ANNOTATION = "proxmox.cozystack.io/network"
"""On a pool of a network: the network's name, in the pool's namespace."""

ZONE_ANNOTATION = "proxmox.cozystack.io/zone"
"""On a pool of another provider: it sits on this zone's bridge, so no network may overlap it there."""

VLAN_ANNOTATION = "proxmox.cozystack.io/vlan"
"""Beside ZONE_ANNOTATION: the VLAN tag, 1 to 4094; without it the pool is untagged."""


@dataclass(frozen=True, slots=True)
class PoolNumbers:
    """status.ipAddresses as the peer computes it: `free` may be negative, `out_of_range` is a part of `used`."""

    total: int
    used: int
    free: int
    out_of_range: int


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool.

    Attributes:
        reuse_seconds: how long an address rests after its claim was deleted.
        network: the network it was made for, by annotation.
        zone, vlan: where it sits, by annotation and as written, if it is another provider's beside our networks.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    version: str
    api_version: str
    addresses: tuple[str, ...]
    prefix: int
    gateway: str | None
    excluded: tuple[str, ...]
    allocate_reserved: bool
    reuse_seconds: int
    paused: bool
    deleted: bool
    network: str | None
    zone: str | None
    vlan: str | None
    finalizers: tuple[str, ...]
    numbers: PoolNumbers | None

    @property
    def key(self) -> PoolKey:
        return self.kind, self.namespace, self.name

    @property
    def book(self) -> str:
        """The name of the book of a pool that belongs to no network."""
        return f"pool/{self.namespace}/{self.name}" if self.namespace else f"globalpool/{self.name}"

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def read_pool(raw: Json) -> Pool:
    meta, spec = raw["metadata"], raw["spec"]
    annotations: dict[str, Any] = meta.get("annotations") or {}
    counts = (raw.get("status") or {}).get("ipAddresses")
    return Pool(
        kind=sys.intern(raw["kind"]),
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta["uid"],
        version=meta["resourceVersion"],
        api_version=raw["apiVersion"].rpartition("/")[2],
        addresses=tuple(spec.get("addresses") or ()),
        prefix=spec.get("prefix", 0),
        gateway=spec.get("gateway") or None,
        excluded=tuple(spec.get("excludedAddresses") or ()),
        allocate_reserved=bool(spec.get("allocateReservedIPAddresses")),
        reuse_seconds=spec.get("addressReuseGracePeriodSeconds") or 0,
        paused=PAUSED_ANNOTATION in annotations,
        deleted="deletionTimestamp" in meta,
        network=annotations.get(NETWORK_ANNOTATION),
        zone=annotations.get(ZONE_ANNOTATION),
        vlan=annotations.get(VLAN_ANNOTATION),
        finalizers=tuple(meta.get("finalizers") or ()),
        numbers=PoolNumbers(
            counts.get("total", 0), counts.get("used", 0), counts.get("free", 0), counts.get("outOfRange", 0)
        )
        if counts
        else None,
    )
