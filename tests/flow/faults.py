"""What goes wrong, by chance of a seed: delays, answers that never come, watches that break, a process that dies."""

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
        delay: the longest time that a request or an event takes, in seconds.
    """

    refuse: float = 0.0
    lose: float = 0.0
    cut: float = 0.0
    delay: float = 0.0


class Fate:
    """The faults of one client. `fuse` writes from now its process dies: the write may or may not still happen."""

    def __init__(self, chance: random.Random, faults: Faults) -> None:
        self._chance = chance
        self.faults = faults
        self.fuse: int | None = None
        self.dead = False

    async def before(self, *, write: bool) -> None:
        if self.dead:
            await asyncio.Event().wait()
        if self.faults.delay:
            await asyncio.sleep(self._chance.random() * self.faults.delay)
        if self.dead:
            await asyncio.Event().wait()
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
        if self.faults.delay:
            await asyncio.sleep(self._chance.random() * self.faults.delay)
        if self.dead:
            await asyncio.Event().wait()
        if self._chance.random() < self.faults.lose:
            raise Unavailable("answer lost by chance", 0)

    async def event(self) -> None:
        if self.faults.delay:
            await asyncio.sleep(self._chance.random() ** 4 * self.faults.delay * 6)
        if self.dead:
            await asyncio.Event().wait()
        if self._chance.random() < self.faults.cut:
            if self._chance.random() < 0.5:
                raise Gone("too old by chance", 410)
            raise Unavailable("watch cut by chance", 0)
