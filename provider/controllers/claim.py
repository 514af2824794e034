"""Claims: give each an address, say why where that is not possible, and take the address back at the end.

The order of the writes makes every crash harmless: finalizer on the claim, entry in the block, IPAddress, status of the
claim; and the other way round at the end. Whatever was interrupted is found in the block, under the claim's uid, and
carried on.
"""

from collections.abc import Callable
from dataclasses import replace

import structlog

from provider.api.ipam import (
    PROTECT_ADDRESS_FINALIZER,
    RELEASE_FINALIZER,
    Address,
    Claim,
    Json,
    Key,
    Ready,
    address_body,
    claim_status,
    owner_references,
    read_address,
)
from provider.api.pool import Pool
from provider.api.times import format_time
from provider.controllers.books import Books, owner_of
from provider.controllers.view import View
from provider.core.addresses import AddressError, format_address, parse_address
from provider.core.books import Exhausted, Return, Taken, Want
from provider.core.claims import Answer, ClaimReason, Explain, Leave, Release, Seen, Wait, decide
from provider.core.pools import Binding
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from provider.edge.kube.resources import ADDRESSES, PROXMOX_MACHINES, Resource
from provider.edge.metrics import Metrics

LATE = 0.5
"""Seconds. capmox looks again about this long after it made a claim, then only every 10 s: an answer later than this
touches the machine, which makes capmox look at once."""

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
        self._addresses = ADDRESSES.at(claims.version)
        self._drop_in = drop_in
        self._note_claim = note_claim
        self._note_address = note_address

    async def reconcile(self, key: Key) -> float | None:
        try:
            return await self._reconcile(key)
        except NotFound:
            return None  # it went away meanwhile; whatever it held is returned when the watch says so
        except Conflict:
            return 0.02  # somebody changed it meanwhile: look again as soon as the watch has brought the change
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
            case Explain(reason, message):
                await self._explain(seen.claim, reason, message)
                return None
            case Wait(until):
                return max((until - self._clock.now()).total_seconds(), 0.0)
            case Release():
                await self._release(seen.claim, decision)
                return None
            case Answer(binding, pool):
                return await self._answer(seen.claim, seen.address, binding, pool)

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
        claim = await self._protect(claim)
        wanted = _adoptable(existing, claim)
        book = self._books.book(binding.book)
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
            await self._explain(
                claim,
                ClaimReason.FAILED,
                f"IPAddress {claim.name} exists with {existing.address}, which is {outcome.by}; delete that IPAddress "
                "and this claim gets another address",
            )
            return None
        address = await self._put_address(claim, existing, binding, pool, outcome)
        if address is None:
            return 0.05
        await self._report(claim, ClaimReason.ALLOCATED, f"{address} from {pool}", "True", claim.name)
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

    async def _put_address(
        self, claim: Claim, existing: Address | None, binding: Binding, pool: Pool, number: int
    ) -> str | None:
        """Make the IPAddress, or complete the one that exists. None: the world has moved, look again."""
        text = format_address(binding.book.family, number)
        owners = owner_references(claim, self._claims.api_version, pool.uid, pool.api_version)
        if existing is not None:
            return text if await self._adopt(claim, existing, owners) else None
        body = address_body(claim, owners, self._addresses.version, text, binding.book.prefix, binding.book.gateway)
        try:
            raw = await self._kube.create(self._addresses, body, claim.namespace)
        except AlreadyExists:
            # Another provider was quicker, or the answer to our own create was lost. What exists decides.
            raw = await self._kube.get(self._addresses, claim.name, claim.namespace)
            found = read_address(raw)
            self._note_address(claim.key, found)
            if found.claim_uid == claim.uid and _number(found) == number:
                return text
            if _number(found) != number:
                book = self._books.book(binding.book)
                await book.ask(Return(number, claim.holder, claim.uid))
            return None
        self._note_address(claim.key, read_address(raw))
        return text

    async def _adopt(self, claim: Claim, existing: Address, owners: list[Json]) -> bool:
        """Complete an IPAddress that was there before its claim was answered: owners, finalizer, label."""
        if existing.deleted and existing.claim_uid != claim.uid:
            # A namesake's, left from before this claim was made; as soon as it is gone this claim gets its own.
            await self._strip(existing)
            return False
        if existing.claim_uid == claim.uid and PROTECT_ADDRESS_FINALIZER in existing.finalizers:
            return True
        raw = await self._kube.get(self._addresses, existing.name, existing.namespace)
        meta = raw["metadata"]
        kept = [
            owner
            for owner in meta.get("ownerReferences") or []
            if owner["kind"] not in (owners[0]["kind"], owners[1]["kind"])
        ]
        finalizers = meta.get("finalizers") or []
        patch: Json = {
            "metadata": {
                "resourceVersion": meta["resourceVersion"],
                "ownerReferences": [*kept, *owners],
                "finalizers": [
                    *finalizers,
                    *([] if PROTECT_ADDRESS_FINALIZER in finalizers else [PROTECT_ADDRESS_FINALIZER]),
                ],
            }
        }
        if claim.cluster_label is not None:
            patch["metadata"]["labels"] = {"cluster.x-k8s.io/cluster-name": claim.cluster_label}
        self._note_address(
            claim.key, read_address(await self._kube.patch(self._addresses, claim.name, patch, claim.namespace))
        )
        return True

    async def _release(self, claim: Claim, decision: Release) -> None:
        """IPAddress, entry, finalizer: the claim goes last, so a crash in between is carried on by its next look."""
        if RELEASE_FINALIZER not in claim.finalizers:
            return
        existing = self._view.addresses.get(claim.key)
        if existing is None:
            try:
                existing = read_address(await self._kube.get(self._addresses, claim.name, claim.namespace))
            except NotFound:
                existing = None
        if existing is not None and existing.pool_key == claim.pool_key:
            await self._strip(existing)
        if decision.binding is not None:
            book = await self._books.book(decision.binding.book).opened()
            number = book.address_of(claim.uid)
            if number is None and existing is not None:
                number = _number(existing)
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

    async def _strip(self, address: Address) -> None:
        """Delete an IPAddress and take our finalizer off it."""
        try:
            if PROTECT_ADDRESS_FINALIZER in address.finalizers:
                finalizers = [name for name in address.finalizers if name != PROTECT_ADDRESS_FINALIZER]
                raw = await self._kube.patch(
                    self._addresses,
                    address.name,
                    {"metadata": {"finalizers": finalizers, "uid": address.uid}},
                    address.namespace,
                )
                if "deletionTimestamp" in raw["metadata"] and not finalizers:
                    return
            await self._kube.delete(self._addresses, address.name, address.namespace, uid=address.uid)
        except NotFound:
            return

    async def _explain(self, claim: Claim, reason: ClaimReason, message: str) -> None:
        await self._report(claim, reason, message, "False", None)

    async def _report(self, claim: Claim, reason: ClaimReason, message: str, status: str, address: str | None) -> None:
        """Write the claim's status if it says something else."""
        before = claim.ready
        same_address = address is None or claim.address_name == address
        if (
            before is not None
            and (before.status, before.reason, before.message) == (status, reason, message)
            and same_address
        ):
            return
        now = self._clock.now()
        since = before.since if before is not None and before.status == status and before.since else format_time(now)
        ready = Ready(status, reason.value, message, since)
        written = await self._kube.patch(
            self._claims,
            claim.name,
            claim_status(self._claims.version, ready, claim.generation, address),
            claim.namespace,
            subresource="status",
            metadata_only=True,
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


def _adoptable(existing: Address | None, claim: Claim) -> int | None:
    """The address of an IPAddress that is already there for this claim."""
    if existing is None or existing.pool_key != claim.pool_key:
        return None
    if existing.deleted and existing.claim_uid != claim.uid:
        return None
    return _number(existing)


def _number(address: Address) -> int | None:
    try:
        return parse_address(address.address)[1]
    except AddressError:
        return None
