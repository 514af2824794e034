"""Pools: the protecting finalizer, the four numbers of their status, and a clean end.

The numbers and the finalizer are the in-cluster provider's to the letter, since beside it both of us write them.
A pool that is being deleted stays until no IPAddress names it.
"""

from dataclasses import dataclass

from provider.api.ipam import GLOBAL_KIND, PROTECT_POOL_FINALIZER, Json, PoolKey
from provider.api.pool import Pool, PoolNumbers
from provider.controllers.books import Books
from provider.controllers.view import View
from provider.core import pools
from provider.core.addresses import AddressError, parse_address
from provider.core.pools import Binding
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import Conflict, NotFound
from provider.edge.kube.resources import GLOBAL_POOLS, POOLS


@dataclass(frozen=True, slots=True)
class PoolActions:
    """What a pool wants written: its finalizers and its numbers, where they differ from what it has."""

    finalizers: tuple[str, ...] | None = None
    numbers: PoolNumbers | None = None
    over: bool = False


def decide(pool: Pool, used: list[int], objects: int) -> PoolActions:
    """Pure: what to do with a pool that `objects` IPAddresses name, of which `used` are readable."""
    protected = PROTECT_POOL_FINALIZER in pool.finalizers
    if pool.deleted:
        if objects or not protected:
            return PoolActions()
        return PoolActions(tuple(name for name in pool.finalizers if name != PROTECT_POOL_FINALIZER), over=True)
    numbers = pools.count(pool, used, objects)
    return PoolActions(
        None if protected else (*pool.finalizers, PROTECT_POOL_FINALIZER), None if numbers == pool.numbers else numbers
    )


class PoolController:
    """Reconciles InClusterIPPools and GlobalInClusterIPPools."""

    def __init__(self, kube: Kube, view: View, books: Books, *, drop_in: bool) -> None:
        self._kube = kube
        self._view = view
        self._books = books
        self._drop_in = drop_in

    async def reconcile(self, key: PoolKey) -> float | None:
        pool = self._view.pools.get(key)
        if pool is None:
            self._books.unbind(key)
            return None
        binding = self._books.binding(pool)
        of_network = pool.network is not None or (isinstance(binding, Binding) and binding.book.holds_in_book)
        if not (self._drop_in or of_network):
            return None
        used: list[int] = []
        objects = 0
        for address in self._view.addresses_of_pool(key):
            objects += 1
            try:
                used.append(parse_address(address.address)[1])
            except AddressError:
                continue  # counted as an object all the same
        actions = decide(pool, used, objects)
        try:
            if actions.over and isinstance(binding, Binding) and not binding.book.holds_in_book:
                # Entry without IPAddress: a claim is being answered at this moment. Let it end first.
                if (await self._books.book(binding.book).opened()).holders():
                    return 0.5
                await self._books.discard(binding.book.name)
            await self._apply(pool, actions)
        except NotFound:
            return None
        except Conflict:
            return 0.05
        return None

    async def _apply(self, pool: Pool, actions: PoolActions) -> None:
        resource = (GLOBAL_POOLS if pool.kind == GLOBAL_KIND else POOLS).at(pool.api_version)
        namespace = pool.namespace or None
        if actions.finalizers is not None:
            patch: Json = {"metadata": {"finalizers": [*actions.finalizers], "resourceVersion": pool.version}}
            await self._kube.patch(resource, pool.name, patch, namespace, metadata_only=True)
        if actions.numbers is not None:
            numbers = actions.numbers
            counts = {
                "total": numbers.total,
                "used": numbers.used,
                "free": numbers.free,
                "outOfRange": numbers.out_of_range,
            }
            await self._kube.patch(
                resource,
                pool.name,
                {"status": {"ipAddresses": counts}},
                namespace,
                subresource="status",
                metadata_only=True,
            )
