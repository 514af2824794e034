"""A watch that ends at once is opened again in ever longer steps; one that brings something, at once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from provider.api.ipam import Json, read_claim
from provider.edge.clock import Clock
from provider.edge.kube.reflector import Reflector
from provider.edge.kube.resources import CLAIMS, Resource


@dataclass
class LoopClock:
    """Time of the event loop."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class HastyServerStandIn:
    """Ends each watch as soon as it was opened and what it still has to tell was told. Counts the watches."""

    news: list[str] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)

    async def list_page(self, resource: Resource, namespace: str | None, **_: object) -> Json:
        return {"metadata": {"resourceVersion": "1"}, "items": []}

    async def watch(self, resource: Resource, version: str, *_: object, **__: object) -> AsyncIterator[Json]:
        self.opened.append(asyncio.get_running_loop().time())
        assert len(self.opened) < 1000, "busy loop"
        await asyncio.sleep(0)  # as any answer of a server, it lets others run
        if self.news:
            yield {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": self.news.pop(0)}}}


async def watched(server: HastyServerStandIn, seconds: float) -> None:
    clock: Clock = LoopClock()  # type: ignore[assignment]
    reflector = Reflector(server, clock, CLAIMS, read_claim, lambda *_: None)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await reflector.run()


@pytest.mark.looptime
async def test_a_watch_that_ends_at_once_is_no_busy_loop(looptime):
    server = HastyServerStandIn()
    await watched(server, 60.0)
    assert 5 < len(server.opened) < 25
    # Claims wait for as long as this when the server is well again.
    assert max(later - earlier for earlier, later in zip(server.opened, server.opened[1:], strict=False)) <= 5.0


@pytest.mark.looptime
async def test_a_watch_that_brought_something_is_opened_again_without_a_pause(looptime):
    server = HastyServerStandIn([str(version) for version in range(2, 12)])
    await watched(server, 60.0)
    assert server.opened[10] - server.opened[0] == 0.0
