"""`python -m tests.flow.tables --histories 500`: zones edited by chance while claims come and go and processes die.

What must hold at every write: two networks never have one address of a segment in force, no network changes its place
or goes while a machine has an address of it, none becomes Ready before its namespace's line says so, and a line is gone
before its pool or its network is. At rest: every table is in force as far as it can be, and nothing is left
over. Two leaders at once are another simulation's matter; here one follows the other.
"""

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence
from typing import Any

from provider.core.addresses import parse_entries
from provider.core.admission.table import NETWORKS_ANNOTATION
from provider.core.ranges import Ranges
from provider.edge.kube.errors import KubeError, NotFound
from provider.edge.kube.resources import (
    ADDRESSES,
    BLOCKS,
    CLAIMS,
    NAMESPACES,
    NETWORKS,
    POLICIES,
    POLICY_BINDINGS,
    POOLS,
    ZONES,
    Resource,
)
from provider.edge.metrics import Metrics
from provider.leading import Leading, Options
from provider.zoning import Zoning
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.simulate import PATIENCE, SilentEvents, quiet
from tests.flow.simulated_time import SimulatedClock, run
from tests.flow.store import Json, Store

HOME, BRIDGE, STEPS = "team", "vmbr0", 30
NAMES = ("a", "b", "c")
RANGES = (
    "10.0.0.10-10.0.0.13",
    "10.0.0.12-10.0.0.15",
    "10.0.0.16-10.0.0.19",
    "10.0.0.10-10.0.0.19",
    "10.0.0.19-10.0.0.9",
)


class Run:
    """One process that leads, with the news of zones and networks brought to it late."""

    def __init__(self, store: Store, chance: random.Random, faults: Faults) -> None:
        self.fate = Fate(random.Random(chance.random()), faults)
        self._chance = random.Random(chance.random())
        self._store = store
        kube, clock, events = FakeKube(store, self.fate), SimulatedClock(), SilentEvents()

        def zoning(leading: Leading) -> Zoning:
            return Zoning(kube, leading.view, leading.books, clock, events, None)  # type: ignore[arg-type]

        self.leading = Leading(kube, clock, events, Metrics(), Options(workers=8), zoning)  # type: ignore[arg-type]
        store.listeners.append(self._bring)
        self.task = asyncio.create_task(self.leading.run())

    def _bring(self, plural: str, _: str, item: Json) -> None:
        resource = next((each for each in (ZONES, NETWORKS) if each.plural == plural), None)
        if resource is not None and not self.fate.dead and self.leading.networks is not None:
            key = (item["metadata"].get("namespace", ""), item["metadata"]["name"])
            delay = self._chance.random() * self.fate.faults.delay
            asyncio.get_running_loop().call_later(delay, self.leading.networks.changed, resource, key)

    async def stop(self) -> None:
        self.fate.dead = True
        self._store.listeners.remove(self._bring)
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class Watchful:
    """Looks at every write of a network."""

    def __init__(self, store: Store) -> None:
        self.store, self.breaches = store, list[str]()
        self._before: dict[str, Json] = {}
        self._going: set[str] = set()
        store.listeners.append(self._look)

    def _look(self, plural: str, event: str, item: Json) -> None:
        name = item["metadata"]["name"]
        if plural == POOLS.plural and "deletionTimestamp" in item["metadata"]:
            uid = item["metadata"]["uid"]
            if uid not in self._going and name in str(lines(self.store)):
                self.breaches.append(f"pool {name} goes, but the namespace may use it: {lines(self.store)}")
            self._going.add(uid)
        if plural != NETWORKS.plural:
            return
        before, after = self._before.get(name, {}), item.get("status") or {}
        self._before[name] = {} if event == "DELETED" else after
        shown = [line for line in lines(self.store) if line[1] == name]
        if event == "DELETED" and shown:
            self.breaches.append(f"network {name} is gone, but the namespace may use it: {shown}")
        if is_ready(after) and not is_ready(before) and [line[2:4] for line in shown] != [tag(after)]:
            self.breaches.append(f"network {name} is ready on {tag(after)}, but the namespace may use {shown}")
        holders = machines(self.store, name)
        if event == "DELETED" and holders:
            self.breaches.append(f"network {name} is gone, but {holders} have addresses of it")
        elif holders and place(before) and place(before) != place(after):
            self.breaches.append(f"network {name} moved from {place(before)} to {place(after)} under {holders}")
        for other, status in self._before.items():
            common = ranges(status).intersection(ranges(after))
            if other != name and status.get("vlan") == after.get("vlan") and common and event != "DELETED":
                self.breaches.append(f"networks {name} and {other} both have {common} in force")


