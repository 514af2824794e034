"""An event loop whose time jumps over all waiting, so that hours of a history take milliseconds.

Nothing in a simulation waits for a file or a socket, so the loop asks the system for none: what runs next depends on
the program alone, and one seed (with one PYTHONHASHSEED) is one history.
"""

import asyncio
import selectors
from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import TypeVar

from tests.flow.store import START

T = TypeVar("T")


class Standstill(Exception):
    """Everybody waits for somebody else: no timer is left that could move time on."""


class _Jump(selectors.SelectSelector):
    """Instead of waiting for files it moves the time on by as much as the loop would have waited."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Standstill
        self.now += timeout
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Starts at 0.0 seconds."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now


class SimulatedClock:
    """The provider's clock on the loop's time."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run(history: Awaitable[T]) -> T:
    """Run to the end in simulated time.

    Raises:
        Standstill: the history can never end.
    """
    loop = SimulatedLoop()
    try:
        return loop.run_until_complete(history)
    finally:
        loop.close()
