"""A bed of the demo's own: real Kubernetes, Cluster API, capmox and pxnet, with a simulated Proxmox VE under them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.bed import background, binaries, slots
from e2e.bed.bed import Bed
from e2e.bed.parts import FULL, PVE_NODES, PVE_TEMPLATE
from e2e.bed.progress import Progress
from e2e.bed.pxnet import install_pxnet
from e2e.bed.tools import CONTROL_PLANE_TOOLS, find
from e2e.demo.cast import BRIDGE
from e2e.demo.ground import Ground
from e2e.pve.client import SimulatorClient

NAME = "demo"


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
    with Bed(free_name(), FULL, progress=progress, existing=existing) as bed:
        assert bed.pve is not None
        with progress.step(f"{bed.name}: pxnet", 5):
            install_pxnet(bed.kubeconfig)
        yield _ground(bed.kubeconfig, bed.kubectl_path, bed.logs, bed.pve.client)


@contextmanager
def kept_bed(progress: Progress, existing: Path | None = None) -> Iterator[tuple[Ground, background.Summary]]:
    """A bed that stays after the block, unless the block fails: then it goes. Raises BedError."""
    name = free_name()
    binaries.ensure((*CONTROL_PLANE_TOOLS, *FULL.tools), progress)
    where = ["--kubeconfig", str(existing.absolute())] if existing else []
    summary = background.raise_bed(["--name", name, *where])
    try:
        with progress.step(f"{name}: pxnet", 5):
            install_pxnet(Path(summary.kubeconfig))
        pve = SimulatorClient(summary.pve)
        yield _ground(Path(summary.kubeconfig), Path(summary.kubectl), Path(summary.logs), pve), summary
    except BaseException:
        for record in slots.live():
            if record.name == name:
                background.stop(record, progress)
        raise


def _ground(kubeconfig: Path, kubectl: Path, logs: Path, pve: SimulatorClient) -> Ground:
    return Ground(str(kubeconfig), kubectl, logs, pve, PVE_NODES[0], PVE_TEMPLATE, BRIDGE)
