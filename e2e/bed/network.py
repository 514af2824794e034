"""The network of a bed: a namespace with a bridge, a cable to ours, and one namespace per pod. Needs root and iproute2.

Bed N is 10.213.N.0/24 in namespace pxbed-N: .1 the bridge (the API server), .254 this machine, pods from .10 upwards.
Nothing leaves the machine: what is not of the bed is answered "unreachable" at once. Other namespaces, routes and
firewalls are not touched.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from e2e.bed.errors import NetworkError

FIRST_POD, LAST_POD = 10, 250


def bed_namespace(index: int) -> str:
    """Name of the namespace of bed `index`; its pods' names begin with it and a dash."""
    return f"pxbed-{index}"


def bed_address(index: int, host: int) -> str:
    """The address of host number `host` in bed `index`."""
    return f"10.213.{index}.{host}"


def hardware_address(index: int, host: int) -> str:
    """Derived from the address: a new pod on an old pod's address needs no one to forget anything."""
    return f"02:0a:d5:{index:02x}:00:{host:02x}"


@dataclass(frozen=True, slots=True)
class PodNetwork:
    """A pod's own namespace and its address on the bed's bridge."""

    netns: str
    ip: str
    gateway: str


class Addresses:
    """Host numbers for pods: the next free one, round and round, so that a freed one rests as long as it can."""

    def __init__(self, first: int = FIRST_POD, last: int = LAST_POD) -> None:
        self._first, self._last = first, last
        self._next = first
        self._used: set[int] = set()

    def take(self) -> int:
        """The next free number. Raises NetworkError when all are taken."""
        size = self._last - self._first + 1
        for step in range(size):
            number = self._first + (self._next - self._first + step) % size
            if number not in self._used:
                self._used.add(number)
                self._next = number + 1
                return number
        raise NetworkError(f"all {size} pod addresses of the bed are taken")

    def give_back(self, number: int) -> None:
        """Free a number."""
        self._used.discard(number)


class BedNetwork:
    """Made by `create`, gone after `close`. Methods may be called from any thread."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.namespace = bed_namespace(index)
        self.address = bed_address(index, 1)
        self.host_address = bed_address(index, 254)
        self._addresses = Addresses()
        self._pods: dict[str, int] = {}
        self._lock = threading.Lock()

    def create(self) -> None:
        """Make namespace, bridge and cable; what a dead bed of this number left goes first. Raises NetworkError."""
        remove_network(self.index)
        subnet = bed_address(self.index, 0) + "/24"
        taken = json.loads(_ip("-j", "-4", "address", "show", "to", subnet))
        if any(taken):
            raise NetworkError(f"{subnet} is in use on this machine: the bed cannot have it")
        _ip("netns", "add", self.namespace)
        _batch(
            None,
            f"link add {self.namespace} type veth peer name host0 netns {self.namespace}",
            f"link set {self.namespace} address {hardware_address(self.index, 254)}",
            f"address add {self.host_address}/24 dev {self.namespace}",
            f"link set {self.namespace} up",
        )
        _batch(
            self.namespace,
            "link set lo up",
            f"link add br0 address {hardware_address(self.index, 1)} type bridge",
            f"address add {self.address}/24 dev br0",
            "link set br0 up",
            "link set host0 master br0",
            "link set host0 up",
            # With forwarding on, the kernel says "unreachable"; with it off, it would let callers wait.
            "route add unreachable default",
        )
        _run(["ip", "netns", "exec", self.namespace, "sysctl", "-qw", "net.ipv4.ip_forward=1"])

    def add_address(self, address: str) -> None:
        """Give the bed's own namespace one more address (such as a cluster's endpoint) that pods then reach."""
        _ip("-n", self.namespace, "address", "add", f"{address}/32", "dev", "lo")

    def remove_address(self, address: str) -> None:
        """Take such an address away again."""
        _ip("-n", self.namespace, "address", "del", f"{address}/32", "dev", "lo")

    def pod_namespace(self, name: str) -> PodNetwork:
        """A new namespace for pod `name` on the bridge. Raises NetworkError when it exists or no address is left."""
        netns = f"{self.namespace}-{name}"
        with self._lock:
            if netns in self._pods:
                raise NetworkError(f"pod namespace {netns} exists")
            host = self._addresses.take()
            self._pods[netns] = host
        ip, port = bed_address(self.index, host), f"pod{host}"
        _ip("netns", "add", netns)
        _batch(
            self.namespace,
            f"link add {port} type veth peer name eth0 address {hardware_address(self.index, host)} netns {netns}",
            f"link set {port} master br0",
            f"link set {port} up",
        )
        _batch(
            netns,
            "link set lo up",
            f"address add {ip}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {self.address}",
        )
        return PodNetwork(netns, ip, self.address)

    def release(self, pod: PodNetwork) -> None:
        """Remove a pod's namespace, killing what still runs in it, and free its address."""
        _remove_namespaces([pod.netns])
        with self._lock:
            self._addresses.give_back(self._pods.pop(pod.netns))

    def close(self) -> None:
        """Remove everything of this bed."""
        remove_network(self.index)
        with self._lock:
            self._pods.clear()


def remove_network(index: int) -> None:
    """Remove every trace of bed `index`: processes in its namespaces, the namespaces, the cable. Safe to repeat."""
    own = bed_namespace(index)
    names = [name for name in _namespaces() if name == own or name.startswith(f"{own}-")]
    _remove_namespaces(names)
    if any(link["ifname"] == own for link in json.loads(_ip("-j", "link", "show", "type", "veth"))):
        # The namespace takes the cable with it, but some time later; whichever of us is second finds nothing.
        with contextlib.suppress(NetworkError):
            _ip("link", "delete", own)


def _namespaces() -> list[str]:
    return [line.split()[0] for line in _ip("netns", "list").splitlines()]


def _remove_namespaces(names: Iterable[str]) -> None:
    names = list(names)
    for name in names:
        for pid in _ip("netns", "pids", name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    if names:
        _batch(None, *(f"netns delete {name}" for name in names))


def _ip(*arguments: str) -> str:
    return _run(["ip", *arguments])


def _batch(namespace: str | None, *lines: str) -> None:
    inside = ["-n", namespace] if namespace is not None else []
    _run(["ip", *inside, "-batch", "-"], "\n".join(lines) + "\n")


def _run(arguments: list[str], text: str | None = None) -> str:
    try:
        done = subprocess.run(arguments, input=text, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise NetworkError(f"`{arguments[0]}` is not on PATH: install iproute2 and procps") from None
    if done.returncode != 0:
        what = " ".join(arguments) + (f" <<< {text!r}" if text else "")
        raise NetworkError(f"`{what}` failed: {done.stderr.strip()}")
    return done.stdout
