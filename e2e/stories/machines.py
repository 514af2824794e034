"""A tenant's machines as everybody sees them: Cluster API, capmox, the claims, Proxmox, and the guest itself.

Reads through kubectl and the simulator's own window, never through the provider's code.
"""

import asyncio
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from e2e.bed.api import Api
from e2e.bed.bed import Bed
from e2e.bed.errors import BedError
from e2e.bed.providers import apply_all
from e2e.pve.client import SimulatedVm
from e2e.pve.cloudinit import CloudInit

Object = dict[str, Any]
KINDS = "machines,proxmoxmachines,ipaddressclaims.ipam.cluster.x-k8s.io,ipaddresses.ipam.cluster.x-k8s.io"
POLL_SECONDS = 0.5
# capmox may start a machine twice, and rests for 60 s after the failure of the second start.
PROVISIONED_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with what answered it; `address` is None while it waits."""

    name: str
    pool: str
    address: str | None


@dataclass(frozen=True, slots=True)
class Machine:
    """`state` is capmox's own word for where it is; `addresses` are the InternalIPs of Machine.status."""

    name: str
    state: str
    provisioned: bool
    addresses: tuple[str, ...]
    claims: tuple[Claim, ...]


def apply(bed: Bed, items: Iterable[Object]) -> None:
    """Apply manifests, namespaces first. Raises BedError naming the object that was refused."""

    async def run() -> None:
        async with Api.from_kubeconfig(bed.kubeconfig) as api:
            await apply_all(api, items)

    asyncio.run(run())


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def machines(bed: Bed, tenant: str) -> list[Machine]:
    """The namespace's ProxmoxMachines by name."""
    items = json.loads(bed.kubectl("get", KINDS, "--namespace", tenant, "--output", "json"))["items"]
    return gather(items)


def gather(items: Iterable[Object]) -> list[Machine]:
    """Put together what belongs together: Machines and claims by owner, addresses by the claim's reference."""
    by_kind: dict[str, dict[str, Object]] = {}
    for item in items:
        by_kind.setdefault(item["kind"], {})[item["metadata"]["name"]] = item
    found = []
    for name, machine in sorted(by_kind.get("ProxmoxMachine", {}).items()):
        status = machine.get("status", {})
        states = [each for each in status.get("conditions", ()) if each["type"] == "VirtualMachineProvisioned"]
        owner = by_kind.get("Machine", {}).get(_owner(machine, "Machine"), {})
        listed = owner.get("status", {}).get("addresses", ())
        claims = [each for each in by_kind.get("IPAddressClaim", {}).values() if _owner(each, "ProxmoxMachine") == name]
        found.append(
            Machine(
                name=name,
                state=states[0]["reason"] if states else "New",
                provisioned=status.get("initialization", {}).get("provisioned", False),
                addresses=tuple(each["address"] for each in listed if each["type"] == "InternalIP"),
                claims=tuple(_claim(each, by_kind.get("IPAddress", {})) for each in claims),
            )
        )
    return found


def wait_provisioned(bed: Bed, tenant: str, count: int, timeout: float = PROVISIONED_SECONDS) -> list[Machine]:
    """Until that many machines are provisioned and Cluster API shows an address of each. Raises BedError."""
    deadline = time.monotonic() + timeout
    while True:
        seen = machines(bed, tenant)
        if len(seen) == count and all(each.provisioned and each.addresses for each in seen):
            return seen
        if time.monotonic() > deadline:
            states = ", ".join(f"{each.name} {each.state}" for each in seen) or "none"
            raise BedError(f"{tenant}: not {count} machines provisioned after {timeout:.0f} s: {states}")
        time.sleep(POLL_SECONDS)


def wait_gone(bed: Bed, tenant: str, kinds: str, timeout: float = 120.0) -> None:
    """Until the namespace has no object of these kinds (kubectl's words, comma separated). Raises BedError."""
    deadline = time.monotonic() + timeout
    while left := bed.kubectl("get", kinds, "--namespace", tenant, "--output", "name").split():
        if time.monotonic() > deadline:
            raise BedError(f"{tenant}: still there after {timeout:.0f} s: {', '.join(left)}")
        time.sleep(POLL_SECONDS)


def guest(bed: Bed, name: str) -> tuple[SimulatedVm, CloudInit]:
    """The machine's VM in Proxmox, and what its guest read from the cloud-init ISO."""
    if bed.pve is None:
        raise BedError("this bed has no simulated PVE")
    client = bed.pve.client
    vm = client.vm(name)
    return vm, client.cloud_init(vm)


def _owner(item: Object, kind: str) -> str:
    owners = item["metadata"].get("ownerReferences", ())
    return next((str(owner["name"]) for owner in owners if owner["kind"] == kind), "")


def _claim(claim: Object, addresses: dict[str, Object]) -> Claim:
    answered = claim.get("status", {}).get("addressRef", {}).get("name", "")
    address = addresses.get(answered, {}).get("spec", {}).get("address")
    return Claim(claim["metadata"]["name"], claim["spec"]["poolRef"]["name"], address)
