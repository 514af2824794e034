"""One tenant, one network, two clusters whose ProxmoxClusters both carry the network's range: in every variant.

Variants are capmox's two API versions by IPv4, IPv6 and both. Each is a tenant with a VLAN of its own, and their
networks look the same but for that: one tenant's addresses must never show in another's book.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from e2e.bed.bed import Bed
from e2e.bed.errors import BedError
from e2e.stories.machines import POLL_SECONDS, Machine, machines
from e2e.stories.networks import Entry, Network, addresses, read_book
from e2e.stories.objects import CLUSTER_LABEL, Family, Plan

BRIDGE = "vmbr7"
BOOKS = {"v4": "IPv4", "v6": "IPv6"}


@dataclass(frozen=True, slots=True)
class Variant:
    """`network` is the tenant's, `plans` are the two clusters on it."""

    network: Network
    plans: tuple[Plan, Plan]

    @property
    def tenant(self) -> str:
        return self.network.namespace

    @property
    def machines(self) -> int:
        """How many machines both clusters have."""
        return sum(1 + plan.workers for plan in self.plans)

    @property
    def books(self) -> tuple[str, ...]:
        found = {"IPv4": self.network.ipv4, "IPv6": self.network.ipv6}
        return tuple(self.network.book(name) for name, family in found.items() if family is not None)

    def entries(self, held: Mapping[str, str], state: str = "Allocated") -> dict[str, Entry]:
        """What the books should say of claims that hold, or held, these addresses."""
        return {address: Entry(state, f"{self.tenant}/{claim}") for claim, address in held.items()}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is written down at one moment: the books' entries by address, and the IPAddress objects."""

    entries: Mapping[str, Entry]
    addresses: Mapping[str, str]


def variant(capmox: str, families: str, vlan: int) -> Variant:
    """`families` is "v4", "v6" or "dual"; all tenants have the same addresses, each on its own VLAN."""
    ipv4 = Family(["10.10.0.10-10.10.0.60"], 24, "10.10.0.1")
    ipv6 = Family(["fd00:10::10-fd00:10::60"], 64, "fd00:10::1")
    six = families == "v6"
    network = Network(f"{families}-{capmox}", "blue", vlan, None if six else ipv4, None if families == "v4" else ipv6)

    def plan(name: str, host: int, workers: int) -> Plan:
        return Plan(
            name=name,
            namespace=network.namespace,
            endpoint=f"fd00:10::{host}" if six else f"10.10.0.{host}",
            bridge=BRIDGE,
            vlan=vlan,
            ipv4=network.ipv4,
            ipv6=network.ipv6,
            workers=workers,
            capmox=capmox,
            dns=("fd00:10::53",) if six else ("9.9.9.9",),
        )

    # capmox makes one machine after the other, so workers of both clusters are asked for in one family only.
    return Variant(network, (plan("one", 5, 1), plan("two", 6, 1 if families == "v4" else 0)))


VARIANTS = {
    f"{families}-{capmox}": variant(capmox, families, 107 + number)
    for number, (families, capmox) in enumerate(
        (families, capmox) for families in ("v4", "v6", "dual") for capmox in ("v1alpha2", "v1alpha1")
    )
}


def of_cluster(seen: Iterable[Machine], plan: Plan) -> list[Machine]:
    return [machine for machine in seen if machine.name.startswith(f"{plan.name}-")]


def held_by(seen: Iterable[Machine]) -> dict[str, str]:
    """Claim -> address."""
    return {claim.name: str(claim.address) for machine in seen for claim in machine.claims}


def snapshot(bed: Bed, it: Variant) -> Snapshot:
    entries = {address: entry for book in it.books for address, entry in read_book(bed, book).items()}
    return Snapshot(entries, addresses(bed, it.tenant))


def delete_clusters(
    bed: Bed, variants: Mapping[str, Variant], number: int, timeout: float = 90.0
) -> dict[str, Snapshot]:
    """Delete the first (0) or second (1) cluster of each variant at once.

    Gives what is written down at the moment at which a variant's claims of that cluster have gone. Raises BedError
    when they do not go.
    """
    for it in variants.values():
        bed.kubectl("delete", "cluster", it.plans[number].name, "--namespace", it.tenant, "--wait=false")
    deadline = time.monotonic() + timeout
    found: dict[str, Snapshot] = {}
    while waiting := [name for name in variants if name not in found]:
        for name in waiting:
            it = variants[name]
            if not left_of(bed, it.plans[number], "ipaddressclaims.ipam.cluster.x-k8s.io"):
                found[name] = snapshot(bed, it)
        if time.monotonic() > deadline:
            states = {name: machines(bed, variants[name].tenant) for name in variants if name not in found}
            raise BedError(f"claims of deleted clusters stay: {states}")
        time.sleep(POLL_SECONDS)
    return found


def left_of(bed: Bed, plan: Plan, kinds: str) -> list[str]:
    """Objects of these kinds that carry the cluster's label."""
    selector = f"{CLUSTER_LABEL}={plan.name}"
    return bed.kubectl("get", kinds, "--namespace", plan.namespace, "--selector", selector, "--output", "name").split()


def wait_cluster_gone(bed: Bed, plan: Plan, timeout: float = 60.0) -> None:
    """Until nothing of the cluster is left in the API server, nor a VM of it in Proxmox. Raises BedError."""
    kinds = "clusters,machines,proxmoxclusters,proxmoxmachines,ipaddressclaims.ipam.cluster.x-k8s.io"
    pools = {f"inclusterippool.ipam.cluster.x-k8s.io/{plan.name}-{family}-icip" for family in BOOKS}
    deadline = time.monotonic() + timeout
    while True:
        named = bed.kubectl("get", "inclusterippools", "--namespace", plan.namespace, "--output", "name").split()
        left = [*left_of(bed, plan, kinds), *(pools & set(named))]
        if not left:
            return
        if time.monotonic() > deadline:
            raise BedError(f"cluster {plan.namespace}/{plan.name}: still there after {timeout:.0f} s: {left}")
        time.sleep(POLL_SECONDS)
