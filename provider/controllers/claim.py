"""Claims: give each an address, say why where that is not possible, and take the address back at the end.

The order of the writes makes every crash harmless: finalizer on the claim, entry in the block, IPAddress, status of the
claim; and the other way round at the end. Whatever was interrupted is found in the block, under the claim's uid, and
carried on.
"""

from collections.abc import Callable
from dataclasses import replace

import structlog

from provider.api.ipam import (
    RELEASE_FINALIZER,
    Address,
    Claim,
    Json,
    Key,
    Ready,
    claim_status,
)
from provider.api.pool import Pool
from provider.api.times import format_time
from provider.controllers.address import AddressObjects, is_left_behind, number_of
from provider.controllers.books import Books, owner_of
from provider.controllers.view import View
from provider.core.addresses import format_address
from provider.core.books import Exhausted, Return, Taken, Want
from provider.core.claims import Answer, ClaimReason, Explain, Leave, Release, Seen, Wait, decide
from provider.core.pools import Binding
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import Conflict, KubeError, NotFound
from provider.edge.kube.resources import ADDRESSES, PROXMOX_MACHINES, Resource
from provider.edge.metrics import Metrics

LATE = 0.5
"""Seconds. capmox looks again about this long after it made a claim, then only every 10 s: an answer later than this
touches the machine, which makes capmox look at once."""

SOON = 0.05
"""Seconds after which to look again at what somebody else changed meanwhile."""

TOUCH_ANNOTATION = "proxmox.cozystack.io/address-answered"

