"""A queue of keys: each key is worked on by one worker at a time, and once more if it was added meanwhile.

Nothing is ever lost here: an add during the work runs the work again, an error runs it again after a growing delay.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import structlog
from structlog.contextvars import bound_contextvars

from provider.edge.clock import Clock

K = TypeVar("K", bound=Hashable)

FIRST_DELAY = 0.05
LONGEST_DELAY = 60.0
"""Seconds between tries of a key that fails, doubling from the first to the longest, with jitter."""

log = structlog.get_logger(__name__)


class Queue(Generic[K]):
    """`work(key)` returns the seconds after which the key wants to be seen again, or None."""

    def __init__(
        self,
        name: str,
        work: Callable[[K], Awaitable[float | None]],
        clock: Clock,
        workers: int,
        seed: int | None = None,
    ) -> None:
        self.name = name
        self._work = work
        self._clock = clock
        self._workers = workers
        self._ready: deque[K] = deque()
        self._queued: set[K] = set()
        self._busy: set[K] = set()
        self._again: set[K] = set()
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.Task[None]] = {}
        self._wakeup = asyncio.Semaphore(0)
        self._jitter = random.Random(seed)  # noqa: S311 - spreads retries, keeps no secret

    def add(self, key: K) -> None:
        if key in self._busy:
            self._again.add(key)
        elif key not in self._queued:
            self._queued.add(key)
            self._ready.append(key)
            self._wakeup.release()

    def add_after(self, key: K, seconds: float) -> None:
        """Add later. Of several calls for one key the last one counts; an `add` in between is independent of it."""
        if key in self._timers:
            self._timers.pop(key).cancel()
        self._timers[key] = asyncio.create_task(self._later(key, seconds))

    def hurry(self, first: Callable[[K], bool]) -> None:
        """Put these keys before all others that wait; the order is kept otherwise."""
        self._ready = deque(sorted(self._ready, key=lambda key: not first(key)))

    def __len__(self) -> int:
        return len(self._ready)

    @property
    def idle(self) -> bool:
        """Nothing is queued or being worked on; delayed keys do not count."""
        return not self._ready and not self._busy

    async def run(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._workers):
                    group.create_task(self._worker())
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def _later(self, key: K, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._timers.pop(key, None)
        self.add(key)

    async def _worker(self) -> None:
        while True:
            await self._wakeup.acquire()
            key = self._ready.popleft()
            self._queued.discard(key)
            self._busy.add(key)
            try:
                with bound_contextvars(**{self.name.removesuffix("s"): _text(key)}):
                    delay = await self._work(key)
                self._failures.pop(key, None)
            except Exception as error:
                # Whatever one key does, the others go on. The key comes back, the error is on record.
                failures = self._failures[key] = self._failures.get(key, 0) + 1
                # The exponent is bounded: a key that fails for a day must not end the worker by an overflow.
                delay = min(FIRST_DELAY * 2.0 ** min(failures - 1, 20), LONGEST_DELAY) * self._jitter.uniform(0.8, 1.2)
                log.warning(
                    "will try again", queue=self.name, key=_text(key), error=f"{type(error).__name__}: {error}",
                    failures=failures, seconds=round(delay, 2), exc_info=failures == 3,
                )  # fmt: skip
            finally:
                self._busy.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)
            if delay is not None:
                self.add_after(key, delay)


def _text(key: Hashable) -> str:
    """A key as `kubectl` users write it: namespace/name."""
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)