def machines(store: Store, network: str) -> list[str]:
    """Claims that have been handed an address of the network."""
    return [
        claim["metadata"]["name"]
        for claim in store.list(CLAIMS, None, None)
        if claim["spec"]["poolRef"]["name"] == f"{network}-inet"
        and "deletionTimestamp" not in claim["metadata"]
        and (claim.get("status") or {}).get("addressRef")
        and any(each["metadata"]["name"] == claim["metadata"]["name"] for each in store.list(ADDRESSES, None, None))
    ]


def lines(store: Store) -> list[list[str]]:
    """What the namespace may use, as admission reads it."""
    annotations = store.get(NAMESPACES, HOME, None)["metadata"].get("annotations", {})
    return [line.split(" ") for line in annotations.get(NETWORKS_ANNOTATION, "").split("\n") if line]


def is_ready(status: Json) -> bool:
    return any(item["type"] == "Ready" and item["status"] == "True" for item in status.get("conditions", ()))


def tag(status: Json) -> list[str]:
    return [status["bridge"], str(status.get("vlan", "-"))]


def place(status: Json) -> tuple[Any, ...]:
    side = status.get("ipv4") or {}
    return (status.get("bridge"), status.get("vlan"), side.get("gateway"), side.get("prefix")) if side else ()


def ranges(status: Json) -> Ranges:
    side = status.get("ipv4") or {}
    return parse_entries(side["addresses"]).ranges if side else Ranges()


class Admin:
    """What the admin and the tenants do."""

    def __init__(self, store: Store, chance: random.Random) -> None:
        self.store, self.chance, self.story = store, chance, list[str]()
        store.create(NAMESPACES, {"metadata": {"name": HOME}}, None)
        for zone in ("one", "two"):
            self._try(f"zone {zone}", lambda zone=zone: store.create(ZONES, self._zone(zone), None))

    def _zone(self, name: str) -> Json:
        spec: Json = {"bridge": BRIDGE, "networks": {HOME: []}, "addressReuseSeconds": self.chance.choice((0, 0, 5))}
        return {"apiVersion": ZONES.api_version, "kind": ZONES.kind, "metadata": {"name": name}, "spec": spec}

    def step(self) -> None:
        acts = [self.edit] * 6 + [self.claim] * 8 + [self.drop_claim] * 5 + [self.drop_network, self.drop_zone]
        self.chance.choice(acts)()

    def edit(self) -> None:
        zone, name = self.chance.choice(("one", "two")), self.chance.choice(NAMES)
        table = self._table(zone)
        kept = [row for row in table if row["name"] != name]
        if self.chance.random() < 0.8:
            space = {
                "addresses": [self.chance.choice(RANGES)],
                "prefix": self.chance.choice((24, 24, 24, 23)),
                "gateway": self.chance.choice(("10.0.0.1", "10.0.0.1", "10.0.0.2")),
            }
            kept.append({"name": name, "vlan": self.chance.choice((1, 1, 2)), "ipv4": space})
        patch = {"spec": {"networks": {HOME: kept}}}
        self._try(f"{zone}: {kept}", lambda: self.store.patch(ZONES, zone, patch, None, None))

    def _table(self, zone: str) -> list[Json]:
        try:
            return list(self.store.get(ZONES, zone, None)["spec"]["networks"][HOME])
        except NotFound:
            return []

    def claim(self) -> None:
        pool, name = f"{self.chance.choice(NAMES)}-inet", f"m{self.chance.randrange(12)}"
        reference = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": pool}
        body = {
            "apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind,
            "metadata": {"name": name}, "spec": {"poolRef": reference},
        }  # fmt: skip
        self._try(f"claim {name} of {pool}", lambda: self.store.create(CLAIMS, body, HOME))

    def drop_claim(self) -> None:
        self._drop(CLAIMS, HOME)

    def drop_network(self) -> None:
        self._drop(NETWORKS, HOME)

    def drop_zone(self) -> None:
        zone = self.chance.choice(("one", "two"))
        if (ZONES.plural, "", zone) not in self.store.objects:
            self._try(f"zone {zone}", lambda: self.store.create(ZONES, self._zone(zone), None))
        elif self.chance.random() < 0.4:
            self._try(f"drop zone {zone}", lambda: self.store.delete(ZONES, zone, None, None))

    def _drop(self, resource: Resource, namespace: str) -> None:
        names = [item["metadata"]["name"] for item in self.store.list(resource, namespace, None)]
        if names:
            name = self.chance.choice(names)
            self._try(f"drop {resource.kind} {name}", lambda: self.store.delete(resource, name, namespace, None))

    def _try(self, what: str, act: Any) -> None:
        try:
            act()
            self.story.append(what)
        except KubeError as error:
            self.story.append(f"{what}: {error}")