log = structlog.get_logger(__name__)


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
        self._kube = kube
        self._view = view
        self._books = books
        self._clock = clock
        self._events = events
        self._metrics = metrics
        self._claims = claims
        self._objects = AddressObjects(kube, ADDRESSES.at(claims.version), claims, note_address)
        self._drop_in = drop_in
        self._note_claim = note_claim

    async def reconcile(self, key: Key) -> float | None:
        try:
            return await self._reconcile(key)
        except NotFound:
            return None  # it went away meanwhile; whatever it held is returned when the watch says so
        except Conflict:
            return SOON  # somebody changed it meanwhile: look again as soon as the watch has brought the change
        finally:
            self._books.settled(key)

    async def _reconcile(self, key: Key) -> float | None:
        seen = self._gather(key)
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
                await self._explain(seen.claim, reason, message, fence=begun)
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

    def _gather(self, key: Key) -> Seen | None:
        claim = self._view.claims.get(key)
        if claim is None:
            return None
        pool = self._view.pools.get(claim.pool_key)
        cluster = self._view.clusters.get((claim.namespace, claim.cluster)) if claim.cluster else None
        return Seen(
            claim=claim,
            cluster=cluster,
            pool=pool,
            binding=self._books.binding(pool) if pool is not None else None,
            address=self._view.addresses.get(key),
            drop_in=self._drop_in,
        )

    async def _answer(self, claim: Claim, existing: Address | None, binding: Binding, pool: Pool) -> float | None:
        if existing is not None and is_left_behind(existing, claim):
            # As soon as it is gone this claim gets an IPAddress of its own.
            await self._objects.remove(existing)
            return SOON
        if existing is not None and existing.pool_key != claim.pool_key:
            message = f"IPAddress {claim.name} exists and names {existing.pool_kind} {existing.pool_name}; delete it"
            await self._explain(claim, ClaimReason.FAILED, message)
            return None
        claim = await self._protect(claim)
        now = self._view.pools.get(pool.key)
        if now is None or self._books.binding(now) != binding:
            return SOON  # its pool or its network changed meanwhile
        book = self._books.book(binding.book)
        wanted = number_of(existing) if existing is not None else None
        outcome = await book.ask(Want(claim.holder, claim.uid, binding.allowed, wanted), claim.key)
        if isinstance(outcome, Exhausted):
            usage = book.usage()
            await self._explain(
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
            ours = existing.claim_uid == claim.uid and claim.address_name is None
            await self._explain(claim, ClaimReason.FAILED, message, fence=ours)
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
        await self._report(claim, ClaimReason.ALLOCATED, f"{text} from {pool}", "True", claim.name)
        await self._hurry(claim)
        return None

    async def _protect(self, claim: Claim) -> Claim:
        """The finalizer comes first: from here on the claim cannot go without giving its address back."""
        if RELEASE_FINALIZER in claim.finalizers:
            return claim
        finalizers = (*claim.finalizers, RELEASE_FINALIZER)
        written = await self._kube.patch(
            self._claims,
            claim.name,
            {"metadata": {"finalizers": [*finalizers], "resourceVersion": claim.version}},
            claim.namespace,
            metadata_only=True,
        )
        return self._noted(replace(claim, finalizers=finalizers), written)

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
        finalizers = [name for name in claim.finalizers if name != RELEASE_FINALIZER]
        written = await self._kube.patch(
            self._claims,
            claim.name,
            {"metadata": {"finalizers": finalizers, "resourceVersion": claim.version}},
            claim.namespace,
            metadata_only=True,
        )
        self._metrics.claim_released()
        self._noted(replace(claim, finalizers=tuple(finalizers)), written)

    async def _explain(self, claim: Claim, reason: ClaimReason, message: str, *, fence: bool = False) -> None:
        await self._report(claim, reason, message, "False", None, fence=fence)

    async def _report(
        self, claim: Claim, reason: ClaimReason, message: str, status: str, address: str | None, *, fence: bool = False
    ) -> None:
        """Write the claim's status if it says something else.

        With `fence` it is written in any case: then who decided on an older claim cannot hand an address over.
        """
        before = claim.ready
        same_address = address is None or claim.address_name == address
        if (
            before is not None
            and (before.status, before.reason, before.message) == (status, reason, message)
            and same_address
            and not fence
        ):
            return
        now = self._clock.now()
        same = before is not None and before.status == status and before.since and not fence
        since = before.since if before is not None and same else format_time(now)
        ready = Ready(status, reason.value, message, since)
        # The version makes this the fence: who hands an address over has seen the claim as it is now.
        patch = claim_status(self._claims.version, ready, claim.generation, address)
        patch["metadata"] = {"resourceVersion": claim.version}
        written = await self._kube.patch(
            self._claims, claim.name, patch, claim.namespace, subresource="status", metadata_only=True
        )
        self._noted(replace(claim, ready=ready, address_name=address or claim.address_name), written)
        self._metrics.claim_answered(reason.value, (now - claim.created).total_seconds())
        if before is None or before.reason != reason.value:
            record = self._events.note if status == "True" else self._events.warn
            record(
                self._claims.api_version,
                "IPAddressClaim",
                claim.namespace,
                claim.name,
                claim.uid,
                reason.value,
                message,
            )

    async def _hurry(self, claim: Claim) -> None:
        """Make capmox look at once where the answer came too late for its first look."""
        owner = owner_of(claim)
        # Creation times are whole seconds, so up to one second of the difference says nothing.
        if owner is None or (self._clock.now() - claim.created).total_seconds() < LATE + 1.0:
            return
        try:
            await self._kube.patch(
                PROXMOX_MACHINES,
                owner[1],
                {"metadata": {"annotations": {TOUCH_ANNOTATION: claim.name}}},
                claim.namespace,
                metadata_only=True,
            )
        except KubeError as error:
            # The machine finds its address within 10 s anyway.
            log.info("could not touch the machine of a late answer", machine=owner[1], error=str(error))

    def _noted(self, claim: Claim, written: Json) -> Claim:
        claim = replace(claim, version=written["metadata"]["resourceVersion"])
        self._note_claim(claim.key, claim)
        return claim


def _is_of(address: Address, claim: Claim) -> bool:
    """Whether an IPAddress goes with this claim. Its name is not enough.

    The claim may be long gone, and a new one of its name may have an IPAddress by now; or people made one by hand.
    """
    if address.claim_uid is None:
        return address.pool_key == claim.pool_key and claim.address_name == address.name
    return address.pool_key == claim.pool_key and address.claim_uid == claim.uid
