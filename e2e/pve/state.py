"""What the simulated cluster holds: nodes, storages, ISO volumes, virtual machines, API tokens.

Values and look-ups only. What changes them is in `machines` and `volumes`; nothing here knows of HTTP or of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from e2e.pve.errors import ServerError, no_such_node, no_such_storage, no_such_vm
from e2e.pve.nic import MAX_DEVICES, Nic, invent_mac, parse_nic

FIRST_VMID = 100
GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Node:
    """`bridges` empty means every bridge name exists, so that a test need not list them."""

    name: str
    memory_bytes: int = 64 * GIB
    cores: int = 16
    bridges: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Storage:
    """A shared storage shows the same volumes on every node, a local one has its own on each."""

    name: str
    content: frozenset[str]
    kind: str = "dir"
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """`identity` is `user@realm!name`. A read-only token is refused every change with 403."""

    identity: str
    secret: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Vm:
    """One virtual machine. `config` is what PVE calls its configuration file: netN, scsi0, cores, memory (MiB), tags...

    `started` is in seconds since the epoch, None while stopped. `lock` is PVE's word for who holds it ("clone").
    """

    vmid: int
    node: str
    name: str
    config: Mapping[str, str | int]
    template: bool = False
    started: float | None = None
    paused: bool = False
    lock: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", MappingProxyType(dict(self.config)))

    @property
    def status(self) -> str:
        return "stopped" if self.started is None else "running"

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(tag for tag in str(self.config.get("tags", "")).split(";") if tag)

    @property
    def memory_bytes(self) -> int:
        return int(self.config.get("memory", 512)) * 1024**2

    @property
    def cpus(self) -> int:
        return int(self.config.get("cores", 1)) * int(self.config.get("sockets", 1))

    def nics(self) -> dict[str, Nic]:
        """netN -> its network device, in the order of N."""
        names = (f"net{index}" for index in range(MAX_DEVICES))
        return {name: parse_nic(str(self.config[name])) for name in names if name in self.config}

    def iso(self) -> str | None:
        """The volume in ide0 (`local:iso/user-data-101.iso`), or None when the drive is empty or missing."""
        volume = str(self.config.get("ide0", "none")).split(",")[0]
        return None if volume == "none" else volume

    def refuse_if_locked(self) -> None:
        if self.lock is not None:
            raise ServerError(f"VM is locked ({self.lock})")


@dataclass(slots=True)
class Cluster:
    nodes: Mapping[str, Node]
    storages: Mapping[str, Storage]
    tokens: Mapping[str, Token]
    name: str = "simulated"
    vms: dict[int, Vm] = field(default_factory=dict)
    volumes: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    """(node, or "" for a shared storage; storage; file name) -> bytes of the ISO."""
    macs_given: int = 0

    def node(self, name: str) -> Node:
        if name not in self.nodes:
            raise no_such_node(name)
        return self.nodes[name]

    def storage(self, name: str) -> Storage:
        if name not in self.storages:
            raise no_such_storage(name)
        return self.storages[name]

    def vm(self, node: str, vmid: int) -> Vm:
        """The VM as that node sees it: on any other node than its own it does not exist."""
        self.node(node)
        found = self.vms.get(vmid)
        if found is None or found.node != node:
            raise no_such_vm(node, vmid)
        return found

    def vms_on(self, node: str) -> Iterator[Vm]:
        self.node(node)
        return (vm for vm in self.vms.values() if vm.node == node)

    def put(self, vm: Vm) -> None:
        self.vms[vm.vmid] = vm

    def next_vmid(self) -> int:
        return next(vmid for vmid in range(FIRST_VMID, 1_000_000_000) if vmid not in self.vms)

    def new_mac(self) -> str:
        self.macs_given += 1
        return invent_mac(self.macs_given)

    def volume_key(self, node: str, storage: str, name: str) -> tuple[str, str, str]:
        return ("" if self.storage(storage).shared else node, storage, name)
