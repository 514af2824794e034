"""`python -m tests.flow.simulate --histories 3000`: histories by seed, each with its own faults, crashes and leaders.

A history that breaks a rule is printed with what led to it, and `--seed N` repeats it.
"""

import argparse
import asyncio
import logging
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import looptime
import structlog

from provider.api.ipam import Key
from provider.api.pool import Pool
from provider.edge.clock import Clock
from provider.edge.kube.blocks import BlockStore
from provider.edge.kube.client import Kube
from provider.edge.kube.resources import Resource
from provider.edge.metrics import Metrics
from provider.leading import Leading, Options
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.store import START, Store
from tests.flow.world import NETWORK, Watchful, World, described, faults_at_rest

STEPS = 30
PATIENCE = 700.0
"""Simulated seconds after which a quiet world must be at rest; more than two regular looks at everything."""

MakeStore = Callable[[Kube, Clock], BlockStore]


class SimulatedClock:
    """The event loop's own time, which jumps over all waiting."""

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SilentEvents:
    """Events are not what is simulated."""

    def note(self, *_: str) -> None: ...

    def warn(self, *_: str) -> None: ...


class OneNetwork:
    """The part that knows networks, knowing one that never changes."""

    def __init__(self, leading: Leading) -> None:
        self._leading = leading

    async def load(self) -> None:
        self._leading.books.publish(NETWORK)

    async def run(self) -> None:
        await asyncio.Event().wait()

    def changed(self, resource: Resource, key: Key) -> None: ...

    def book_changed(self, book: str) -> None: ...

    def pool_changed(self, old: Pool | None, new: Pool | None) -> None: ...


@dataclass(slots=True)
class Process:
    """One provider process."""

    fate: Fate
    leading: Leading
    task: "asyncio.Task[None]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a history."""

    seed: int
    breaches: tuple[str, ...]
    story: tuple[str, ...]


class History:
    """One seed's worth of trouble."""

    def __init__(self, seed: int, make_store: MakeStore | None = None) -> None:
        self._chance = random.Random(seed)
        self._seed = seed
        self._make_store = make_store

    async def play(self) -> Outcome:
        chance = self._chance
        self._store = Store(asyncio.get_running_loop().time)
        self._world = World(self._store, chance)
        watchful = Watchful(self._store)
        self._processes = [self._start(chance)]
        for _ in range(STEPS):
            self._world.step()
            self._trouble(chance)
            await asyncio.sleep(chance.choice((0.0, 0.01, 0.3, 2.0)))
        for process in self._processes:
            await self._stop(process)
        self._world.calm()
        self._world.story.append("calm: one process, no faults")
        last = self._start(chance, Faults())
        await asyncio.sleep(PATIENCE)
        await self._rest(last)
        breaches = [*watchful.breaches, *faults_at_rest(self._store)]
        if last.task.done():
            breaches.append(f"the process ended: {last.task.exception()!r}")
        await self._stop(last)
        return Outcome(self._seed, tuple(breaches), (*self._world.story, *described(self._store)))

    def _start(self, chance: random.Random, faults: Faults | None = None) -> Process:
        if faults is None:
            faults = chance.choice(
                (
                    Faults(delay=0.05),
                    Faults(refuse=0.05, lose=0.05, cut=0.05, delay=0.2),
                    Faults(lose=0.2, cut=0.2, delay=0.5),
                    Faults(delay=2.0),
                )
            )
        fate = Fate(random.Random(chance.random()), faults)
        kube = FakeKube(self._store, fate)
        clock = SimulatedClock()
        store = self._make_store(kube, clock) if self._make_store is not None else None
        leading = Leading(
            kube,
            clock,
            SilentEvents(),  # type: ignore[arg-type]
            Metrics(),
            Options(workers=8),
            OneNetwork,
            store,
        )
        return Process(fate, leading, asyncio.create_task(leading.run()))

    def _trouble(self, chance: random.Random) -> None:
        """Crash a process after some more writes, start a second leader beside it, or start over."""
        self._store.collect_garbage()
        drawn = chance.random()
        if drawn < 0.08:
            chance.choice(self._processes).fate.fuse = chance.randrange(1, 12)
            self._world.story.append("a process will die")
        elif drawn < 0.14 or all(process.fate.dead for process in self._processes):
            self._processes.append(self._start(chance))
            self._world.story.append("another process starts; nobody asks the lease")

    async def _rest(self, process: Process) -> None:
        for _ in range(200):
            if process.leading.idle:
                return
            await asyncio.sleep(1.0)

    async def _stop(self, process: Process) -> None:
        process.task.cancel()
        await asyncio.gather(process.task, return_exceptions=True)


def play(seed: int, make_store: MakeStore | None = None) -> Outcome:
    """Play one history from beginning to end, in simulated time."""
    loop = looptime.new_event_loop(start=0, noop_cycles=0)
    try:
        return loop.run_until_complete(History(seed, make_store).play())
    finally:
        loop.close()


def quiet() -> None:
    """A simulation is nothing but warnings."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.flow.simulate", description=__doc__)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--seed", type=int, help="play this one alone, and tell it")
    options = parser.parse_args(arguments)
    quiet()
    seeds = range(options.histories) if options.seed is None else [options.seed]
    started = time.monotonic()
    broken = 0
    for seed in seeds:
        outcome = play(seed)
        if outcome.breaches or options.seed is not None:
            print(f"seed {seed}", *(f"  {line}" for line in outcome.story), sep="\n")
        if outcome.breaches:
            broken += 1
            print(*(f"  BROKEN: {breach}" for breach in outcome.breaches), sep="\n")
    seconds = time.monotonic() - started
    print(f"{len(seeds)} histories in {seconds:.1f} s, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
