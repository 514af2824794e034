"""A cluster that is there already, used in place of a bed's own control plane. Nothing of it is started or stopped.

What a bed installs stays in that cluster. A cluster that has Cluster API from elsewhere is refused, because the bed
would point it at a simulated Proxmox VE.
"""

import base64
import ipaddress
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from e2e.bed import slots
from e2e.bed.certificates import write_secret
from e2e.bed.errors import BedError
from e2e.bed.network import BedNetwork
from e2e.bed.processes import Command, Process, start

MARK = "pxnet-bed"
FOREIGN = ("capi-system", "capmox-system")
READY_SECONDS = 10.0


class ExistingControlPlane:
    """Stands where ControlPlane does, for a kubeconfig of the user's. `trust` is what certifies its API server."""

    def __init__(self, source: Path, target: Path, kubectl: Path, network: BedNetwork, logs: Path) -> None:
        self.kubeconfig = target
        self.server = ""
        self.trust = b""
        self._source = source
        self._kubectl = kubectl
        self._network = network
        self._logs = logs
        self._relay: Process | None = None

    def start(self, *, controllers: bool = True) -> None:
        """Check that it can be used, and let pods reach it. Raises BedError saying why not."""
        refuse_own(self._source)
        flat = self._run("--kubeconfig", str(self._source), "config", "view", "--minify", "--flatten", "--raw")
        self.server, self.trust = server_of(flat, self._source)
        self.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        write_secret(self.kubeconfig, flat.encode())
        self._mark()
        address, port = address_of(self.server)
        self._network.add_address(address)
        argv = [sys.executable, "-m", "e2e.bed.relay", self._network.namespace, address, str(port)]
        self._relay = start(Command("relay", argv, self._logs / "relay.log"))
        relay = self._relay
        relay.wait_ready(lambda: b"relaying" in relay.command.log.read_bytes(), READY_SECONDS)

    def stop(self) -> None:
        """Leave it as it is."""
        if self._relay is not None:
            self._relay.stop()
            self._relay = None

    def restart(self, name: str, *, kill: bool = False) -> None:
        """Refused: it is not ours."""
        raise BedError(f"{name} of {self.server} is not the bed's to restart")

    def process(self, name: str) -> Process:
        """Refused: it is not ours."""
        raise BedError(f"{name} of {self.server} is not a process of the bed's")

    def learn_kinds(self) -> None:
        """Nothing to do: its garbage collector sees new kinds within 30 s."""

    def _mark(self) -> None:
        """Tell a cluster that has been a bed before from one that is somebody's. Raises BedError for the latter."""
        there = self._run("get", "configmap", MARK, "-n", "kube-system", "--ignore-not-found", "-o", "name")
        if there:
            return
        found = self._run("get", "namespaces", *FOREIGN, "--ignore-not-found", "-o", "name").split()
        if found:
            raise BedError(
                f"{self.server} has {' and '.join(found)}: the bed would turn that Cluster API to its simulated "
                "Proxmox VE. Name a cluster without it, or unset KUBECONFIG for a control plane of the bed's own"
            )
        self._run("create", "configmap", MARK, "-n", "kube-system")

    def _run(self, *arguments: str) -> str:
        where = [] if "--kubeconfig" in arguments else ["--kubeconfig", str(self.kubeconfig), "--request-timeout=10s"]
        done = subprocess.run([self._kubectl, *where, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BedError(f"the cluster of {self._source} cannot be used: {done.stderr.strip().splitlines()[-1]}")
        return done.stdout


def refuse_own(kubeconfig: Path) -> None:
    """Raises BedError for a file that is not there, or is that of a bed."""
    for record in slots.live():
        if kubeconfig.resolve().is_relative_to(record.directory.resolve()):
            raise BedError(f"KUBECONFIG is that of bed {record.name!r}, which is up: unset it to make another bed")
    if not kubeconfig.is_file():
        raise BedError(f"no kubeconfig {kubeconfig}: unset KUBECONFIG for a control plane of the bed's own")


def server_of(flat: str, source: Path) -> tuple[str, bytes]:
    """Server and authority of a minified, flattened kubeconfig. Raises BedError when it names none."""
    document = yaml.safe_load(flat) or {}
    clusters = document.get("clusters") or []
    if not clusters:
        raise BedError(f"{source} has no current context: choose one with `kubectl config use-context`")
    cluster = clusters[0]["cluster"]
    return cluster["server"], base64.b64decode(cluster.get("certificate-authority-data", ""))


def address_of(server: str) -> tuple[str, int]:
    """Address and port that pods can be given. Raises BedError for a name or a loopback address."""
    parts = urlsplit(server)
    host = parts.hostname or ""
    try:
        usable = ipaddress.IPv4Address(host).is_loopback is False
    except ValueError:
        usable = False
    if not usable:
        raise BedError(
            f"the bed's pods cannot be given the API server {server}: its kubeconfig must name an IPv4 address "
            "that is not loopback"
        )
    return host, parts.port or 443
