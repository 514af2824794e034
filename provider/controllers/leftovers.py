"""Blocks of books that are over: of pools that are gone, or that give from a network's book by now.

Normally a book's blocks go with its pool. A crash at the wrong moment, a pool whose finalizer was forced away, or a
network that appeared over a pool leaves some behind.
"""

import structlog

from provider.api.ipam import GLOBAL_KIND, PoolKey
from provider.controllers.books import Books
from provider.controllers.view import View
from provider.core.pools import Binding
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import NotFound
from provider.edge.kube.resources import BLOCKS, GLOBAL_POOLS, POOLS

log = structlog.get_logger(__name__)


class Leftovers:
    """Looks for them, and takes them away when nothing is lost by it."""

    def __init__(self, kube: Kube, view: View, books: Books) -> None:
        self._kube = kube
        self._view = view
        self._books = books

    async def clear(self) -> None:
        for name in sorted({item["spec"]["book"] for item in await self._kube.list_all(BLOCKS)}):
            pool = pool_of(name)
            if pool is not None and await self._is_over(name, pool):
                log.info("blocks of a book that is over", book=name)
                await self._books.discard(name)

    async def _is_over(self, name: str, pool: PoolKey) -> bool:
        known = self._view.pools.get(pool)
        if known is not None:
            binding = self._books.binding(known)
            if not isinstance(binding, Binding) or binding.book.name == name:
                return False
            # Its addresses are the network's now: they must be in that book before this one goes.
            await self._books.book(binding.book).opened()
            return True
        if any(self._view.addresses_of_pool(pool)):
            return False
        kind, namespace, pool_name = pool
        try:
            await self._kube.get(GLOBAL_POOLS if kind == GLOBAL_KIND else POOLS, pool_name, namespace or None)
        except NotFound:
            return True
        return False


def pool_of(book: str) -> PoolKey | None:
    """The plain pool that a book is of; None for a network's."""
    match book.split("/"):
        case ["pool", namespace, name]:
            return "InClusterIPPool", namespace, name
        case ["globalpool", name]:
            return GLOBAL_KIND, "", name
    return None
