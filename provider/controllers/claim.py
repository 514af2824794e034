"""Claims: give each an address, say why where that is not possible, and take the address back at the end.

The order of the writes makes every crash harmless: finalizer on the claim, entry in the block, IPAddress, status of the
claim; and the other way round at the end. Whatever was interrupted is found in the block, under the claim's uid, and
carried on.
"""

from collections.abc import Callable

from provider.api.ipam import (
    RELEASE_FINALIZER,
    Address,
    Claim,
    Key,
)
from provider.api.pool import Pool
from provider.controllers.address import AddressObjects, is_left_behind, number_of
from provider.controllers.books import Books
from provider.controllers.claim_writes import ClaimWrites
from provider.controllers.view import View
from provider.core.addresses import format_address
from provider.core.books import Exhausted, Return, Taken, Want
from provider.core.claims import Answer, ClaimReason, Explain, Leave, Release, Seen, Wait, decide
from provider.core.pools import Binding
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import Conflict, NotFound
from provider.edge.kube.resources import ADDRESSES, Resource
from provider.edge.metrics import Metrics

SOON = 0.05
"""Seconds after which to look again at what somebody else changed meanwhile."""

LAGGING = 0.5
"""Seconds after which to look again where our copy is older than the API server's and the watch has not told yet."""


