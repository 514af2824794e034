"""`python -m tests.flow.demand --histories 500`: networks on demand by chance, and at times two processes that lead.

What must hold at every write: no two networks have one VLAN of a bridge, or overlapping subnets, in force; and what a
network has in force is written down as its own, until it is deleted. At rest: every network has a place, or there is
none, and when all networks are gone nothing is written down any more.
"""

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence
from typing import Any

from provider.core.addresses import parse_cidr
from provider.edge.kube.errors import KubeError
from provider.edge.kube.resources import NAMESPACES, NETWORK_BLOCKS, NETWORKS, POOLS, ZONES
from tests.flow.faults import Faults
from tests.flow.simulate import PATIENCE, quiet
from tests.flow.simulated_time import run
from tests.flow.store import Json, Store
from tests.flow.tables import Run

HOMES, BRIDGE, STEPS = ("red", "blue"), "vmbr0", 30
NAMES = ("a", "b", "c", "d")
RANGES = ((1, 3), (2, 5), (250, 258), (1, 1))
CIDRS = ("10.0.0.0/22", "10.0.0.0/23", "10.255.252.0/22", "10.0.2.0/23")
REFUSED = ("ZoneExhausted", "NamespaceNotAllowed", "ZoneNotFound", "VLANConflict")


class Watchful:
    """Looks at every write of a network's status."""

    def __init__(self, store: Store) -> None:
        self.store, self.breaches = store, list[str]()
        self._force: dict[tuple[str, str], Json] = {}
        store.listeners.append(self._look)

    def _look(self, plural: str, event: str, item: Json) -> None:
        if plural != NETWORKS.plural:
            return
        key = (item["metadata"]["namespace"], item["metadata"]["name"])
        status = {} if event == "DELETED" else item.get("status") or {}
        self._force[key] = status
        if not status.get("bridge"):
            return
        for other, known in self._force.items():
            if other != key and known.get("bridge") == status["bridge"] and known.get("vlan") == status["vlan"]:
                self.breaches.append(f"{key} and {other} both have VLAN {status['vlan']} in force")
            if other != key and known.get("cidr") and overlap(known["cidr"], status["cidr"]):
                self.breaches.append(f"{key} and {other} have {status['cidr']} and {known['cidr']} in force")
        if "deletionTimestamp" in item["metadata"]:
            # Its place was returned before its finalizer goes; in between a second leader may write its last words.
            return
        held = written(self.store)
        mine = (item["metadata"]["uid"], f"ProxmoxNetwork/{'/'.join(key)}")
        for place in (f"vlan/{status['bridge']} {status['vlan']}", f"space/IPv4 {status['cidr']}"):
            if held.get(place) != mine:
                self.breaches.append(f"{key} has {place} in force, but written down is {held.get(place)}")


def overlap(one: str, other: str) -> bool:
    (first, last), (start, end) = parse_cidr(one)[1], parse_cidr(other)[1]
    return max(first, start) <= min(last, end)


def written(store: Store) -> dict[str, tuple[str, str]]:
    """Place -> uid and holder."""
    return {
        f"{block['spec']['book']} {key}": (entry["uid"], entry["holder"])
        for block in store.list(NETWORK_BLOCKS, None, None)
        for key, entry in (block["spec"].get("entries") or {}).items()
    }


class Tenants:
    """What tenants do with networks, and the admin with zones."""

    def __init__(self, store: Store, chance: random.Random) -> None:
        self.store, self.chance, self.story = store, chance, list[str]()
        for name in HOMES:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tenant": "yes"}}}
            store.create(NAMESPACES, body, None)
        for zone in ("one", "two"):
            body = {"apiVersion": ZONES.api_version, "kind": ZONES.kind, "metadata": {"name": zone}}
            store.create(ZONES, {**body, "spec": self._spec()}, None)

    def _spec(self) -> Json:
        first, last = self.chance.choice(RANGES)
        spec: Json = {
            "bridge": BRIDGE, "networks": {}, "addressReuseSeconds": 0,
            "namespaceSelector": {"matchLabels": {"tenant": "yes"}},
            "vlanRanges": [{"first": first, "last": last}], "reservedVLANs": [self.chance.choice((2, 3, 255))],
            "addressSpace": {"ipv4": {"cidrs": [self.chance.choice(CIDRS)], "networkPrefix": 24}},
        }  # fmt: skip
        if self.chance.random() < 0.3:
            pin = {"namespace": "red", "network": "a", "vlan": self.chance.choice((3, 9))}
            spec["staticAssignments"] = [pin]
        return spec

    def step(self) -> None:
        acts = [self.ask] * 8 + [self.drop] * 5 + [self.edit, self.label]
        self.chance.choice(acts)()

    def ask(self) -> None:
        home, name, zone = self.chance.choice(HOMES), self.chance.choice(NAMES), self.chance.choice(("one", "two"))
        request = self.chance.choice(({}, {}, {"ipv4": {"prefix": self.chance.choice((23, 25, 29))}}))
        body = {
            "apiVersion": NETWORKS.api_version, "kind": NETWORKS.kind, "metadata": {"name": name},
            "spec": {"zone": zone, **request},
        }  # fmt: skip
        self._try(f"{home} asks for {name} in {zone} {request}", lambda: self.store.create(NETWORKS, body, home))

    def drop(self) -> None:
        home = self.chance.choice(HOMES)
        names = [item["metadata"]["name"] for item in self.store.list(NETWORKS, home, None)]
        if names:
            name = self.chance.choice(names)
            self._try(f"{home} drops {name}", lambda: self.store.delete(NETWORKS, name, home, None))

    def edit(self) -> None:
        zone, spec = self.chance.choice(("one", "two")), self._spec()
        patch = {"spec": {"staticAssignments": None, **spec}}
        self._try(f"{zone}: {spec}", lambda: self.store.patch(ZONES, zone, patch, None, None))

    def label(self) -> None:
        home, value = self.chance.choice(HOMES), self.chance.choice(("yes", "yes", "no"))
        patch = {"metadata": {"labels": {"tenant": value}}}
        self._try(f"{home} is labelled {value}", lambda: self.store.patch(NAMESPACES, home, patch, None, None))

    def _try(self, what: str, act: Any) -> None:
        try:
            act()
            self.story.append(what)
        except KubeError as error:
            self.story.append(f"{what}: {error}")


