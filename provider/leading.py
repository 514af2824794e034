"""What the leader runs: the local copies, the queues and the reconciles, wired to each other.

The order of the start is what makes it safe: first all copies are complete, then the networks publish their books, then
pools are bound to books, and only then is anything given.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import structlog

from provider.api.ipam import (
    Address,
    Claim,
    ClusterState,
    Json,
    Key,
    PoolKey,
    read_address,
    read_claim,
    read_cluster,
)
from provider.api.pool import Pool, read_pool
from provider.controllers.books import Books
from provider.controllers.claim import ClaimController
from provider.controllers.leftovers import Leftovers
from provider.controllers.pool import PoolController
from provider.controllers.view import View
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.blocks import BOOK_LABEL, BlockStore, KubeBlocks
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import KubeError, Unavailable
from provider.edge.kube.reflector import Reflector
from provider.edge.kube.resources import ADDRESSES, BLOCKS, CLAIMS, CLUSTERS, GLOBAL_POOLS, POOLS, Resource
from provider.edge.metrics import Metrics
from provider.engine.queue import Queue

RESYNC = 300.0
"""Seconds between looks at everything, for what no event told of."""

STATUS_DELAY = 0.3
"""Seconds for which changes of a pool's addresses gather before its status is written."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """How this provider works.

    Attributes:
        drop_in: answer all in-cluster pools, not only those of networks.
        ipam_version, cluster_version: the API versions the server has.
        namespace: only look at this namespace; None for all.
        workers: claims in work at one time.
        seed: of the spread of retries; None for a different one in each process.
    """

    drop_in: bool = True
    ipam_version: str = "v1beta2"
    cluster_version: str = "v1beta2"
    namespace: str | None = None
    workers: int = 48
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class BlockMark:
    """All that the watch of blocks keeps: enough to see that somebody else wrote one."""

    version: str
    book: str | None


class Networks(Protocol):
    """The part that knows zones and networks."""

    async def load(self) -> None:
        """Publish the books of all networks."""
        ...

    async def run(self) -> None:
        """Reconcile zones and networks until cancelled."""
        ...

    def changed(self, resource: Resource, key: Key) -> None:
        """The watch saw a zone or a network change."""
        ...

    def book_changed(self, book: str) -> None:
        """The usage of a network's book changed."""
        ...

    def pool_changed(self, old: Pool | None, new: Pool | None) -> None:
        """A pool came, went or changed."""
        ...


