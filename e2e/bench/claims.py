"""The figures of claims: how fast they are answered and released, how soon one is, what 10,000 of them cost.

Every measurement has a namespace of its own in one control plane. Ours and the bare writer take turns, so that a busy
machine weighs on both, and medians are reported. No controller manager runs: its garbage collector would take a share
of the cores that has nothing to do with who answers.
"""

import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from e2e.bed.bed import Bed
from e2e.bed.parts import Parts
from e2e.bed.progress import Progress
from e2e.bench import kinds, sides
from e2e.bench.figures import Aim, Figure
from e2e.bench.load import Load, names
from e2e.bench.sides import Side, resident_megabytes
from provider.edge.kube.auth import find_access
from provider.edge.kube.client import Client

PARTS = Parts(controllers=False)
SPEED = Aim(0.9)
IDLE = Aim(1.5, at_most=True)
MEMORY = Aim(100, at_most=True, of_bare=False)
RESTART = Aim(3, at_most=True, of_bare=False)
FLAT = Aim(0.9, of_bare=False)

STORMS = ((1_000, 2), (4_000, 1), (10_000, 1))
"""How many claims, how many turns. The last one goes on with memory and restarts."""

PEER_STORMS = (1_000, 4_000)
IDLE_SAMPLES = 50
RESTARTS = 3

Starter = Callable[[Bed, Load], AbstractAsyncContextManager[Side]]


@dataclass(slots=True)
class Bench:
    """One run of the figures. `results` gathers (figure, side) -> what each turn gave."""

    bed: Bed
    kube: Client
    progress: Progress
    results: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    _loads: int = 0

    async def run(self) -> list[Figure]:
        await kinds.install(self.bed.kubeconfig)
        for count, turns in STORMS[:-1]:
            for _ in range(turns):
                await self._storm("ours", sides.ours, count)
                await self._storm("bare", sides.bare, count)
            if count in PEER_STORMS:
                await self._storm("peer", sides.peer, count)
        await self._idle()
        await self._large(*STORMS[-1])
        return self._figures()

    async def _storm(self, side: str, start: Starter, count: int) -> None:
        async with self._load() as load, start(self.bed, load) as answering:
            await self._warm_up(load, answering)
            with self.progress.step(f"{count} claims, {side}"):
                self._note(f"claims_{count}", side, await load.storm(names(count), answering.answer))
            await load.check()
            if count == STORMS[0][0]:
                with self.progress.step(f"release of {count} claims, {side}"):
                    self._note(f"release_{count}", side, await load.release(names(count), answering.release))

    async def _idle(self) -> None:
        """Turn by turn on two providers that have nothing else to do."""
        async with (
            self._load() as load, sides.ours(self.bed, load) as ours,
            self._load() as bare_load, sides.bare(self.bed, bare_load) as bare,
        ):  # fmt: skip
            await self._warm_up(load, ours)
            await self._warm_up(bare_load, bare)
            with self.progress.step(f"{IDLE_SAMPLES} single claims, ours and bare in turn"):
                for name in names(IDLE_SAMPLES):
                    self._note("idle_claim", "ours", await load.one(name, ours.answer) * 1e3)
                    self._note("idle_claim", "bare", await bare_load.one(name, bare.answer) * 1e3)

    async def _large(self, count: int, turns: int) -> None:
        """A full storm, then the memory of the one who holds it all, then its restarts."""
        for _ in range(turns):
            await self._storm("bare", sides.bare, count)
        async with self._load() as load:
            async with sides.ours(self.bed, load) as ours:
                await self._warm_up(load, ours)
                with self.progress.step(f"{count} claims, ours"):
                    self._note(f"claims_{count}", "ours", await load.storm(names(count), ours.answer))
                await load.check()
                self._note(f"memory_{count}", "ours", resident_megabytes(ours.pid))
            for number in range(RESTARTS):
                await self._restart(load, "ours", sides.ours, count, f"restart-{number}")
                await self._restart(load, "bare", sides.bare, count, f"bare-{number}")

    async def _restart(self, load: Load, side: str, start: Starter, count: int, name: str) -> None:
        """From the start of the process to the answer of a claim that was there already."""
        claim = await load.make(name)
        begun = time.monotonic()
        async with start(self.bed, load) as answering:
            answering.answer(claim)
            with self.progress.step(f"first answer after a start with {count} addresses, {side}"):
                self._note(f"restart_{count}", side, await load.wait(name) - begun)
            self._note(f"memory_{count}", side, resident_megabytes(answering.pid))

    async def _warm_up(self, load: Load, answering: Side) -> None:
        """Until it answers: started, synchronised, leading."""
        name = "warm-up"
        answering.answer(await load.make(name))
        await load.wait(name)

    @asynccontextmanager
    async def _load(self) -> AsyncIterator[Load]:
        self._loads += 1
        async with Load(self.kube, f"bench-{self._loads}") as load:
            yield load

    def _note(self, figure: str, side: str, value: float) -> None:
        self.results.setdefault((figure, side), []).append(value)

    def _figures(self) -> list[Figure]:
        large = STORMS[-1][0]
        figures = [self._figure(f"claims_{count}", "claims/s", SPEED) for count, _ in STORMS]
        first, last = figures[0], figures[-1]
        assert first.bare is not None
        assert last.bare is not None
        flat = Figure(
            f"claims_{large}_vs_{STORMS[0][0]}", "ratio", FLAT, last.ours / first.ours, last.bare / first.bare
        )
        return [
            *figures,
            flat,
            self._figure(f"release_{STORMS[0][0]}", "claims/s", SPEED),
            self._figure("idle_claim", "ms", IDLE),
            # The largest of all moments: right after the storm, and after each restart.
            self._figure(f"memory_{large}", "MB", MEMORY, max),
            self._figure(f"restart_{large}", "s", RESTART),
        ]

    def _figure(
        self, name: str, unit: str, aim: Aim, middle: Callable[[list[float]], float] = statistics.median
    ) -> Figure:
        value = {side: middle(found) for (figure, side), found in self.results.items() if figure == name}
        return Figure(name, unit, aim, value["ours"], value.get("bare"), value.get("peer"))


async def measure(bed: Bed, progress: Progress) -> list[Figure]:
    """All figures of claims; some ten minutes."""
    async with Client(find_access(str(bed.kubeconfig))) as kube:
        return await Bench(bed, kube, progress).run()