def faults_at_rest(store: Store, *, empty: bool) -> list[str]:
    """What is wrong when nothing happens any more. `empty`: all claims and rows were taken away before."""
    found: list[str] = []
    for claim in store.list(CLAIMS, None, None):
        if "deletionTimestamp" in claim["metadata"]:
            found.append(f"claim {claim['metadata']['name']} is never released")
    for network in store.list(NETWORKS, None, None):
        conditions = {item["type"]: item for item in (network.get("status") or {}).get("conditions", ())}
        ready = conditions.get("Ready", {"reason": "nothing", "status": "False", "message": ""})
        name = network["metadata"]["name"]
        if ready["reason"] in ("nothing", "PoolsPending", "PoolRefused"):
            found.append(f"network {name} says {ready['reason']}: {ready['message']}")
        status = network.get("status") or {}
        shown = [line[2:4] for line in lines(store) if line[1] == name]
        leaving = conditions.get("IPPoolReady", ready)["reason"] in ("InUse", "Terminating")
        if shown != ([tag(status)] if place(status) and not leaving else []):
            found.append(f"network {name} is on {place(status)}, but the namespace may use {shown}")
        waits = ready["reason"] in ("InUse", "Terminating")
        if waits and not any(f"/{HOME}/{holder})" in ready["message"] for holder in holders_of(store)):
            found.append(f"network {name} waits for nobody: {ready['message']}")
    if empty:
        kinds = (NETWORKS, POOLS, ADDRESSES, BLOCKS, POLICIES, POLICY_BINDINGS)
        found += [f"line {line} is left over" for line in lines(store)]
        found += [
            f"{kind.kind} {item['metadata']['name']} is left over"
            for kind in kinds
            for item in store.list(kind, None, None)
        ]
    return found


def holders_of(store: Store) -> list[str]:
    return [claim["metadata"]["name"] for claim in store.list(CLAIMS, None, None)]


async def history(seed: int) -> tuple[list[str], list[str]]:
    """Play one; gives the breaches and the story."""
    chance = random.Random(seed)
    store = Store(asyncio.get_running_loop().time)
    admin, watchful = Admin(store, chance), Watchful(store)
    troubles = (Faults(delay=0.05), Faults(refuse=0.05, lose=0.05, cut=0.05, delay=0.2), Faults(lose=0.2, delay=0.5))
    leader = Run(store, chance, chance.choice(troubles))
    for _ in range(STEPS):
        admin.step()
        if chance.random() < 0.1:
            leader.fate.fuse = chance.randrange(1, 8)
        if leader.fate.dead:
            admin.story.append("a process died, another one leads")
            await leader.stop()
            leader = Run(store, chance, chance.choice(troubles))
        await asyncio.sleep(chance.choice((0.0, 0.05, 0.5, 3.0)))
    await leader.stop()
    admin.story.append("calm: one process, no faults")
    last = Run(store, chance, Faults())
    await asyncio.sleep(PATIENCE)
    found = faults_at_rest(store, empty=False)
    for claim in store.list(CLAIMS, HOME, None):
        store.delete(CLAIMS, claim["metadata"]["name"], HOME, None)
    for zone in store.list(ZONES, None, None):
        store.delete(ZONES, zone["metadata"]["name"], None, None)
    await asyncio.sleep(PATIENCE)
    found += faults_at_rest(store, empty=True)
    if last.task.done():
        found.append(f"the process ended: {last.task.exception()!r}")
    await last.stop()
    return [*watchful.breaches, *found], admin.story


def play(seed: int) -> tuple[list[str], list[str]]:
    return run(history(seed))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.flow.tables", description=__doc__)
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--seed", type=int, help="play this one alone, and tell it")
    options = parser.parse_args(arguments)
    quiet()
    broken = 0
    for seed in range(options.histories) if options.seed is None else [options.seed]:
        breaches, story = play(seed)
        if options.seed is not None:
            print(*story, sep="\n")
        if breaches:
            broken += 1
            print(f"seed {seed}", *(f"  BROKEN: {breach}" for breach in breaches), sep="\n")
    print(f"{broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
