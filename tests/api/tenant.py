"""One tenant of the API server: a namespace, what it asks for, and what it can see of the answers."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from tests.api.witness import (
    ADDRESS,
    BLOCK,
    CLAIM,
    CLUSTER,
    GLOBAL_POOL,
    IPAM,
    LOOK_EVERY,
    NAMESPACE,
    POOL,
    Json,
    Witness,
    until,
)

CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
PAUSED = {"cluster.x-k8s.io/paused": ""}
QUIET_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class PoolRef:
    """A pool by kind and name. `namespace` is None for a global one."""

    kind: str
    namespace: str | None
    name: str

    @property
    def book(self) -> str:
        """The address book of a pool that is no network's."""
        return f"pool/{self.namespace}/{self.name}" if self.namespace else f"globalpool/{self.name}"

    @property
    def reference(self) -> Json:
        return {"apiGroup": IPAM, "kind": self.kind, "name": self.name}


class Tenant:
    """Objects of one namespace, by name. Whatever is waited for fails after a time, saying what it was."""

    def __init__(self, witness: Witness, namespace: str) -> None:
        self.witness, self.namespace = witness, namespace
        self._fences = itertools.count(1)

    @classmethod
    def create(cls, witness: Witness, namespace: str) -> Self:
        witness.create({"kind": NAMESPACE, "metadata": {"name": namespace}})
        return cls(witness, namespace)

    # What it asks for.

    def pool(
        self,
        addresses: Sequence[str],
        name: str = "pool",
        *,
        prefix: int = 24,
        everywhere: bool = False,
        annotations: Json | None = None,
        **spec: Any,
    ) -> PoolRef:
        """A pool of this namespace, or a global one whose name starts with the namespace's."""
        ref = PoolRef(GLOBAL_POOL, None, f"{self.namespace}-{name}") if everywhere else self.pool_ref(name)
        metadata: Json = {"name": ref.name, "annotations": annotations or {}}
        if ref.namespace:
            metadata["namespace"] = ref.namespace
        spec = {"addresses": [*addresses], "prefix": prefix, **spec}
        self.witness.create({"kind": ref.kind, "metadata": metadata, "spec": spec})
        return ref

    def pool_ref(self, name: str) -> PoolRef:
        return PoolRef(POOL, self.namespace, name)

    def claim(
        self, name: str, pool: PoolRef | Json, *, labels: Json | None = None, annotations: Json | None = None,
        cluster: str | None = None,
    ) -> str:  # fmt: skip
        """A claim; `cluster` goes into spec.clusterName. Gives its uid."""
        reference = pool.reference if isinstance(pool, PoolRef) else pool
        spec: Json = {"poolRef": reference, **({"clusterName": cluster} if cluster else {})}
        metadata = {"name": name, "namespace": self.namespace, "labels": labels or {}, "annotations": annotations or {}}
        uid: str = self.witness.create({"kind": CLAIM, "metadata": metadata, "spec": spec})["metadata"]["uid"]
        return uid

    def foreign_address(self, name: str, pool: PoolRef, address: str, prefix: int = 24, **metadata: Any) -> Json:
        """An IPAddress that no provider made."""
        spec = {"address": address, "prefix": prefix, "poolRef": pool.reference, "claimRef": {"name": name}}
        return self.witness.create(
            {"kind": ADDRESS, "metadata": {"name": name, "namespace": self.namespace, **metadata}, "spec": spec}
        )

    def cluster(self, name: str, *, paused: bool = False, annotations: Json | None = None) -> None:
        metadata = {"name": name, "namespace": self.namespace, "annotations": annotations or {}}
        self.witness.create({"kind": CLUSTER, "metadata": metadata, "spec": {"paused": paused}})

    def patch(self, kind: str, name: str, patch: Json) -> Json:
        return self.witness.patch(kind, self.namespace, name, patch)

    def patch_pool(self, pool: PoolRef, patch: Json) -> Json:
        return self.witness.patch(pool.kind, pool.namespace, pool.name, patch)

    def annotate(self, kind: str, name: str, annotations: Json) -> None:
        """Set annotations; None removes one."""
        self.patch(kind, name, {"metadata": {"annotations": annotations}})

    def delete(self, kind: str, name: str) -> None:
        self.witness.delete(kind, self.namespace, name)

    def delete_pool(self, pool: PoolRef) -> None:
        self.witness.delete(pool.kind, pool.namespace, pool.name)

    # What it sees.

    def find(self, kind: str, name: str) -> Json | None:
        return self.witness.find(kind, self.namespace, name)

    def get(self, kind: str, name: str) -> Json:
        return self.witness.get(kind, self.namespace, name)

    def text_of(self, name: str) -> str | None:
        """The address in the IPAddress of this name, if there is one."""
        found = self.find(ADDRESS, name)
        return found["spec"]["address"] if found else None

    def ready(self, name: str) -> Json:
        """The claim's Ready condition; empty if it has none."""
        status = self.get(CLAIM, name).get("status", {})
        return next((item for item in status.get("conditions", ()) if item["type"] == "Ready"), {})

    def answered(self, name: str, timeout: float = 15.0) -> str:
        """Wait until the claim has its address, and give that."""

        def answer() -> str | None:
            claim = self.get(CLAIM, name)
            said = claim.get("status", {}).get("addressRef") == {"name": name}
            return self.text_of(name) if said and self.ready(name).get("status") == "True" else None

        address = until(answer, f"an address for claim {self.namespace}/{name}", timeout)
        assert address is not None
        return address

    def refused(self, name: str, reason: str) -> str:
        """Wait until the claim says that it got none for this reason; gives the message."""
        condition = until(
            lambda: (found := self.ready(name)).get("reason") == reason and found, f"claim {name} says {reason}"
        )
        assert isinstance(condition, dict)
        assert condition["status"] == "False"
        assert self.find(ADDRESS, name) is None
        return str(condition["message"])

    def unanswered(self, name: str) -> Json:
        """The claim, after the provider had its chance and made no IPAddress."""
        self.settle()
        assert self.find(ADDRESS, name) is None
        return self.get(CLAIM, name)

    def settle(self) -> None:
        """Wait until the provider has dealt with all that happened before: it answers in the order of the events."""
        fence = f"fence-{next(self._fences)}"
        if self.find(POOL, "fence") is None:
            self.pool(["192.0.2.0/24"], "fence")
        self.claim(fence, self.pool_ref("fence"))
        self.answered(fence)
        time.sleep(QUIET_SECONDS)

    def gone(self, kind: str, name: str, timeout: float = 15.0) -> None:
        until(lambda: self.find(kind, name) is None, f"{kind} {self.namespace}/{name} is gone", timeout)

    def pool_gone(self, pool: PoolRef, timeout: float = 15.0) -> None:
        until(lambda: self.witness.find(pool.kind, pool.namespace, pool.name) is None, f"{pool} is gone", timeout)

    def counts(self, pool: PoolRef) -> tuple[int, int, int, int] | None:
        """total, used, free, outOfRange of the pool's status."""
        found = self.witness.get(pool.kind, pool.namespace, pool.name).get("status", {}).get("ipAddresses")
        return (found["total"], found["used"], found["free"], found["outOfRange"]) if found else None

    def counted(self, pool: PoolRef, total: int, used: int, out_of_range: int = 0) -> None:
        """Wait until the pool's status says these numbers, and free accordingly."""
        wanted = (total, used, total - used, out_of_range)
        deadline = time.monotonic() + 10.0
        while (found := self.counts(pool)) != wanted:
            assert time.monotonic() < deadline, f"{pool} says {found}, not {wanted} (total, used, free, outOfRange)"
            time.sleep(LOOK_EVERY)

    def blocks(self, pool: PoolRef) -> list[Json]:
        """The blocks of a pool's own book."""
        return [block for block in self.witness.list(BLOCK) if block["spec"]["book"] == pool.book]
