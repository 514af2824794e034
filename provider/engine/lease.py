"""Who leads, by a Lease: a convenience, not a fence.

At most one replica should work at a time, to save work and conflicts. Nothing depends on it: a leader that stalls and
wakes up late loses its block writes. Times of other hosts are never compared: a lease counts as expired when this
process has not seen it change for the lease's duration.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import structlog

from provider.api.ipam import Json
from provider.edge.clock import Clock
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from provider.edge.kube.resources import LEASES

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: how long a lease lasts unrenewed, when a leader gives up renewing, and between tries."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0


class Lease:
    """One candidate for one lease."""

    def __init__(
        self, kube: Kube, clock: Clock, namespace: str, name: str, identity: str, times: Times | None = None
    ) -> None:
        self._kube, self._clock = kube, clock
        self._namespace, self._name, self._identity = namespace, name, identity
        self._times = times or Times()
        self._seen: tuple[str, float] = ("", clock.monotonic())

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, then do `work` while it can be renewed; returns when either ends, and releases it.

        Raises: whatever `work` raises.
        """
        while not await self._try():
            await self._clock.sleep(self._times.retry)
        log.info("leading", lease=self._name, identity=self._identity)
        working = asyncio.ensure_future(work())
        renewing = asyncio.ensure_future(self._renew())
        try:
            done, _ = await asyncio.wait((working, renewing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, renewing):
                task.cancel()
            # What the work still has to say when it is told to stop was said before, or does not matter any more.
            await asyncio.gather(working, renewing, return_exceptions=True)
            await self._release()
        if working in done:
            working.result()
        else:
            log.warning("leadership lost", lease=self._name, identity=self._identity)

    async def _renew(self) -> None:
        """Return when nothing was renewed for the deadline, also while a request hangs."""
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(self._times.renew_deadline):
                    await self._clock.sleep(self._times.retry)
                    while not await self._try():
                        await self._clock.sleep(self._times.retry)

    async def _try(self) -> bool:
        """Take or renew the lease; False when somebody else has it or the API server cannot say."""
        try:
            found = await self._kube.get(LEASES, self._name, self._namespace)
        except NotFound:
            return await self._create()
        except KubeError as error:
            log.info("lease cannot be read", error=str(error))
            return False
        version = found["metadata"]["resourceVersion"]
        if version != self._seen[0]:
            self._seen = (version, self._clock.monotonic())
        holder = found["spec"].get("holderIdentity") or ""
        if holder not in ("", self._identity) and not self._expired():
            return False
        spec = self._spec(found["spec"] if holder == self._identity else None, found["spec"])
        try:
            written = await self._kube.patch(
                LEASES, self._name, {"metadata": {"resourceVersion": version}, "spec": spec}, self._namespace
            )
        except Conflict:
            return False
        except KubeError as error:
            log.info("lease cannot be written", error=str(error))
            return False
        self._seen = (written["metadata"]["resourceVersion"], self._clock.monotonic())
        return True

    async def _create(self) -> bool:
        body: Json = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": self._spec(None, {}),
        }
        try:
            await self._kube.create(LEASES, body, self._namespace)
        except AlreadyExists:
            return False
        except KubeError as error:
            log.warning("lease cannot be created", namespace=self._namespace, error=str(error))
            return False
        return True

    async def _release(self) -> None:
        """Let the next one start at once. If that fails it only waits for the lease to expire."""
        with suppress(KubeError, TimeoutError):
            async with asyncio.timeout(self._times.retry):
                await self._give_up()

    async def _give_up(self) -> None:
        found = await self._kube.get(LEASES, self._name, self._namespace)
        if found["spec"].get("holderIdentity") == self._identity:
            patch = {
                "metadata": {"resourceVersion": found["metadata"]["resourceVersion"]},
                "spec": {"holderIdentity": ""},
            }
            await self._kube.patch(LEASES, self._name, patch, self._namespace)

    def _expired(self) -> bool:
        return self._clock.monotonic() - self._seen[1] >= self._times.duration

    def _spec(self, own: Json | None, before: Json) -> Json:
        now = _micro(self._clock.now())
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(self._times.duration),
            "renewTime": now,
            "acquireTime": own.get("acquireTime", now) if own else now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (0 if own else 1),
        }


def _micro(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
