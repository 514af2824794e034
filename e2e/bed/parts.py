"""What a bed can have besides its control plane, and how the parts that are processes of ours are started."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from e2e.bed import cert_manager_stand_in
from e2e.bed.errors import BedError
from e2e.bed.processes import Process
from e2e.bed.providers import CAPMOX, CLUSTER_API, IN_CLUSTER, install_all
from e2e.pve.client import SimulatorClient

if TYPE_CHECKING:
    from e2e.bed.bed import Bed

PVE_PORT = 8006
PVE_NODES = ("pve1", "pve2")
PVE_TEMPLATE = 9000
PVE_TOKEN = "capmox@pve!bed"
PVE_SECRET = "5d3f6c1e-0000-4000-8000-000000000bed"  # of a simulation: opens nothing else
READY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What a bed has besides etcd and the API server.

    controllers  kube-controller-manager (namespaces, owner references, Deployments)
    kubelet      one node that runs pods as local processes
    pve          the simulated Proxmox VE
    providers    Cluster API's and capmox's controllers, installed and ready
    peer         the in-cluster IPAM provider too
    """

    controllers: bool = True
    kubelet: bool = False
    pve: bool = False
    providers: bool = False
    peer: bool = False

    def __post_init__(self) -> None:
        if self.peer and not self.providers:
            raise BedError("a bed with peer needs providers too")
        if self.providers and not (self.controllers and self.kubelet and self.pve):
            raise BedError("a bed with providers needs controllers, kubelet and pve too")

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools these parts need beyond the control plane's."""
        providers = ("capi-core", "capi-kubeadm-bootstrap", "capi-kubeadm-control-plane", "clusterctl", "capmox")
        return (*(providers if self.providers else ()), *(("ipam-in-cluster",) if self.peer else ()))


LIGHT = Parts()
FULL = Parts(kubelet=True, pve=True, providers=True)


@dataclass(frozen=True, slots=True)
class SimulatedPve:
    """The bed's simulated Proxmox VE: where it is and what opens it.

    url is without /api2/json, as capmox wants it; node names and the template's id are what machines may ask for.
    """

    url: str
    token: str
    secret: str
    nodes: tuple[str, ...]
    template: int
    process: Process

    @property
    def client(self) -> SimulatorClient:
        """Looks into the simulation from outside."""
        return SimulatorClient(self.url)


def start_pve(bed: "Bed") -> SimulatedPve:
    """Start it at port 8006 of the bed's own address and wait until it listens."""
    address = f"{bed.network.address}:{PVE_PORT}"
    nodes = [word for node in PVE_NODES for word in ("--node", node)]
    template = ["--template", f"{PVE_TEMPLATE},tags=capi;ubuntu"]
    token = ["--token", f"{PVE_TOKEN}={PVE_SECRET}"]
    argv = [sys.executable, "-m", "e2e.pve", "--listen", address, *nodes, *template, *token]
    process = bed.start_process("pve", argv)
    process.wait_ready(lambda: b"listening on" in process.command.log.read_bytes(), READY_SECONDS)
    return SimulatedPve(f"http://{address}", PVE_TOKEN, PVE_SECRET, PVE_NODES, PVE_TEMPLATE, process)


def start_kubelet(bed: "Bed", programs: Mapping[str, Path]) -> Process:
    """Start the node. It runs outside the bed's namespace, because it makes the pods' namespaces."""
    where = ["--bed", str(bed.index), "--kubeconfig", str(bed.kubeconfig), "--directory", str(bed.directory)]
    images = [word for name, path in programs.items() for word in ("--program", f"{name}={path}")]
    argv = [sys.executable, "-m", "e2e.bed.kubelet", *where, *images]
    return bed.start_process("kubelet", argv, inside=False)


def start_certificates(bed: "Bed") -> Process:
    """Start what issues the providers' webhook certificates."""
    return bed.start_process("cert-manager-stand-in", cert_manager_stand_in.command_line(bed.kubeconfig))


def install_providers(bed: "Bed", pve: SimulatedPve, *, peer: bool) -> None:
    """Install Cluster API and capmox (and the peer) from their own manifests; back when their webhooks answer."""
    variables = {"PROXMOX_URL": pve.url, "PROXMOX_TOKEN": pve.token, "PROXMOX_SECRET": pve.secret}
    providers = (*CLUSTER_API, CAPMOX, *((IN_CLUSTER,) if peer else ()))
    install_all(bed.kubeconfig, providers, variables)
