"""One bed, put together: a number, a network, a control plane, and the parts asked for. A context manager.

    with Bed(parts=LIGHT) as bed:
        bed.kubectl("get", "namespaces")

Everything is named by the bed's number, so beds do not meet. What a bed started ends with it, also on Ctrl-C, SIGTERM
and at exit; after a kill -9 its processes die with it, and the next bed removes the rest. Only its logs stay.
"""

import atexit
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from e2e.bed import binaries, leftovers, needs, slots
from e2e.bed.control_plane import ControlPlane, Places
from e2e.bed.errors import BedError
from e2e.bed.existing import ExistingControlPlane
from e2e.bed.kubeconfig import write_kubeconfig
from e2e.bed.network import BedNetwork
from e2e.bed.parts import FULL, Parts, SimulatedPve, install_providers, start_certificates, start_kubelet, start_pve
from e2e.bed.processes import Command, Process, start, stop_all
from e2e.bed.progress import Progress
from e2e.bed.signals import ended_by_signals
from e2e.bed.tools import CONTROL_PLANE_TOOLS

TREE = Path(__file__).resolve().parents[2]
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
MEMORY_DIRECTORY = Path("/dev/shm")
MEMORY_NEEDED = 1 << 30
STOP_SECONDS = 8.0


class Bed:
    """A bed of the given parts; `with` starts and closes it. Needs root.

    name      [a-z0-9-], at most 40 characters; "bed<number>" without one
    base      directory that gets the bed's own directory; build/beds of the tree without one
    progress  where to say what is done; standard error without one
    existing  kubeconfig of a cluster to use in place of a control plane of its own
    background  marks a bed that is left running on purpose, which a plain `down` may stop
    """

    def __init__(
        self,
        name: str | None = None,
        parts: Parts = FULL,
        *,
        base: Path | None = None,
        progress: Progress | None = None,
        background: bool = False,
        existing: Path | None = None,
    ) -> None:
        if name is not None and not NAME.fullmatch(name):
            raise BedError(f"bed name {name!r}: use at most 40 of a-z, 0-9 and -, ending in a letter or digit")
        self._wanted_name = name
        self._background = background
        self._existing = existing
        self._base = (base or TREE / "build" / "beds").absolute()
        self.parts = parts
        self.progress = progress or Progress()
        self.pve: SimulatedPve | None = None
        self.kubelet: Process | None = None
        self._closing = ExitStack()
        self._processes: list[Process] = []

    def start(self) -> Self:
        """Make everything. Raises a BedError after cleaning up what was made so far."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """End and remove everything but the logs. Safe to repeat."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def logs(self) -> Path:
        """One file for each process; they stay after the bed's end."""
        return self.directory / "logs"

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig; works from this machine and inside the bed's namespaces."""
        return self.control_plane.kubeconfig

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout: float = 120.0) -> str:
        """Run kubectl as the admin and give its standard output. Raises BedError with its error text."""
        # What kubectl remembers of a server is kept by address, and another bed had this address before.
        memory = f"--cache-dir={self.directory / 'kubectl-cache'}"
        argv = [str(self.kubectl_path), memory, "--kubeconfig", str(self.kubeconfig), *arguments]
        try:
            done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            raise BedError(f"kubectl {' '.join(arguments)}: no end after {timeout:.0f} s") from None
        if done.returncode != 0:
            raise BedError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def start_process(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        inside: bool = True,
    ) -> Process:
        """Start a program in the bed's namespace (or, not `inside`, in ours), from the tree's top directory.

        It gets our environment plus `env`, logs to logs/<name>.log, and ends with the bed.
        """
        netns = self.network.namespace if inside else None
        environment = {**os.environ, **(env or {})}
        process = start(Command(name, argv, self.logs / f"{name}.log", env=environment, netns=netns, cwd=TREE))
        self._processes.append(process)
        return process

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a day's token of that service account, to run a program by hand under its own rights."""
        token = self.kubectl("create", "token", name, "--namespace", namespace, "--duration", "24h").strip()
        path = self.directory / "pki" / f"{namespace}-{name}.kubeconfig"
        return write_kubeconfig(path, self.control_plane.server, self.control_plane.trust, token)

    def _start(self) -> None:
        needs.require()
        needed = binaries.ensure((*CONTROL_PLANE_TOOLS, *self.parts.tools), self.progress)
        leftovers.clean(self.progress)
        slot = slots.take(self._wanted_name, self._base, _scratch_parent(self._base), background=self._background)
        closing = self._closing
        closing.callback(slot.release)
        closing.enter_context(ended_by_signals())
        atexit.register(self.close)
        closing.callback(atexit.unregister, self.close)

        record = slot.record
        self.index, self.name, self.directory = record.index, record.name, record.directory
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        closing.callback(leftovers.remove_files, record)

        self.network = BedNetwork(self.index)
        closing.callback(self.network.close)
        self.network.create()

        self.kubectl_path = needed["kubectl"]
        self.control_plane = self._make_control_plane(needed, record.scratch)
        closing.callback(self.control_plane.stop)
        with self.progress.step(f"{self.name}: control plane", 4):
            self.control_plane.start(controllers=self.parts.controllers)
        closing.callback(self._stop_processes)
        self._start_parts(needed)

    def _make_control_plane(self, programs: Mapping[str, Path], scratch: Path) -> ControlPlane | ExistingControlPlane:
        secrets = self.directory / "pki"
        if self._existing is None:
            return ControlPlane(self.network, Places(secrets, self.logs, scratch), programs)
        self.progress.say(f"{self.name}: using the cluster of {self._existing}; what is installed there stays there")
        target = secrets / "admin.kubeconfig"
        return ExistingControlPlane(self._existing, target, self.kubectl_path, self.network, self.logs)

    def _start_parts(self, programs: Mapping[str, Path]) -> None:
        if self.parts.kubelet:
            self.kubelet = start_kubelet(self, programs)
        if self.parts.providers:
            start_certificates(self)
        if self.parts.pve:
            self.pve = start_pve(self)
        if self.parts.providers:
            assert self.pve is not None
            with self.progress.step(f"{self.name}: Cluster API and capmox", 10):
                install_providers(self, self.pve, peer=self.parts.peer)
                self.control_plane.learn_kinds()

    def _stop_processes(self) -> None:
        stop_all(self._processes, STOP_SECONDS)
        self._processes.clear()


def _scratch_parent(base: Path) -> Path:
    """Memory for etcd's data where there is some to spare, else the disk."""
    if MEMORY_DIRECTORY.is_dir() and shutil.disk_usage(MEMORY_DIRECTORY).free >= MEMORY_NEEDED:
        return MEMORY_DIRECTORY
    return base
