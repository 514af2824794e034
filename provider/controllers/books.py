"""All address books: which pool gives from which, and what each must know when it opens.

Networks publish their books; a pool that meets no network has one of its own. When a network appears over an existing
pool, its book adopts that pool's addresses before it gives anything.
"""

from collections.abc import Callable, Mapping, Sequence

import structlog

from provider.api.ipam import Address, Claim, Key, PoolKey, read_claim
from provider.api.pool import Pool
from provider.controllers.address import number_of, remove_address
from provider.controllers.book import Book
from provider.controllers.view import View
from provider.core import pools
from provider.core.addresses import AddressError, parse_address
from provider.core.audit import Findings, KnownAddress
from provider.core.blocks import BLOCK_SIZE, Entry
from provider.core.books import BookSpec, Return
from provider.core.pools import Binding, Refusal
from provider.core.usage import Usage
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.blocks import BlockStore, digest
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import NotFound
from provider.edge.kube.resources import ADDRESSES, Resource

log = structlog.get_logger(__name__)


class Books:
    """The registry of books, and the `Witness` they open with.

    `wake(key)` looks at a claim again. Without `drop_in` pools of no network have no book: what another provider does
    with them is neither written down nor mended.
    """

    def __init__(
        self,
        kube: Kube,
        store: BlockStore,
        view: View,
        clock: Clock,
        events: Events,
        claims: Resource,
        wake: Callable[[Key], None],
        *,
        drop_in: bool,
    ) -> None:
        self._kube = kube
        self._store = store
        self._view = view
        self._clock = clock
        self._events = events
        self._claims = claims
        self._addresses = ADDRESSES.at(claims.version)
        self._wake = wake
        self._drop_in = drop_in
        self._books: dict[str, Book] = {}
        self._digests: dict[str, str] = {}
        self._networks: dict[str, dict[str, BookSpec]] = {}
        self._bindings: dict[PoolKey, tuple[str, Binding | Refusal]] = {}
        self._pools_of: dict[str, set[PoolKey]] = {}
        self._reported: set[tuple[str, str, str]] = set()

    def publish(self, spec: BookSpec) -> None:
        """A network's book, new or changed ("network/<namespace>/<name>/<family>")."""
        namespace = spec.name.split("/")[1]
        known = self._networks.setdefault(namespace, {})
        if known.get(spec.name) == spec:
            return
        known[spec.name] = spec
        self._rebind(namespace)
        self.book(spec).publish(spec)

    async def withdraw(self, name: str) -> None:
        """A network's book is over: nothing may be allocated in it. Its blocks go."""
        namespace = name.split("/")[1]
        self._networks.get(namespace, {}).pop(name, None)
        self._rebind(namespace)
        await self.discard(name)

    async def discard(self, name: str) -> None:
        book = self._books.pop(name, None)
        if book is not None:
            book.close()
        await self._store.remove(name)

    async def usage(self, name: str) -> Usage:
        """A published book in numbers, read from the API server if it is not open yet."""
        return (await self._books[name].opened()).usage()

    async def holders(self, name: str) -> list[tuple[int, Entry]]:
        """Who has the allocated addresses of a published book, lowest first."""
        return (await self._books[name].opened()).holders()

    async def freeze(self, name: str) -> list[tuple[int, Entry]]:
        """Stop giving from a published book until it is published again; the holders as the API server knows them."""
        return await self._books[name].freeze()

    def book(self, spec: BookSpec) -> Book:
        book = self._books.get(spec.name)
        if book is None:
            book = self._books[spec.name] = Book(spec, self._store, self, self._clock, self._wake)
            self._digests[digest(spec.name)] = spec.name
        return book

    def binding(self, pool: Pool) -> Binding | Refusal:
        """The book a pool gives from. Remembered until the pool or its namespace's networks change."""
        known = self._bindings.get(pool.key)
        if known is not None and known[0] == pool.version:
            return known[1]
        networks = [*self._networks.get(pool.namespace, {}).values()] if pool.namespace else []
        found = pools.bind(pool, networks)
        before = known[1].book.name if known is not None and isinstance(known[1], Binding) else None
        self._bindings[pool.key] = (pool.version, found)
        after = found.book.name if isinstance(found, Binding) else None
        if before is not None and before != after:
            self._pools_of[before].discard(pool.key)
        if after is not None and pool.key not in self._pools_of.setdefault(after, set()):
            self._pools_of[after].add(pool.key)
            if after in self._books and any(self._view.addresses_of_pool(pool.key)):
                self._books[after].reopen()
        if self._drop_in and isinstance(found, Binding) and not found.book.holds_in_book:
            self.book(found.book).publish(found.book)
        return found

    async def network_of(self, claim: Claim) -> Binding | None:
        """The network's book that holds a claim's address, for a claim whose pool is gone or cannot be used."""
        for spec in [*self._networks.get(claim.namespace, {}).values()]:
            if (await self.book(spec).opened()).address_of(claim.uid) is not None:
                return Binding(spec, spec.allocatable)
        return None

    def unbind(self, pool: PoolKey) -> None:
        """The pool is gone."""
        known = self._bindings.pop(pool, None)
        if known is not None and isinstance(known[1], Binding):
            self._pools_of[known[1].book.name].discard(pool)

    def seen(self, label: str | None, block: str, version: str) -> str | None:
        """The watch of blocks saw one change. Returns the name of its book, if that is known here."""
        name = self._digests.get(label or "")
        if name in self._books and version.isdigit():
            self._books[name].seen(int(block.rpartition("-")[2], 16) * BLOCK_SIZE, int(version))
        return name

    def address_gone(self, address: Address) -> None:
        """An IPAddress is gone that no claim here answers for: its entry, if there is one, must not outlive it."""
        number = number_of(address)
        if number is None or address.claim_uid in self._view.claims_by_uid:
            return
        for book in self._books.values():
            if book.has_entry(number):
                book.reopen()

    def claim_gone(self, uid: str) -> None:
        """A claim is gone. Normally its entry went first; not when its pool was gone, or somebody forced it away."""
        for book in self._books.values():
            if book.address_of(uid) is not None:
                book.reopen()

    def holds(self, uid: str) -> bool:
        return any(book.address_of(uid) is not None for book in self._books.values())

    async def give_back(self, claim: Claim) -> None:
        """Free what a claim holds in any book; only for claims that have no IPAddress."""
        for book in [*self._books.values()]:
            number = book.address_of(claim.uid)
            if number is not None:
                await book.ask(Return(number, claim.holder, claim.uid))

    def address_found(self, address: Address) -> None:
        """An IPAddress turned up that we may not have made: by hand, by the peer, by a restore or a move."""
        known = self._bindings.get(address.pool_key)
        if known is None or not isinstance(known[1], Binding):
            return
        book = self._books.get(known[1].book.name)
        if book is None:
            return
        held = book.address_of(address.claim_uid) if address.claim_uid else None
        if held is None or held != number_of(address):
            book.reopen()

    def reopen(self, pool: PoolKey) -> None:
        known = self._bindings.get(pool)
        if known is not None and isinstance(known[1], Binding) and known[1].book.name in self._books:
            self._books[known[1].book.name].reopen()

    def reopen_all(self) -> None:
        """Compare every open book with the objects again; for the regular look at what events may have missed."""
        for book in self._books.values():
            book.reopen()

    def settled(self, key: Key) -> None:
        for book in self._books.values():
            book.settled(key)

    def forget(self, key: Key) -> None:
        for book in self._books.values():
            book.forget(key)

    def waiting(self) -> dict[str, int]:
        """Claims that wait, by book. Safe in any thread."""
        return {name: book.waiting for name, book in [*self._books.items()]}

    def close(self) -> None:
        for book in self._books.values():
            book.close()

    def survey(self, book: str) -> tuple[Sequence[KnownAddress], Mapping[str, str]]:
        found: list[KnownAddress] = []
        # A pool nobody asked for yet may be bound to this book all the same.
        for pool in [*self._view.pools.values()]:
            self.binding(pool)
        for key in self._pools_of.get(book, ()):
            for address in self._view.addresses_of_pool(key):
                number = number_of(address)
                if number is not None:
                    found.append(KnownAddress(number, address.holder, address.claim_uid, address.abandoned))
        return found, self._view.claims_by_uid

    async def is_gone(self, entry: Entry, address: int, book: str) -> bool:
        """Neither the claim (by uid) nor an IPAddress with this address exists, says the API server."""
        kind, _, rest = entry.holder.partition("/")
        namespace, _, name = rest.partition("/")
        if kind not in ("IPAddressClaim", "IPAddress") or not name:
            return False
        if entry.uid is not None:
            try:
                claim = await self._kube.get(self._claims, name, namespace)
                if claim["metadata"]["uid"] == entry.uid:
                    return False
            except NotFound:
                pass  # gone, which is half of the question
        try:
            found = await self._kube.get(self._addresses, name, namespace)
            return parse_address(found["spec"]["address"])[1] != address
        except (NotFound, AddressError):
            return True

    async def bury(self, orphan: KnownAddress, *, duplicate: bool) -> bool:
        """An IPAddress whose owner is a claim that is gone: a provider that stalled made it too late.

        Where another claim has its name by now (made again, restored, moved), that one adopts it, unless the address
        is somebody else's and was not handed over yet.
        """
        _, namespace, name = orphan.holder.split("/")
        try:
            claim = read_claim(await self._kube.get(self._claims, name, namespace))
        except NotFound:
            claim = None  # as the audit said
        address = self._view.addresses.get((namespace, name))
        if address is None or (address.claim_uid, address.abandoned) != (orphan.uid, orphan.abandoned):
            return False
        if claim is not None and claim.uid == orphan.uid:
            return False
        if claim is not None and claim.pool_key == address.pool_key and (claim.address_name == name or not duplicate):
            return False
        log.info("deleting an IPAddress whose claim is gone", address=address.address, holder=orphan.holder)
        await remove_address(self._kube, self._addresses, address)
        return True

    def report(self, book: str, findings: Findings) -> None:
        for known, other in findings.duplicates:
            mark = (book, known.holder, other)
            if mark in self._reported:
                continue
            self._reported.add(mark)
            log.error("duplicate address", book=book, holder=known.holder, held_by=other)
            _, namespace, name = known.holder.split("/")
            address = self._view.addresses.get((namespace, name))
            if address is not None:
                self._events.warn(
                    self._addresses.api_version, "IPAddress", namespace, name, address.uid, "DuplicateAddress",
                    f"{address.address} is held by {other} in book {book}; delete one of the two, with its machine",
                )  # fmt: skip

    def _rebind(self, namespace: str) -> None:
        """The namespace's networks changed: every pool of it may belong elsewhere now."""
        for key, (_, binding) in [*self._bindings.items()]:
            if key[1] == namespace and namespace:
                before = binding.book.name if isinstance(binding, Binding) else None
                self._bindings[key] = ("", binding)
                pool = self._view.pools.get(key)
                if pool is None:
                    continue
                after = self.binding(pool)
                if not isinstance(after, Binding) or after.book.name != before:
                    for claim in self._view.claims_of_pool(key):
                        self._wake(claim)
                    if before is not None and not before.startswith("network/"):
                        stale = self._books.pop(before, None)
                        if stale is not None:
                            stale.close()
