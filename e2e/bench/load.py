"""The load: one namespace with a /16 pool, claims made and deleted as fast as the server takes them, and one watch.

The same code for whoever answers. Time runs from the first request to make (or delete) a claim to the last claim that
was seen answered (or gone), so the making is counted for all sides alike.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from e2e.bench.errors import BenchError
from provider.api.ipam import CLUSTER_LABEL, IPAM_GROUP, Json
from provider.edge.kube.client import Client
from provider.edge.kube.resources import ADDRESSES, CAPI_GROUP, CLAIMS, CLUSTERS, NAMESPACES, POOLS

CREATORS = 16
"""Requests to make or delete claims that are under way at one time."""

SLOWEST = 5.0
"""Claims a second; a side that is slower than this has failed."""

POOL = {"addresses": ["10.20.0.0/16"], "prefix": 16, "gateway": "10.20.0.1"}
FIRST_ADDRESS = 0x0A14_0002
OnClaim = Callable[[Json], None]


def claim_body(namespace: str, name: str, *, machine: bool = False) -> Json:
    """A claim as capmox makes it; with `machine` also its owner, which in a storm would add writes to that machine."""
    metadata: Json = {
        "name": name,
        "namespace": namespace,
        "labels": {CLUSTER_LABEL: "bench"},
        "annotations": {"ipam.capmox.cluster.x-k8s.io/pool-ref-counter": "0"},
    }
    if machine:
        metadata["ownerReferences"] = [
            {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha2",
                "kind": "ProxmoxMachine",
                "name": name.removesuffix("-net0-00-inet"),
                "uid": "00000000-0000-4000-8000-000000000001",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    spec = {"poolRef": {"apiGroup": IPAM_GROUP, "kind": POOLS.kind, "name": "bench"}}
    return {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "metadata": metadata, "spec": spec}


def names(count: int, prefix: str = "m") -> list[str]:
    """Names of claims, as capmox gives them to the first address of a machine's first NIC."""
    return [f"{prefix}{number:05d}-net0-00-inet" for number in range(count)]


@dataclass(slots=True)
class Load:
    """A namespace under load. `async with` makes namespace, cluster and pool, and watches the claims."""

    kube: Client
    namespace: str
    answered: dict[str, float] = field(default_factory=dict)
    gone: dict[str, float] = field(default_factory=dict)
    pool: Json = field(default_factory=dict)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _watching: "asyncio.Task[None] | None" = None

    async def __aenter__(self) -> Self:
        name = {"name": self.namespace}
        await self.kube.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": name})
        bench = {"name": "bench", "namespace": self.namespace}
        cluster = {"apiVersion": f"{CAPI_GROUP}/v1beta2", "kind": "Cluster", "metadata": bench}
        spec = {"clusterNetwork": {"serviceDomain": "cluster.local"}}
        await self.kube.create(CLUSTERS, {**cluster, "spec": spec}, self.namespace)
        pool = {"apiVersion": POOLS.api_version, "kind": POOLS.kind, "metadata": bench, "spec": POOL}
        self.pool = await self.kube.create(POOLS, pool, self.namespace)
        listed = await self.kube.list_page(CLAIMS, self.namespace)
        self._watching = asyncio.create_task(self._watch(listed["metadata"]["resourceVersion"]))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching

    async def storm(self, wanted: Sequence[str], tell: OnClaim) -> float:
        """Make these claims and wait until each is answered; gives claims a second. `tell` gets each as it is made."""
        begun = time.monotonic()

        async def make(name: str) -> None:
            tell(await self.kube.create(CLAIMS, claim_body(self.namespace, name), self.namespace))

        await asyncio.gather(_all(make, wanted), self._until(self.answered, wanted))
        return len(wanted) / (max(self.answered[name] for name in wanted) - begun)

    async def release(self, wanted: Sequence[str], tell: OnClaim) -> float:
        """Delete these answered claims and wait until all are gone; gives claims a second."""
        begun = time.monotonic()

        async def delete(name: str) -> None:
            tell(await self.kube.request("DELETE", CLAIMS.path(self.namespace, name)))

        await asyncio.gather(_all(delete, wanted), self._until(self.gone, wanted))
        return len(wanted) / (max(self.gone[name] for name in wanted) - begun)

    async def one(self, name: str, tell: OnClaim) -> float:
        """Seconds from the request that makes one claim until it is seen answered."""
        begun = time.monotonic()
        tell(await self.kube.create(CLAIMS, claim_body(self.namespace, name, machine=True), self.namespace))
        await self._until(self.answered, [name])
        return self.answered[name] - begun

    async def make(self, name: str) -> Json:
        """Make a claim and do not wait."""
        return await self.kube.create(CLAIMS, claim_body(self.namespace, name), self.namespace)

    async def wait(self, name: str) -> float:
        """The moment (monotonic) at which the claim was seen answered."""
        await self._until(self.answered, [name])
        return self.answered[name]

    async def check(self) -> None:
        """Raises BenchError if two claims got one address: then no figure of this side means anything."""
        listed = await self.kube.list_all(ADDRESSES, self.namespace)
        distinct = {item["spec"]["address"] for item in listed}
        if len(distinct) != len(listed):
            raise BenchError(f"{self.namespace}: {len(listed)} IPAddresses have only {len(distinct)} addresses")

    async def _until(self, seen: dict[str, float], wanted: Sequence[str]) -> None:
        deadline = time.monotonic() + 60 + len(wanted) / SLOWEST
        missing = set(wanted)
        while missing := {name for name in missing if name not in seen}:
            self._news.clear()
            left = deadline - time.monotonic()
            assert self._watching is not None
            if self._watching.done():
                self._watching.result()
            try:
                # Not at every event: the load shares its cores with what it measures.
                await asyncio.wait_for(self._news.wait(), left)
            except TimeoutError:
                raise BenchError(f"{self.namespace}: {len(missing)} of {len(wanted)} claims are not done") from None
            if len(missing) > 100:
                await asyncio.sleep(0.25)

    async def _watch(self, version: str) -> None:
        while True:
            async for event in self.kube.watch(CLAIMS, version, self.namespace):
                item = event["object"]
                version = item["metadata"]["resourceVersion"]
                if event["type"] == "DELETED":
                    self.gone[item["metadata"]["name"]] = time.monotonic()
                elif (item.get("status") or {}).get("addressRef"):
                    self.answered.setdefault(item["metadata"]["name"], time.monotonic())
                else:
                    continue
                self._news.set()


async def _all(act: Callable[[str], Awaitable[None]], wanted: Iterable[str]) -> None:
    waiting = iter(wanted)

    async def work() -> None:
        for name in waiting:
            await act(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(CREATORS):
            group.create_task(work())
