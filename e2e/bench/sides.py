"""Who answers the claims: the provider, the bare writer, the in-cluster provider. Each a process of its own.

All get the bed's admin credentials and look at one namespace, so what earlier measurements left costs nobody anything.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from e2e.bed.bed import TREE, Bed
from e2e.bed.binaries import binary
from e2e.bed.kubelet.images import RUNTIME
from e2e.bed.processes import Process
from e2e.bench.errors import BenchError
from e2e.bench.load import Load
from provider.api.ipam import Json
from provider.edge.kube.documents import to_json
from provider.leading import Options

PYTHON = str(RUNTIME / "bin" / "python")
STOP_SECONDS = 10.0
_ports = itertools.count(21000)
_runs = itertools.count(1)


class Side(Protocol):
    """One that answers the claims of a load."""

    @property
    def pid(self) -> int: ...

    def answer(self, claim: Json) -> None:
        """A claim was made."""
        ...

    def release(self, claim: Json) -> None:
        """A claim was deleted."""
        ...


@dataclass(frozen=True, slots=True)
class Watcher:
    """A provider: it watches the API server, so nobody has to tell it anything."""

    process: Process

    @property
    def pid(self) -> int:
        return self.process.pid

    def answer(self, claim: Json) -> None:
        """It sees for itself."""

    def release(self, claim: Json) -> None:
        """It sees for itself."""


@dataclass(frozen=True, slots=True)
class Bare:
    """The bare writer: told of each claim by a line."""

    process: asyncio.subprocess.Process

    @property
    def pid(self) -> int:
        return self.process.pid

    def answer(self, claim: Json) -> None:
        self._say("answer", claim)

    def release(self, claim: Json) -> None:
        self._say("release", claim)

    def _say(self, what: str, claim: Json) -> None:
        if self.process.returncode is not None:
            raise BenchError(f"the bare writer ended with {self.process.returncode}")
        assert self.process.stdin is not None
        self.process.stdin.write(to_json({"do": what, "claim": claim}) + b"\n")


@asynccontextmanager
async def ours(bed: Bed, load: Load | None = None) -> AsyncIterator[Watcher]:
    """`python -m provider`, as it runs by default but for its ports and, where a load is given, its namespace."""
    ports = ["--health-address", f"127.0.0.1:{next(_ports)}", "--metrics-address", f"127.0.0.1:{next(_ports)}"]
    where = ["--namespace", load.namespace] if load is not None else []
    access = ["--kubeconfig", str(bed.kubeconfig), *where]
    argv = [PYTHON, "-m", "provider", *access, *ports]
    async with _watcher(bed, f"provider-{next(_runs)}", argv) as side:
        yield side


@asynccontextmanager
async def peer(bed: Bed, load: Load) -> AsyncIterator[Watcher]:
    """The in-cluster provider without its webhooks, which would cost it only the check of the pool."""
    off = ["--webhook-port", "0", "--diagnostics-address", "0", "--health-probe-bind-address", "0"]
    access = ["--kubeconfig", str(bed.kubeconfig), "--namespace", load.namespace]
    argv = [str(binary("ipam-in-cluster")), *access, *off]
    async with _watcher(bed, f"peer-{next(_runs)}", argv) as side:
        yield side


@asynccontextmanager
async def bare(bed: Bed, load: Load) -> AsyncIterator[Bare]:
    """The bare writer, with as many requests under way as the provider has workers."""
    number = next(_runs)
    pool = bed.directory / f"bare-{number}.json"
    pool.write_bytes(to_json(load.pool))
    options = ["--kubeconfig", str(bed.kubeconfig), "--pool", str(pool), "--workers", str(Options().workers)]
    with (bed.logs / f"bare-{number}.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            PYTHON, "-m", "e2e.bench.bare", *options,
            stdin=asyncio.subprocess.PIPE, stdout=log, stderr=log, cwd=TREE,
        )  # fmt: skip
        try:
            yield Bare(process)
        finally:
            assert process.stdin is not None
            # It ends with its input, also when this process is killed.
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), STOP_SECONDS)
            except TimeoutError:
                process.kill()
                await process.wait()


@asynccontextmanager
async def _watcher(bed: Bed, name: str, argv: list[str]) -> AsyncIterator[Watcher]:
    process = bed.start_process(name, argv, inside=False)
    try:
        yield Watcher(process)
        if not process.alive:
            raise BenchError(f"{name} ended with {process.returncode}\n{process.log_tail()}")
    finally:
        await asyncio.to_thread(process.stop, STOP_SECONDS)


def resident_megabytes(pid: int) -> float:
    """Memory of a process as the kernel counts it (VmRSS), in MB of 10^6 bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise BenchError(f"process {pid} has no memory: it has ended")
