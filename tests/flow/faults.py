"""What goes wrong, by chance of a seed: delays, lost answers, watches that break or repeat, pauses, a death."""

import asyncio
import random
from dataclasses import dataclass

from provider.edge.kube.errors import Gone, Unavailable


@dataclass(slots=True)
class Faults:
    """Chances from 0 to 1. All zero, and no time passing, is a perfect API server.

    Attributes:
        refuse: a request is not carried out and fails.
        lose: a request is carried out and its answer is lost.
        cut: a watch breaks before an event; half of the time its version is too old, too.
        repeat: a watch steps back, and tells some events a second time.
        delay: the longest time that a request or an event takes, in seconds.
    """

    refuse: float = 0.0
    lose: float = 0.0
    cut: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0


class Fate:
    """The faults of one client. `fuse` writes from now its process dies: the write may or may not still happen."""

    def __init__(self, chance: random.Random, faults: Faults) -> None:
        self._chance = chance
        self.faults = faults
        self.fuse: int | None = None
        self.dead = False
        self._paused_until = 0.0

    def pause(self, seconds: float) -> None:
        """Stop this process for a while, as a busy node or a broken network does. It does not know, and goes on after.

        What it had decided before is written then, however much the others have done meanwhile.
        """
        self._paused_until = asyncio.get_running_loop().time() + seconds

    async def before(self, *, write: bool) -> None:
        await self._wait(self._chance.random())
        if write and self.fuse is not None:
            self.fuse -= 1
            if self.fuse <= 0:
                self.dead = True
                if self._chance.random() < 0.5:
                    await asyncio.Event().wait()
                return
        if self._chance.random() < self.faults.refuse:
            raise Unavailable("refused by chance", 503)

    async def after(self) -> None:
        await self._wait(self._chance.random())
        if self._chance.random() < self.faults.lose:
            raise Unavailable("answer lost by chance", 0)

    async def event(self) -> int:
        """Let an event through, sooner or later. Returns how many events the watch steps back after it."""
        # Most come soon and a few very late, so that one kind's news overtakes another's.
        await self._wait(self._chance.random() ** 4 * 6)
        if self._chance.random() < self.faults.cut:
            if self._chance.random() < 0.5:
                raise Gone("too old by chance", 410)
            raise Unavailable("watch cut by chance", 0)
        return self._chance.randrange(1, 4) if self._chance.random() < self.faults.repeat else 0

    def bookmark(self) -> bool:
        return self._chance.random() < 0.2

    async def _wait(self, share: float) -> None:
        if self.faults.delay:
            await asyncio.sleep(share * self.faults.delay)
        rest = self._paused_until - asyncio.get_running_loop().time()
        if rest > 0:
            await asyncio.sleep(rest)
        if self.dead:
            await asyncio.Event().wait()
