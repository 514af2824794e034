"""Everything of a tenant is deleted, in every order: nothing hangs, nothing is left, and nothing is taken from anybody.

Namespaces and owner references are followed by the real kube-controller-manager. capmox's kinds are the real ones; its
part is played here: a machine stays until its VM is gone, which is when the test says so.
"""

import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from e2e.bed.binaries import module_dir
from e2e.bed.manifests import files, without_conversion
from e2e.bed.processes import Process
from tests.api.running import install
from tests.api.tenant import Tenant
from tests.api.witness import (
    ADDRESS,
    BLOCK,
    CLAIM,
    CRD,
    EVENT,
    GUARD,
    MACHINE,
    NAMESPACE,
    NETWORK,
    POOL,
    ZONE,
    Json,
    Refused,
    Witness,
    until,
)

_numbers = itertools.count(1)

STEPS = ("table", "network", "pool", "claim", "machine")
FINALIZER = "proxmoxmachine.infrastructure.cluster.x-k8s.io"
SETTLE = 1.5
"""Seconds in which something wrong would happen."""
PATIENCE = 90.0
"""Seconds until all is gone. The garbage collector learns of new kinds every 30 s."""
EVENTS = 12
"""More of one network would be a storm."""


@pytest.fixture(scope="module")
def machines(witness: Witness) -> Iterator[None]:
    """capmox's kind of machines, while this file runs: the other files are about a cluster that has none."""
    kinds = files([module_dir("capmox") / "config/crd/bases/infrastructure.cluster.x-k8s.io_proxmoxmachines.yaml"])
    install(witness, [without_conversion(kind) for kind in kinds])
    yield
    for machine in witness.list(MACHINE):  # of a test that failed
        names = machine["metadata"]
        witness.patch(MACHINE, names["namespace"], names["name"], {"metadata": {"finalizers": []}})
    for kind in kinds:
        witness.delete(CRD, None, kind["metadata"]["name"])
    until(lambda: all(witness.find(CRD, None, kind["metadata"]["name"]) is None for kind in kinds), "the kind is gone")