class ClaimController:
    """Reconciles IPAddressClaims. `note_claim` and `note_address` tell the local copies of our own writes."""

    def __init__(
        self,
        kube: Kube,
        view: View,
        books: Books,
        clock: Clock,
        events: Events,
        metrics: Metrics,
        claims: Resource,
        *,
        drop_in: bool,
        note_claim: Callable[[Key, Claim], None],
        note_address: Callable[[Key, Address], None],
    ) -> None:
        self._view = view
        self._books = books
        self._clock = clock
        self._writes = ClaimWrites(kube, clock, events, metrics, claims, note_claim)
        self._objects = AddressObjects(kube, ADDRESSES.at(claims.version), claims, note_address)
        self._drop_in = drop_in

    async def reconcile(self, key: Key) -> float | None:
        try:
            return await self._reconcile(key)
        except NotFound:
            return None  # it went away meanwhile; whatever it held is returned when the watch says so
        except Conflict:
            return LAGGING  # somebody changed it meanwhile; the watch will say so, most often sooner than this
        finally:
            self._books.settled(key)

    async def _reconcile(self, key: Key) -> float | None:
        seen = await self._gather(key)
        if seen is None:
            self._books.forget(key)
            return None
        decision = decide(seen, self._clock.now())
        if not isinstance(decision, Answer):
            self._books.forget(key)
        match decision:
            case Leave():
                return None
            case Explain(reason, message, gives_back):
                begun = gives_back and self._books.holds(seen.claim.uid)
                await self._writes.explain(seen.claim, reason, message, fence=begun)
                if begun:
                    await self._give_back(seen.claim)
                return None
            case Wait(until):
                return max((until - self._clock.now()).total_seconds(), 0.0)
            case Release():
                await self._release(seen.claim, decision)
                return None
            case Answer(binding, pool):
                try:
                    return await self._answer(seen.claim, seen.address, binding, pool)
                except NotFound:
                    # Gone while we answered: what was made for it must go too, and no event will say so any more.
                    self._books.claim_gone(seen.claim.uid)
                    return None

    async def _gather(self, key: Key) -> Seen | None:
        claim = self._view.claims.get(key)
        if claim is None:
            return None
        pool = self._view.pools.get(claim.pool_key)
        cluster = self._view.clusters.get((claim.namespace, claim.cluster)) if claim.cluster else None
        binding = self._books.binding(pool) if pool is not None else None
        if claim.deleted is not None and not isinstance(binding, Binding):
            binding = await self._books.network_of(claim) or binding
        return Seen(
            claim=claim,
            cluster=cluster,
            pool=pool,
            binding=binding,
            address=self._view.addresses.get(key),
            drop_in=self._drop_in,
        )

    async def _answer(self, claim: Claim, existing: Address | None, binding: Binding, pool: Pool) -> float | None:
        if existing is not None and is_left_behind(existing, claim):
            # As soon as it is gone this claim gets an IPAddress of its own.
            await self._objects.require(claim)
            await self._objects.remove(existing)
            return SOON
        if existing is not None and existing.pool_key != claim.pool_key:
            message = f"IPAddress {claim.name} exists and names {existing.pool_kind} {existing.pool_name}; delete it"
            await self._writes.explain(claim, ClaimReason.FAILED, message)
            return None
        if existing is not None and number_of(existing) is None:
            # It cannot be adopted, and the name that the contract gives to this claim's IPAddress is taken.
            message = f"IPAddress {claim.name} exists with {existing.address!r}, which is no IP address; delete it"
            await self._writes.explain(claim, ClaimReason.FAILED, message)
            return None
        claim = await self._writes.protect(claim)
        now = self._view.pools.get(pool.key)
        if now is None or self._books.binding(now) != binding:
            return SOON  # its pool or its network changed meanwhile
        book = self._books.book(binding.book)
        wanted = number_of(existing) if existing is not None else None
        outcome = await book.ask(Want(claim.holder, claim.uid, binding.allowed, wanted), claim.key)
        if isinstance(outcome, Exhausted):
            usage = book.usage()
            await self._writes.explain(
                claim,
                ClaimReason.POOL_EXHAUSTED,
                f"{pool} has no free address ({usage.total} in its book, {usage.tally.allocated} allocated, "
                f"{usage.tally.held} cooling down); one that frees, or a larger range, answers this claim",
            )
            return None
        if isinstance(outcome, Taken):
            assert existing is not None
            message = (
                f"IPAddress {claim.name} exists with {existing.address}, which is {outcome.by}; delete that IPAddress "
                "and this claim gets another address"
            )
            ours = (existing.claim_uid == claim.uid or existing.abandoned) and claim.address_name is None
            await self._writes.explain(claim, ClaimReason.FAILED, message, fence=ours)
            if ours:
                # Made for this claim and never handed over; after the write above nobody can do that any more.
                await self._objects.remove(existing)
                return SOON
            return None
        if existing is not None:
            await self._objects.adopt(claim, pool, existing)
            text = existing.address
        else:
            text = format_address(binding.book.family, outcome)
            found = await self._objects.make(claim, pool, book.spec, text)
            if found.claim_uid != claim.uid or number_of(found) != outcome:
                # Another provider was quicker. What exists decides: ours goes back, the next look takes theirs.
                if number_of(found) != outcome:
                    await book.ask(Return(outcome, claim.holder, claim.uid))
                return SOON
        await self._writes.answer(claim, f"{text} from {pool}")
        await self._writes.hurry(claim)
        return None

    async def _give_back(self, claim: Claim) -> None:
        """Undo an answer that got no further than its entry.

        Only after a write of the claim: another provider may be making the IPAddress at this moment. It still can, but
        it cannot hand it over any more.
        """
        if await self._objects.find(claim) is None:
            await self._books.give_back(claim)

    async def _release(self, claim: Claim, decision: Release) -> None:
        """IPAddress, entry, finalizer: the claim goes last, so a crash in between is carried on by its next look."""
        if RELEASE_FINALIZER not in claim.finalizers:
            return
        existing = self._view.addresses.get(claim.key) or await self._objects.find(claim)
        if existing is not None and not _is_of(existing, claim):
            existing = None
        if existing is not None:
            await self._objects.remove(existing)
        if decision.binding is not None:
            book = await self._books.book(decision.binding.book).opened()
            number = book.address_of(claim.uid)
            if number is None and existing is not None:
                number = number_of(existing)
            if number is not None:
                await book.ask(Return(number, claim.holder, claim.uid, decision.hold_until))
        await self._writes.let_go(claim)


def _is_of(address: Address, claim: Claim) -> bool:
    """Whether an IPAddress goes with this claim. Its name is not enough.

    The claim may be long gone, and a new one of its name may have an IPAddress by now; or people made one by hand.
    """
    if address.claim_uid is None:
        return address.pool_key == claim.pool_key and claim.address_name == address.name
    return address.pool_key == claim.pool_key and address.claim_uid == claim.uid
