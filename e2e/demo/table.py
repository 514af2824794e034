"""The table of machines, from the objects as they are: pure, so that it can be tried without a cluster.

A row says only what objects say: bridge and VLAN from the ProxmoxMachine, addresses from the IPAddresses, the phase
from capmox's own condition.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name."""

CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
READY = "Running"
FAILED = "FAILED"
# capmox's reasons of VirtualMachineProvisioned, in its order.
PHASES = {
    "Cloning": "cloning",
    "WaitingForDiskReconciliation": "sizing disk",
    "WaitingForStaticIPAllocation": "needs an IP",
    "WaitingForBootstrapDataReconciliation": "cloud-init",
    "WaitingForVMPowerUp": "powering up",
    "WaitingForCloudInit": "first boot",
    "WaitingForBootstrapReady": "booting",
    "WaitingForClusterAPIMachineAddresses": "reporting",
    "VMProvisionFailed": FAILED,
    "TaskFailed": "trying again",
    "Deleting": "deleting",
}
NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True)
class Answer:
    """When a claim was first seen and when its answer was, in seconds of one steady clock; None: not yet, or unseen."""

    asked: float | None = None
    answered: float | None = None

    @property
    def milliseconds(self) -> float | None:
        if self.asked is None or self.answered is None:
            return None
        return (self.answered - self.asked) * 1000


@dataclass(frozen=True, slots=True)
class Seen:
    """The objects of the tenants' namespaces."""

    machines: Sequence[Object] = ()
    claims: Sequence[Object] = ()
    addresses: Sequence[Object] = ()
    answers: Mapping[Key, Answer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Row:
    """One machine. `claim_age` in seconds, None before there is a claim; `answered_ms` of the slowest claim."""

    namespace: str
    cluster: str
    machine: str
    node: str
    bridge: str
    vlan: str
    addresses: tuple[str, ...]
    claim_age: int | None
    answered: bool
    answered_ms: float | None
    phase: str

    @property
    def ready(self) -> bool:
        return self.phase == READY


def rows(seen: Seen, now: datetime) -> list[Row]:
    """The machines by namespace, cluster and name."""
    address_of = {key_of(item): str(item["spec"]["address"]) for item in seen.addresses}
    claims_of: dict[Key, list[Object]] = {}
    for claim in sorted(seen.claims, key=key_of):
        if (owner := owner_of(claim)) is not None:
            claims_of.setdefault((key_of(claim)[0], owner), []).append(claim)
    found = [_row(item, claims_of.get(key_of(item), []), address_of, seen.answers, now) for item in seen.machines]
    return sorted(found, key=lambda row: (row.namespace, row.cluster, row.machine))


def _row(
    machine: Object,
    claims: Sequence[Object],
    address_of: Mapping[Key, str],
    answers: Mapping[Key, Answer],
    now: datetime,
) -> Row:
    namespace, name = key_of(machine)
    nic = ((machine["spec"].get("network") or {}).get("networkDevices") or [{}])[0]
    status = machine.get("status") or {}
    addresses = tuple(address_of[key_of(claim)] for claim in claims if key_of(claim) in address_of)
    timings = [answers.get(key_of(claim), Answer()).milliseconds for claim in claims]
    known = [timing for timing in timings if timing is not None]
    return Row(
        namespace=namespace,
        cluster=(machine["metadata"].get("labels") or {}).get(CLUSTER_LABEL, ""),
        machine=name,
        node=status.get("proxmoxNode") or "",
        bridge=nic.get("bridge", ""),
        vlan=str(nic.get("vlan", "")),
        addresses=addresses,
        claim_age=max((_age(claim, now) for claim in claims), default=None),
        answered=bool(claims) and all(is_answered(claim) for claim in claims),
        answered_ms=max(known) if claims and len(known) == len(claims) else None,
        phase=phase(status),
    )


def phase(status: Mapping[str, Any]) -> str:
    """What capmox is doing with the machine, in words."""
    if (status.get("initialization") or {}).get("provisioned"):
        return READY
    for condition in status.get("conditions") or ():
        if condition["type"] == "VirtualMachineProvisioned":
            return PHASES.get(condition["reason"], str(condition["reason"]))
    return NOT_BEGUN


def key_of(item: Object) -> Key:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def owner_of(claim: Object) -> str | None:
    """The ProxmoxMachine that a claim was made for."""
    owners: Iterable[Object] = claim["metadata"].get("ownerReferences") or ()
    return next((owner["name"] for owner in owners if owner["kind"] == "ProxmoxMachine"), None)


def is_answered(claim: Object) -> bool:
    return bool(((claim.get("status") or {}).get("addressRef") or {}).get("name"))


def _age(item: Object, now: datetime) -> int:
    created = datetime.strptime(item["metadata"]["creationTimestamp"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    return max(0, int((now - created).total_seconds()))
