"""Follows the tenants' objects and the moments at which claims are made and answered."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Self

from e2e.bed.api import Api
from e2e.demo.ground import DemoError
from e2e.demo.table import Answer, Key, Object, Seen, is_answered, key_of

MACHINES, CLAIMS, ADDRESSES, NETWORKS = "proxmoxmachines", "ipaddressclaims", "ipaddresses", "proxmoxnetworks"
GROUPS = {
    MACHINES: "infrastructure.cluster.x-k8s.io/v1alpha2",
    CLAIMS: "ipam.cluster.x-k8s.io/v1beta2",
    ADDRESSES: "ipam.cluster.x-k8s.io/v1beta2",
    NETWORKS: "proxmox.cozystack.io/v1alpha1",
}


class Watch:
    """All of some namespaces, as of now. `async with` starts and ends the watching."""

    def __init__(self, api: Api, namespaces: Sequence[str]) -> None:
        self._api = api
        self._namespaces = namespaces
        self._objects: dict[str, dict[Key, Object]] = {plural: {} for plural in GROUPS}
        self._answers: dict[Key, Answer] = {}
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._tasks = [
            asyncio.create_task(self._follow(plural, namespace)) for plural in GROUPS for namespace in self._namespaces
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def seen(self) -> Seen:
        """What the table of machines is made from."""
        machines, claims, addresses = (self.all(plural) for plural in (MACHINES, CLAIMS, ADDRESSES))
        return Seen(machines, claims, addresses, dict(self._answers))

    def all(self, plural: str) -> tuple[Object, ...]:
        return tuple(self._objects[plural].values())

    def find(self, plural: str, key: Key) -> Object | None:
        return self._objects[plural].get(key)

    def answer(self, claim: Key) -> Answer:
        """When the claim was seen to be made and to be answered."""
        return self._answers.get(claim, Answer())

    async def change(self, timeout: float) -> None:
        """Until something changes, at most `timeout` seconds. Raises DemoError when watching broke."""
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise DemoError(f"watching the cluster failed: {error}") from error
        try:
            await asyncio.wait_for(self._changed.wait(), timeout)
        except TimeoutError:
            return
        self._changed.clear()

    async def until(self, condition: Callable[[], bool], what: str, timeout: float = 30.0) -> None:
        """Until the condition holds. Raises DemoError saying what did not come."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise DemoError(f"not after {timeout:.0f} s: {what}")
            await self.change(1.0)

    async def _follow(self, plural: str, namespace: str) -> None:
        path = f"/apis/{GROUPS[plural]}/namespaces/{namespace}/{plural}"
        listed = False
        async for event, item in self._api.follow(path):
            if event == "SYNCED":
                listed = True
            else:
                self._take(plural, event, item, listed)
            self._changed.set()

    def _take(self, plural: str, event: str, item: Object, listed: bool) -> None:
        key = key_of(item)
        if event == "DELETED":
            self._objects[plural].pop(key, None)
            if plural == CLAIMS:
                self._answers.pop(key, None)
            return
        self._objects[plural][key] = item
        if plural != CLAIMS:
            return
        now = time.monotonic()
        answer = self._answers.get(key)
        if answer is None:
            # A claim that was there before we looked has no beginning that we know of.
            answer = Answer(asked=now if listed and not is_answered(item) else None)
        if is_answered(item) and answer.answered is None:
            answer = Answer(answer.asked, now)
        self._answers[key] = answer