def faults_at_rest(store: Store) -> list[str]:
    """What is wrong when nothing happens any more."""
    found: list[str] = []
    held = written(store)
    for network in store.list(NETWORKS, None, None):
        status, name = network.get("status") or {}, f"{network['metadata']['namespace']}/{network['metadata']['name']}"
        ready = next((each for each in status.get("conditions", ()) if each["type"] == "Ready"), {"reason": "nothing"})
        mine = {place for place, (uid, _) in held.items() if uid == network["metadata"]["uid"]}
        if "deletionTimestamp" in network["metadata"]:
            found.append(f"network {name} does not go: {ready}")
        elif ready["reason"] not in ("Ready", *REFUSED):
            found.append(f"network {name} says {ready}")
        elif status.get("bridge") and mine != {f"vlan/{BRIDGE} {status['vlan']}", f"space/IPv4 {status['cidr']}"}:
            found.append(f"network {name} has {status['vlan']} and {status['cidr']}, and holds {mine}")
        elif not status.get("bridge") and mine:
            found.append(f"network {name} has nothing, and holds {mine}")
    living = {network["metadata"]["uid"] for network in store.list(NETWORKS, None, None)}
    found += [f"{place} is lost to {holder}" for place, (uid, holder) in held.items() if uid not in living]
    return found


async def history(seed: int) -> tuple[list[str], list[str]]:
    """Play one; gives the breaches and the story."""
    chance = random.Random(seed)
    store = Store(asyncio.get_running_loop().time)
    tenants, watchful = Tenants(store, chance), Watchful(store)
    troubles = (Faults(delay=0.05), Faults(refuse=0.05, lose=0.1, cut=0.05, delay=0.3), Faults(lose=0.2, delay=0.5))
    leaders = [Run(store, chance, chance.choice(troubles))]
    for _ in range(STEPS):
        tenants.step()
        if chance.random() < 0.1 and len(leaders) < 2:
            tenants.story.append("another one thinks that it leads")
            leaders.append(Run(store, chance, chance.choice(troubles)))
        if chance.random() < 0.15:
            chance.choice(leaders).fate.fuse = chance.randrange(1, 8)
        if chance.random() < 0.1:
            chance.choice(leaders).fate.pause(chance.choice((1.0, 5.0)))
        for index, leader in enumerate(leaders):
            if leader.fate.dead:
                tenants.story.append("a process died, another one leads")
                await leader.stop()
                leaders[index] = Run(store, chance, chance.choice(troubles))
        await asyncio.sleep(chance.choice((0.0, 0.05, 0.5, 3.0)))
    for leader in leaders:
        await leader.stop()
    tenants.story.append("calm: one process, no faults")
    last = Run(store, chance, Faults())
    await asyncio.sleep(PATIENCE)
    found = faults_at_rest(store)
    for network in store.list(NETWORKS, None, None):
        store.delete(NETWORKS, network["metadata"]["name"], network["metadata"]["namespace"], None)
    await asyncio.sleep(PATIENCE)
    found += faults_at_rest(store)
    found += [f"{kind.kind} {item['metadata']['name']} is left over" for kind in (NETWORKS, POOLS, NETWORK_BLOCKS)
              for item in store.list(kind, None, None)]  # fmt: skip
    if last.task.done():
        found.append(f"the process ended: {last.task.exception()!r}")
    await last.stop()
    return [*watchful.breaches, *found], tenants.story


def play(seed: int) -> tuple[list[str], list[str]]:
    return run(history(seed))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.flow.demand", description=__doc__)
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
