"""`python -m tests.flow.simulate --histories 3000`: histories by seed, each with its own faults, crashes and leaders.

A history that breaks a rule is printed with what led to it, and `--seed N` repeats it.
"""

import argparse
import asyncio
import logging
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
from tests.flow.simulated_time import SimulatedClock, run
from tests.flow.store import Store
from tests.flow.world import NETWORK, Watchful, World, described, faults_at_rest

STEPS = 24
RIVALS = 3
"""Processes that believe to lead at one time."""
PATIENCE = 700.0
"""Simulated seconds after which a quiet world must be at rest; more than two regular looks at everything."""

MakeStore = Callable[[Kube, Clock], BlockStore]


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
        self._processes = [self._start(chance) for _ in range(chance.randrange(1, RIVALS + 1))]
        for _ in range(STEPS):
            self._world.step()
            self._trouble(chance)
            await asyncio.sleep(chance.choice((0.0, 0.01, 0.3, 2.0)))
        for process in self._processes:
            await self._stop(process)
        self._world.calm()
        self._world.story.append("calm: one process, no faults")
        last = self._start(chance, Faults())
        self._store.collect_garbage()
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
                    Faults(refuse=0.05, lose=0.05, cut=0.05, repeat=0.1, delay=0.2),
                    Faults(lose=0.2, cut=0.2, repeat=0.3, delay=0.5),
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
            Options(workers=8, seed=chance.randrange(1 << 30)),
            OneNetwork,
            store,
        )
        return Process(fate, leading, asyncio.create_task(leading.run()))

    def _trouble(self, chance: random.Random) -> None:
        """Crash a process after some more writes, hold one up, start a second leader beside it, or start over."""
        self._store.collect_garbage()
        drawn = chance.random()
        if drawn < 0.08:
            chance.choice(self._processes).fate.fuse = chance.randrange(1, 12)
            self._world.story.append("a process will die")
        elif drawn < 0.12:
            seconds = chance.choice((1, 5, 30))
            chance.choice(self._processes).fate.pause(seconds)
            self._world.story.append(f"a process stands still for {seconds} s, and knows nothing of it")
        elif sum(not process.fate.dead for process in self._processes) < (RIVALS if drawn < 0.18 else 1):
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
    return run(History(seed, make_store).play())


def quiet() -> None:
    """A simulation is nothing but warnings."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.flow.simulate", description=__doc__)
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed", type=int, help="play this one alone, and tell it")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)), help="to share the seeds")
    options = parser.parse_args(arguments)
    quiet()
    if options.seed is not None:
        outcome = play(options.seed)
        tell(outcome)
        return 1 if outcome.breaches else 0
    seeds = range(options.first, options.first + options.histories)
    started = time.monotonic()
    broken = 0
    with multiprocessing.get_context("forkserver").Pool(options.processes, quiet) as pool:
        for outcome in pool.imap(play, seeds, chunksize=10):
            if outcome.breaches:
                broken += 1
                tell(outcome)
    print(f"{len(seeds)} histories in {time.monotonic() - started:.1f} s, {broken} broken")
    return 1 if broken else 0


def tell(outcome: Outcome) -> None:
    print(f"seed {outcome.seed} (python -m tests.flow.simulate --seed {outcome.seed})")
    print(*(f"  {line}" for line in outcome.story), sep="\n")
    print(*(f"  BROKEN: {breach}" for breach in outcome.breaches), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