@dataclass
class World:
    """A tenant with one network of one zone, and a machine on it that has an address."""

    tenant: Tenant
    order: tuple[str, ...]
    row: bool
    number: int = field(default_factory=lambda: next(_numbers))
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        space = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}
        rows = {self.tenant.namespace: [{"name": "blue", "vlan": 107, "ipv4": space}]}
        spec = {"bridge": self.bridge, "networks": rows, "addressReuseSeconds": 0}
        self.tenant.witness.create({"kind": ZONE, "metadata": {"name": self.zone}, "spec": spec})

    def __str__(self) -> str:
        table = " (the row alone)" if self.row else ""
        return f"{self.tenant.namespace}: {' > '.join(self.order)}{table}, done {self.done}"

    @property
    def zone(self) -> str:
        return f"orders-{self.number}"

    @property
    def bridge(self) -> str:
        return f"orders{self.number}"

    def ready(self) -> bool:
        return self._condition().get("status") == "True"

    def _condition(self) -> Json:
        network = self.tenant.find(NETWORK, "blue") or {}
        conditions: list[Json] = network.get("status", {}).get("conditions", [])
        return next((item for item in conditions if item["type"] == "Ready"), {})

    def machine(self, name: str = "m") -> Json:
        nic = {"name": "net0", "bridge": self.bridge, "vlan": 107}
        spec = {"sourceNode": "pve1", "templateID": 9000, "network": {"networkDevices": [nic]}}
        metadata = {"name": name, "namespace": self.tenant.namespace, "finalizers": [FINALIZER]}
        return self.tenant.witness.create({"kind": MACHINE, "metadata": metadata, "spec": spec})

    def populate(self) -> None:
        """A machine and its claim, as capmox makes them. The line is there when the network is ready, but seen late."""
        made = until(self._machine_made, f"a machine may be made in {self.tenant.namespace}")
        assert made is not None
        owner = {
            "apiVersion": made["apiVersion"], "kind": MACHINE, "name": "m", "uid": made["metadata"]["uid"],
            "controller": True, "blockOwnerDeletion": True,
        }  # fmt: skip
        metadata = {"name": "m-net0-00-inet", "namespace": self.tenant.namespace, "ownerReferences": [owner]}
        reference = self.tenant.pool_ref("blue-inet").reference
        self.tenant.witness.create({"kind": CLAIM, "metadata": metadata, "spec": {"poolRef": reference}})

    def _machine_made(self) -> Json | None:
        try:
            return self.machine()
        except Refused:
            return None

    def step(self, name: str) -> None:
        """Somebody deletes one of the things."""
        self.done.append(name)
        tenant, witness = self.tenant, self.tenant.witness
        match name:
            case "namespace":
                witness.delete(NAMESPACE, None, tenant.namespace)
            case "table" if self.row:
                witness.patch(ZONE, None, self.zone, {"spec": {"networks": {tenant.namespace: None}}})
            case "table":
                witness.delete(ZONE, None, self.zone)
            case "network":
                tenant.delete(NETWORK, "blue")
            case "pool":
                tenant.delete(POOL, "blue-inet")
            case "claim":
                tenant.delete(CLAIM, "m-net0-00-inet")
            case "machine":
                tenant.delete(MACHINE, "m")
                if tenant.find(MACHINE, "m") is not None:
                    tenant.patch(MACHINE, "m", {"metadata": {"finalizers": []}})

    def check(self) -> None:
        """Who is there still has what it had, and is named as what holds the network."""
        machine = "machine" not in self.done
        claim = not {"claim", "machine", "namespace"} & {*self.done}
        network = self.tenant.find(NETWORK, "blue")
        if machine or claim:
            assert network is not None, f"{self}: the network is gone"
            assert (network["status"]["bridge"], network["status"].get("vlan")) == (self.bridge, 107), str(self)
        if claim:
            assert self.tenant.text_of("m-net0-00-inet") == "10.0.0.10", f"{self}: the address is gone"
            assert self.tenant.find(POOL, "blue-inet") is not None, f"{self}: the pool is gone"
        if (machine or claim) and {"table", "network", "namespace"} & {*self.done}:
            reason = "Terminating" if {"network", "namespace"} & {*self.done} else "InUse"
            until(lambda: self._names_holders(reason, machine=machine, claim=claim), f"{self}: holders are told")

    def _names_holders(self, reason: str, *, machine: bool, claim: bool) -> bool:
        said = self._condition()
        text = said.get("message", "")
        holder = f"10.0.0.10 (IPAddressClaim/{self.tenant.namespace}/m-net0-00-inet)"
        who = ("1 ProxmoxMachine(s) on it are gone: m" in text) is machine and (holder in text) is claim
        return said.get("reason") == reason and who

    def left(self) -> list[str]:
        """What of ours is there yet."""
        tenant, witness, namespace = self.tenant, self.tenant.witness, self.tenant.namespace
        kinds = (NETWORK, POOL, CLAIM, ADDRESS, MACHINE)
        found = [f"{kind} {item['metadata']['name']}" for kind in kinds for item in witness.list(kind, namespace)]
        home = witness.find(NAMESPACE, None, namespace)
        if home is not None and "namespace" in self.done:
            found.append(f"Namespace {namespace}")
        if home is not None and "proxmox.cozystack.io/networks" in home["metadata"].get("annotations", {}):
            found.append("the namespace's line")
        books = {block["spec"]["book"] for block in witness.list(BLOCK)}
        found += [book for book in books if book.startswith(f"network/{tenant.namespace}/")]
        if not self.row:
            guard = f"pxnet-system-zone-{self.zone}"
            found += [name for kind, name in ((ZONE, self.zone), (GUARD, guard)) if witness.find(kind, None, name)]
        return found

    def calm(self) -> None:
        """Not more Events than things happened."""
        events = self.tenant.witness.list(EVENT, self.tenant.namespace)
        assert len([each for each in events if each["involvedObject"]["kind"] == NETWORK]) <= EVENTS, str(self)


def made(witness: Witness, orders: list[tuple[str, ...]]) -> list[World]:
    """A world for each order, with everything in place; in every second one a row is removed instead of the zone."""
    worlds = []
    for number, order in enumerate(orders):
        tenant = Tenant.create(witness, f"orders-{next(_numbers)}")
        worlds.append(World(tenant, order, row=number % 2 == 1))
    for world in worlds:
        until(world.ready, f"{world}: the network is ready", 60.0)
        world.populate()
    for world in worlds:
        assert world.tenant.answered("m-net0-00-inet") == "10.0.0.10"
    return worlds


def play(worlds: list[World]) -> None:
    """One step in each world, a look at what became of it, the next step, and at the end everything is gone."""
    for number in range(len(worlds[0].order)):
        for world in worlds:
            world.step(world.order[number])
        time.sleep(SETTLE)
        for world in worlds:
            world.check()
    deadline = time.monotonic() + PATIENCE
    for world in worlds:
        until(lambda world=world: not world.left(), f"{world}: all is gone", max(deadline - time.monotonic(), 1.0))  # type: ignore[misc]
        world.calm()
    for world in worlds:
        world.tenant.witness.delete(ZONE, None, world.zone)
        world.tenant.witness.delete(NAMESPACE, None, world.tenant.namespace)


@pytest.mark.parametrize("first", STEPS)
def test_every_order_in_a_namespace_that_stays(witness: Witness, machines: None, provider: Process, first: str) -> None:
    rest = [step for step in STEPS if step != first]
    play(made(witness, [(first, *order) for order in itertools.permutations(rest)]))


@pytest.mark.parametrize("place", range(6))
def test_the_namespace_goes_before_between_and_after(
    witness: Witness, machines: None, provider: Process, place: int
) -> None:
    orders = random.Random(place).sample([*itertools.permutations(STEPS)], 8)
    play(made(witness, [(*order[:place], "namespace", *order[place:]) for order in orders]))
