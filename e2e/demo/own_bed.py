"""A bed of the demo's own: real Kubernetes, Cluster API, capmox and pxnet, with a simulated Proxmox VE under them."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.bed import background, binaries, slots
from e2e.bed.bed import TREE, Bed
from e2e.bed.parts import FULL, PVE_NODES, PVE_TEMPLATE
from e2e.bed.progress import Progress
from e2e.bed.pxnet import install_pxnet
from e2e.bed.signals import ended_by_signals
from e2e.bed.tools import CONTROL_PLANE_TOOLS, find
from e2e.demo.cast import BRIDGE
from e2e.demo.ground import Ground
from e2e.pve.client import SimulatorClient

NAME = "demo"
TASK_SECONDS = 0.01
ANY_NUMBER = 1_000_000


def missing_tools() -> list[str]:
    """Programs of the bed that have to be built first."""
    tools = map(find, (*CONTROL_PLANE_TOOLS, *FULL.tools))
    return [tool.name for tool in tools if not binaries.built_path(tool).exists()]


def build_minutes(names: list[str]) -> int:
    """Minutes that building them takes on a modest machine, rounded up."""
    return -(-sum(find(name).typical for name in names) // 60)


def free_name() -> str:
    """ "demo", or "demo-2" and so on while other demos' beds are up."""
    taken = {record.name for record in slots.live()}
    return next(name for number in range(1, slots.SLOTS + 2) if (name := _numbered(number)) not in taken)


def _numbered(number: int) -> str:
    return NAME if number == 1 else f"{NAME}-{number}"


@contextmanager
def own_bed(progress: Progress, existing: Path | None = None) -> Iterator[Ground]:
    """Up for the length of the block, on the API server of an `existing` kubeconfig if given. Raises BedError."""
    name = free_name()
    with _telling_logs(name), Bed(name, FULL, progress=progress, existing=existing) as bed:
        assert bed.pve is not None
        try:
            with progress.step(f"{name}: pxnet", 10):
                install_pxnet(bed.kubeconfig)
            yield _ground(bed.kubeconfig, bed.kubectl_path, bed.logs, bed.pve.client)
        finally:
            # An impatient second Ctrl-C must not leave half of it behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def kept_bed(progress: Progress, existing: Path | None = None) -> Iterator[tuple[Ground, background.Summary]]:
    """A bed that stays after the block, unless the block fails: then it goes. Raises BedError."""
    name = free_name()
    binaries.ensure((*CONTROL_PLANE_TOOLS, *FULL.tools), progress)
    where = ["--kubeconfig", str(existing.absolute())] if existing else []
    with _telling_logs(name), ended_by_signals():
        summary = background.raise_bed(["--name", name, *where])
        try:
            with progress.step(f"{name}: pxnet", 10):
                install_pxnet(Path(summary.kubeconfig))
            pve = SimulatorClient(summary.pve)
            yield _ground(Path(summary.kubeconfig), Path(summary.kubectl), Path(summary.logs), pve), summary
        except BaseException:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for record in slots.live():
                if record.name == name:
                    background.stop(record, progress)
            raise


@contextmanager
def _telling_logs(name: str) -> Iterator[None]:
    """An error leaves with a note of where the bed's logs stay."""
    try:
        yield
    except Exception as error:
        logs = TREE / "build" / "beds" / name / "logs"
        if logs.is_dir():
            error.add_note(f"logs: {logs}/")
        raise


def _ground(kubeconfig: Path, kubectl: Path, logs: Path, pve: SimulatorClient) -> Ground:
    # capmox looks at an unfinished task only every 10 s, and where its cache lags it starts a VM twice and then rests
    # for a minute. Tasks that end at once spare the demo both; all else about them stays as it is.
    pve.slow_task("*", TASK_SECONDS, times=ANY_NUMBER)
    return Ground(str(kubeconfig), kubectl, logs, pve, PVE_NODES[0], PVE_TEMPLATE, BRIDGE)
