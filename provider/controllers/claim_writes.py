"""What is written on a claim: its finalizer, its answer or why there is none, and a nudge for capmox.

Every write carries the version of the claim that the decision rests on. So the status is also the fence: who hands an
address over has seen the claim as it is now.
"""

from collections.abc import Callable
from dataclasses import replace

import structlog

from provider.api.ipam import RELEASE_FINALIZER, Claim, Json, Key, Ready, claim_status
from provider.api.times import format_time
from provider.core.claims import ClaimReason
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import KubeError
from provider.edge.kube.resources import PROXMOX_MACHINES, Resource
from provider.edge.metrics import Metrics

LATE = 0.5
"""Seconds. capmox looks again about this long after it made a claim, then only every 10 s: an answer later than this
touches the machine, which makes capmox look at once."""

TOUCH_ANNOTATION = "proxmox.cozystack.io/address-answered"

log = structlog.get_logger(__name__)


class ClaimWrites:
    """Writes claims. `note(key, claim)` tells the local copy of our own writes."""

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        events: Events,
        metrics: Metrics,
        claims: Resource,
        note: Callable[[Key, Claim], None],
    ) -> None:
        self._kube = kube
        self._clock = clock
        self._events = events
        self._metrics = metrics
        self._claims = claims
        self._note = note

    async def protect(self, claim: Claim) -> Claim:
        """The finalizer comes first: from here on the claim cannot go without giving its address back."""
        if RELEASE_FINALIZER in claim.finalizers:
            return claim
        return await self._put_finalizers(claim, (*claim.finalizers, RELEASE_FINALIZER))

    async def let_go(self, claim: Claim) -> None:
        """Take the finalizer off: nothing is held for this claim any more."""
        await self._put_finalizers(claim, tuple(name for name in claim.finalizers if name != RELEASE_FINALIZER))
        self._metrics.claim_released()

    async def answer(self, claim: Claim, message: str) -> None:
        """Hand the IPAddress of the claim's name over."""
        await self._report(claim, Ready("True", ClaimReason.ALLOCATED.value, message, ""), claim.name, fence=False)

    async def explain(self, claim: Claim, reason: ClaimReason, message: str, *, fence: bool = False) -> None:
        """Say why there is no address.

        With `fence` it is written in any case: then who decided on an older claim cannot hand an address over.
        """
        await self._report(claim, Ready("False", reason.value, message, ""), None, fence=fence)

    async def hurry(self, claim: Claim) -> None:
        """Make capmox look at once where the answer came too late for its first look."""
        # Creation times are whole seconds, so up to one second of the difference says nothing.
        late = (self._clock.now() - claim.created).total_seconds() >= LATE + 1.0
        if not late or claim.owner is None or claim.owner[0] != PROXMOX_MACHINES.kind:
            return
        machine = claim.owner[1]
        patch: Json = {"metadata": {"annotations": {TOUCH_ANNOTATION: claim.name}}}
        try:
            await self._kube.patch(PROXMOX_MACHINES, machine, patch, claim.namespace, metadata_only=True)
        except KubeError as error:
            # The machine finds its address within 10 s anyway.
            log.info("could not touch the machine of a late answer", machine=machine, error=str(error))

    async def _put_finalizers(self, claim: Claim, finalizers: tuple[str, ...]) -> Claim:
        patch: Json = {"metadata": {"finalizers": [*finalizers], "resourceVersion": claim.version}}
        written = await self._kube.patch(self._claims, claim.name, patch, claim.namespace, metadata_only=True)
        return self._noted(replace(claim, finalizers=finalizers), written)

    async def _report(self, claim: Claim, ready: Ready, address: str | None, *, fence: bool) -> None:
        before = claim.ready
        said = before is not None and _says_the_same(before, ready) and address in (None, claim.address_name)
        if said and not fence:
            return
        now = self._clock.now()
        keeps_time = before is not None and before.status == ready.status and before.since and not fence
        ready = replace(ready, since=before.since if before is not None and keeps_time else format_time(now))
        patch = claim_status(self._claims.version, ready, claim.generation, address)
        patch["metadata"] = {"resourceVersion": claim.version}
        written = await self._kube.patch(
            self._claims, claim.name, patch, claim.namespace, subresource="status", metadata_only=True
        )
        self._noted(replace(claim, ready=ready, address_name=address or claim.address_name), written)
        self._metrics.claim_answered(ready.reason, (now - claim.created).total_seconds())
        if before is None or before.reason != ready.reason:
            record = self._events.note if ready.status == "True" else self._events.warn
            where = (self._claims.api_version, self._claims.kind, claim.namespace, claim.name, claim.uid)
            record(*where, ready.reason, ready.message)

    def _noted(self, claim: Claim, written: Json) -> Claim:
        claim = replace(claim, version=written["metadata"]["resourceVersion"])
        self._note(claim.key, claim)
        return claim


def _says_the_same(before: Ready, now: Ready) -> bool:
    """Counts in the message of a full pool move with every claim; they are not worth a write to each that waits."""
    if (before.status, before.reason) != (now.status, now.reason):
        return False
    return before.message == now.message or now.reason == ClaimReason.POOL_EXHAUSTED.value