class Leading:
    """One leadership. `run` works until cancelled; `idle` says that nothing is left to do."""

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        events: Events,
        metrics: Metrics,
        options: Options,
        networks: "Callable[[Leading], Networks] | None" = None,
        store: BlockStore | None = None,
    ) -> None:
        self.kube, self.clock, self.events, self.metrics, self.options = kube, clock, events, metrics, options
        self.view = view = View()
        claim_kind = CLAIMS.at(options.ipam_version)
        self.claims = Reflector(kube, clock, claim_kind, read_claim, self._claim_changed, namespace=options.namespace)
        self.addresses = Reflector(
            kube, clock, ADDRESSES.at(options.ipam_version), read_address, self._address_changed,
            namespace=options.namespace,
        )  # fmt: skip
        self.pools = Reflector(kube, clock, POOLS, read_pool, self._pool_changed, namespace=options.namespace)
        self.global_pools = Reflector(kube, clock, GLOBAL_POOLS, read_pool, self._pool_changed)
        self.clusters = Reflector(
            kube, clock, CLUSTERS.at(options.cluster_version), read_cluster, self._cluster_changed,
            namespace=options.namespace,
        )  # fmt: skip
        self.blocks = Reflector(kube, clock, BLOCKS, _read_mark, self._block_changed, metadata_only=True)
        view.claims, view.addresses, view.clusters = self.claims.objects, self.addresses.objects, self.clusters.objects
        self.books = Books(
            kube,
            store or KubeBlocks(kube, clock, metrics),
            view,
            clock,
            events,
            claim_kind,
            lambda key: self.claim_queue.add(key),
            drop_in=options.drop_in,
        )
        claim_controller = ClaimController(
            kube, view, self.books, clock, events, metrics, claim_kind, drop_in=options.drop_in,
            note_claim=self.claims.note, note_address=self._note_address,
        )  # fmt: skip
        self._pool_controller = PoolController(kube, view, self.books, drop_in=options.drop_in)
        self.claim_queue: Queue[Key] = Queue("claims", claim_controller.reconcile, clock, options.workers, options.seed)
        self.pool_queue: Queue[PoolKey] = Queue("pools", self._reconcile_pool, clock, 4, options.seed)
        self._due: set[PoolKey] = set()
        self._leftovers = Leftovers(kube, view, self.books)
        self.networks = networks(self) if networks is not None else None
        self._bound = False
        self.ready = asyncio.Event()
        self._show()

    def _show(self) -> None:
        """Let scrapes read what is here."""
        read = self.metrics.watch
        read("pxnet_queue_depth", "Keys that wait to be worked on.", "queue", self._depths)
        for word, text in (("total", "Addresses that it offers."), ("used", "Addresses that claims have.")):
            read(f"pxnet_pool_addresses_{word}", text, "pool", partial(self._pool_numbers, word))
        read("pxnet_waiting_claims", "Claims that wait for an address to be free.", "book", self.books.waiting)

    def _depths(self) -> dict[str, float]:
        return {queue.name: len(queue) for queue in (self.claim_queue, self.pool_queue)}

    def _pool_numbers(self, word: str) -> dict[str, float]:
        pools = [*self.view.pools.values()]
        return {
            f"{pool.namespace}/{pool.name}": getattr(pool.numbers, word) for pool in pools if pool.numbers is not None
        }

    @property
    def reflectors(self) -> tuple[Reflector[Any], ...]:
        return self.claims, self.addresses, self.pools, self.global_pools, self.clusters, self.blocks

    @property
    def idle(self) -> bool:
        return self.claim_queue.idle and self.pool_queue.idle and not self._due

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for reflector in self.reflectors:
                    group.create_task(reflector.run())
                await asyncio.gather(*(reflector.synced.wait() for reflector in self.reflectors))
                if self.networks is not None:
                    await self._load(self.networks)
                    group.create_task(self.networks.run())
                # Not earlier: a pool bound before its network is known would get a book of its own.
                self._bound = True
                for pool in [*self.view.pools.values()]:
                    self.books.binding(pool)
                log.info("ready", claims=len(self.claims.objects), addresses=len(self.addresses.objects))
                self.ready.set()
                # Thousands have their address, and to see that takes a second; who waits for one goes first.
                self.claim_queue.hurry(self._is_unanswered)
                group.create_task(self.claim_queue.run())
                group.create_task(self.pool_queue.run())
                group.create_task(self._resync())
        finally:
            self.ready.clear()
            self.books.close()

    def _is_unanswered(self, key: Key) -> bool:
        claim = self.view.claims.get(key)
        return claim is not None and claim.address_name is None

    async def _load(self, networks: Networks) -> None:
        """Read zones and networks, however long it takes: the API server may be starting, or just got the kinds."""
        while True:
            try:
                return await networks.load()
            except Unavailable as error:
                log.info("zones and networks cannot be read yet", error=str(error))
                await self.clock.sleep(0.5)

    async def _resync(self) -> None:
        while True:
            try:
                await self._leftovers.clear()
            except KubeError as error:
                log.info("leftovers stay until the next look", error=str(error))
            await self.clock.sleep(RESYNC)
            self.books.reopen_all()
            for key in [*self.claims.objects]:
                self.claim_queue.add(key)
            for pool in [*self.view.pools]:
                self.pool_queue.add(pool)

    def _claim_changed(self, key: Key, old: Claim | None, new: Claim | None) -> None:
        self.view.index_claim(key, old, new)
        if self._bound and old is not None and (new is None or new.uid != old.uid):
            self.books.claim_gone(old.uid)
        self.claim_queue.add(key)

    def _address_changed(self, key: Key, old: Address | None, new: Address | None) -> None:
        self.view.index_address(key, old, new)
        changed = new if new is not None else old
        assert changed is not None
        if self._bound and new is None:
            self.books.address_gone(changed)
        elif self._bound and new is not None and old is None:
            self.books.address_found(new)
        if old is None or new is None or old.pool_key != new.pool_key:
            self._pool_due(changed.pool_key)
        if key in self.claims.objects:
            self.claim_queue.add(key)

    def _note_address(self, key: Key, address: Address) -> None:
        old = self.addresses.objects.get(key)
        self.addresses.note(key, address)
        self.view.index_address(key, old, address)
        self._pool_due(address.pool_key)

    def _pool_changed(self, key: Key, old: Pool | None, new: Pool | None) -> None:
        self.view.index_pool(old, new)
        if self.networks is not None:
            self.networks.pool_changed(old, new)
        pool = new if new is not None else old
        assert pool is not None
        self.pool_queue.add(pool.key)
        if self._bound and new is not None:
            self.books.binding(new)
        if old is None or new is None or _offer(old) != _offer(new):
            for claim in self.view.claims_of_pool(pool.key):
                self.claim_queue.add(claim)

    def _cluster_changed(self, key: Key, old: ClusterState | None, new: ClusterState | None) -> None:
        if (old is None) != (new is None) or (old is not None and new is not None and old.paused != new.paused):
            for claim in self.view.claims_of_cluster(key):
                self.claim_queue.add(claim)

    def _block_changed(self, key: Key, old: BlockMark | None, new: BlockMark | None) -> None:
        mark = new if new is not None else old
        assert mark is not None
        name = self.books.seen(mark.book, key[1], mark.version)
        if name is not None and self.networks is not None:
            self.networks.book_changed(name)

    async def _reconcile_pool(self, pool: PoolKey) -> float | None:
        self._due.discard(pool)
        return await self._pool_controller.reconcile(pool)

    def _pool_due(self, pool: PoolKey) -> None:
        if pool not in self._due:
            self._due.add(pool)
            self.pool_queue.add_after(pool, STATUS_DELAY)


def _offer(pool: Pool) -> tuple[object, ...]:
    """What of a pool its claims depend on: everything but versions, finalizers and counts."""
    return (
        pool.addresses, pool.prefix, pool.gateway, pool.excluded, pool.allocate_reserved, pool.reuse_seconds,
        pool.paused, pool.deleted, pool.network,
    )  # fmt: skip


def _read_mark(raw: Json) -> BlockMark:
    meta = raw["metadata"]
    return BlockMark(meta["resourceVersion"], (meta.get("labels") or {}).get(BOOK_LABEL))
