"""etcd, kube-apiserver and kube-controller-manager of one bed, in the bed's own network namespace.

The API server is reached at https://10.213.N.1:6443 from this machine and from every pod. etcd keeps its data over
restarts, and loses it with the bed; it does not sync to disk, so it is fast and survives any kill but a power cut.
"""

import http.client
import shutil
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from e2e.bed.certificates import Authority, signing_key
from e2e.bed.kubeconfig import write_kubeconfig
from e2e.bed.network import BedNetwork
from e2e.bed.processes import Command, Process, start

ETCD, API_SERVER, CONTROLLER_MANAGER = "etcd", "kube-apiserver", "kube-controller-manager"
API_PORT = 6443
ETCD_URL = "http://127.0.0.1:2379"
START_SECONDS = 90.0
STOP_SECONDS = 3.0
TOKEN_ISSUER = "https://kubernetes.default.svc.cluster.local"

# What the bed's workloads and their clean end need; the rest only costs memory.
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "daemonset-controller",
    "deployment-controller",
    "endpointslice-controller",
    "endpoints-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "statefulset-controller",
    "validatingadmissionpolicy-status-controller",
)


@dataclass(frozen=True, slots=True)
class Places:
    """Directories of a control plane: certificates and kubeconfigs, logs, etcd's data (best in memory)."""

    pki: Path
    logs: Path
    data: Path


class ControlPlane:
    """Started by `start`, ended by `stop`. `kubeconfig` is the admin's, `authority` signs more users and servers."""

    def __init__(self, network: BedNetwork, places: Places, binaries: Mapping[str, Path]) -> None:
        self.server = f"https://{network.address}:{API_PORT}"
        self.authority = Authority(f"{network.namespace} authority")
        self.kubeconfig = places.pki / "admin.kubeconfig"
        self._network = network
        self._places = places
        self._binaries = binaries
        self._processes: dict[str, Process] = {}
        self._ssl: ssl.SSLContext | None = None

    @property
    def trust(self) -> bytes:
        """What certifies the API server, PEM."""
        return self.authority.certificate

    def start(self, *, controllers: bool = True) -> None:
        """Start and wait until it answers; without `controllers` nothing acts on what is stored."""
        self._write_secrets()
        self._start(ETCD)
        # The server waits for etcd by itself, so its own slow start runs beside etcd's.
        self._start(API_SERVER)
        self.wait_ready()
        if controllers:
            self._start(CONTROLLER_MANAGER)

    def wait_ready(self, timeout: float = START_SECONDS) -> None:
        """Until /readyz says ok. Raises ProcessError with the log's end."""
        self._processes[API_SERVER].wait_ready(self._answers, timeout)

    def stop(self) -> None:
        """End all three, the server before its store, and drop the data."""
        for name in (CONTROLLER_MANAGER, API_SERVER, ETCD):
            if name in self._processes:
                self._processes.pop(name).stop(STOP_SECONDS)
        shutil.rmtree(self._places.data, ignore_errors=True)

    def restart(self, name: str, *, kill: bool = False) -> None:
        """Restart one of "etcd", "kube-apiserver", "kube-controller-manager" and wait until the server is ready again.

        With `kill` it goes by SIGKILL, as in a crash.
        """
        process = self._processes[name]
        if kill:
            process.kill()
        else:
            process.stop(STOP_SECONDS)
        self._start(name)
        self.wait_ready()

    def learn_kinds(self) -> None:
        """Call it after installing CRDs: from then on their objects go with their owners.

        The garbage collector looks for new kinds every 30 s only, and at its start.
        """
        if CONTROLLER_MANAGER in self._processes:
            self.restart(CONTROLLER_MANAGER)

    def process(self, name: str) -> Process:
        """The running process of that name, to watch its memory or hurt it."""
        return self._processes[name]

    def _start(self, name: str) -> None:
        flags = {ETCD: self._etcd_flags, API_SERVER: self._server_flags, CONTROLLER_MANAGER: self._controller_flags}
        argv = [str(self._binaries[name]), *(f"--{key}={value}" for key, value in flags[name]().items())]
        log = self._places.logs / f"{name}.log"
        self._processes[name] = start(Command(name, argv, log, netns=self._network.namespace))

    def _etcd_flags(self) -> dict[str, object]:
        return {
            "data-dir": self._places.data / "etcd",
            "listen-client-urls": ETCD_URL,
            "advertise-client-urls": ETCD_URL,
            "listen-peer-urls": "http://127.0.0.1:2380",
            "unsafe-no-fsync": "true",
            "log-level": "warn",
        }

    def _server_flags(self) -> dict[str, object]:
        pki = self._places.pki
        return {
            "etcd-servers": ETCD_URL,
            "bind-address": "0.0.0.0",
            "advertise-address": self._network.address,
            "secure-port": API_PORT,
            "tls-cert-file": pki / "server.crt",
            "tls-private-key-file": pki / "server.key",
            "client-ca-file": pki / "ca.crt",
            "authorization-mode": "RBAC",
            "service-account-issuer": TOKEN_ISSUER,
            "service-account-key-file": pki / "tokens.pub",
            "service-account-signing-key-file": pki / "tokens.key",
            "service-cluster-ip-range": f"10.214.{self._network.index}.0/24",
            # Webhooks of Services are then reached at their endpoints: no kube-proxy here.
            "enable-aggregator-routing": "true",
            "allow-privileged": "true",
            "profiling": "false",
        }

    def _controller_flags(self) -> dict[str, object]:
        pki = self._places.pki
        return {
            "kubeconfig": self.kubeconfig,
            "controllers": ",".join(CONTROLLERS),
            "service-account-private-key-file": pki / "tokens.key",
            "root-ca-file": pki / "ca.crt",
            "leader-elect": "false",
            "secure-port": 0,
            "kube-api-qps": 200,
            "kube-api-burst": 400,
            "concurrent-namespace-syncs": 20,
        }

    def _write_secrets(self) -> None:
        pki = self._places.pki
        pki.mkdir(parents=True, exist_ok=True)
        (pki / "ca.crt").write_bytes(self.authority.certificate)
        names = [self._network.address, "127.0.0.1", "kubernetes.default.svc", "kubernetes.default", "kubernetes"]
        self.authority.server(names).write(pki, "server.crt", "server.key")
        signing_key().write(pki, "tokens.pub", "tokens.key")
        admin = self.authority.client("bed-admin", ["system:masters"])
        admin.write(pki, "admin.crt", "admin.key")
        write_kubeconfig(self.kubeconfig, self.server, self.authority.certificate, admin)
        self._ssl = ssl.create_default_context(cadata=self.authority.certificate.decode())
        self._ssl.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._places.data.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _answers(self) -> bool:
        connection = http.client.HTTPSConnection(self._network.address, API_PORT, timeout=5, context=self._ssl)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            # Not listening yet, or just gone: the process's own end is watched by the caller.
            return False
        finally:
            connection.close()
