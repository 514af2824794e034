"""What to do with one claim, from everything known about it.

The order of the questions is the contract's: is it ours, is its cluster there and not paused, is it paused itself, what
of its pool, is it being deleted. Nothing here reads or writes.
"""

import enum
from dataclasses import dataclass
from datetime import datetime, timedelta

from provider.api.ipam import IPAM_GROUP, POOL_KINDS, Address, Claim, ClusterState
from provider.api.pool import Pool
from provider.core.pools import Binding, Refusal


class ClaimReason(enum.StrEnum):
    """Reasons of a claim's Ready condition. All but the first are Cluster API's."""

    ALLOCATED = "AddressAllocated"
    FAILED = "AllocationFailed"
    POOL_NOT_READY = "PoolNotReady"
    POOL_EXHAUSTED = "PoolExhausted"


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a decision about a claim rests on.

    `binding` is the pool's; for a deleted claim whose pool cannot say, the book of a network that still has its entry.
    """

    claim: Claim
    cluster: ClusterState | None
    pool: Pool | None
    binding: Binding | Refusal | None
    address: Address | None
    drop_in: bool


@dataclass(frozen=True, slots=True)
class Leave:
    """Nothing to do now: the claim is not ours, is done, or an event of what it waits for will come."""

    why: str


@dataclass(frozen=True, slots=True)
class Explain:
    """It cannot be answered: say why on the claim and wait for the event that changes this.

    `gives_back`: an answer that was begun is taken back, since its pool waits for that.
    """

    reason: ClaimReason
    message: str
    gives_back: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """A deleted claim whose address rests first."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Release:
    """Give the address back. `hold_until` keeps it in the book for a while; `binding` is None when no book is known."""

    binding: Binding | None
    hold_until: datetime | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Give an address from this binding."""

    binding: Binding
    pool: Pool


Decision = Leave | Explain | Wait | Release | Answer


def decide(seen: Seen, now: datetime) -> Decision:
    """One decision per state of the world; asking again in the same state gives the same answer."""
    claim, pool = seen.claim, seen.pool
    if claim.pool_group != IPAM_GROUP or claim.pool_kind not in POOL_KINDS:
        return Leave("its pool is of another provider")
    of_network = isinstance(seen.binding, Binding) and seen.binding.book.holds_in_book
    if pool is not None and not (of_network or pool.network is not None):
        if not seen.drop_in:
            return Leave("its pool belongs to no network")
        # For a network's pool the mark keeps the in-cluster provider away, and is no pause for us.
        if pool.paused:
            return Leave("its pool is paused")
    if claim.cluster is not None:
        if seen.cluster is None and claim.deleted is None:
            return Leave("its cluster does not exist")
        if seen.cluster is not None and seen.cluster.paused:
            return Leave("its cluster is paused")
    if claim.paused:
        return Leave("it is paused")
    if claim.deleted is not None:
        return _release(seen, claim.deleted, now)
    if pool is None:
        if not seen.drop_in:
            return Leave("its pool does not exist")
        message = f"{claim.pool_kind} {claim.pool_name!r} does not exist; create it"
        return Explain(ClaimReason.POOL_NOT_READY, message, gives_back=True)
    if claim.address_name is not None and seen.address is not None and _complete(seen, claim):
        return Leave("it has its address")
    if isinstance(seen.binding, Refusal):
        return Explain(ClaimReason(seen.binding.reason.value), seen.binding.message)
    if pool.deleted and seen.address is None:
        message = f"{pool} is being deleted and gives no more addresses"
        return Explain(ClaimReason.POOL_NOT_READY, message, gives_back=True)
    assert seen.binding is not None
    return Answer(seen.binding, pool)


def _complete(seen: Seen, claim: Claim) -> bool:
    address = seen.address
    assert address is not None
    # Also when somebody deleted it: its finalizer holds it, with its address, until the claim goes.
    return (
        address.claim_uid == claim.uid
        and claim.address_name == claim.name
        and claim.ready is not None
        and claim.ready.status == "True"
    )


def _release(seen: Seen, deleted: datetime, now: datetime) -> Decision:
    binding = seen.binding if isinstance(seen.binding, Binding) else None
    if binding is None:
        return Release(None, None)
    book = binding.book
    # A plain pool's book ends with it; a network's outlives the pools that clusters make and take away with them.
    if not book.holds_in_book and (seen.pool is None or seen.pool.deleted):
        return Release(binding, None)
    until = deleted + timedelta(seconds=book.reuse_seconds)
    if until <= now:
        return Release(binding, None)
    return Release(binding, until) if book.holds_in_book else Wait(until)
