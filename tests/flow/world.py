"""A small world for the simulation: pools of a network and plain ones, claims that come and go, and its rules.

All of it happens by chance of a seed. `Watchful` looks at every write, `faults_at_rest` at the end.
"""

import random
from collections import defaultdict
from datetime import timedelta
from typing import Any

from provider.api.ipam import CLUSTER_LABEL, PAUSED_ANNOTATION
from provider.api.times import parse_time
from provider.core.addresses import Family, parse_address, parse_entries
from provider.core.books import BookSpec
from provider.edge.kube.errors import KubeError
from provider.edge.kube.resources import ADDRESSES, BLOCKS, CLAIMS, CLUSTERS, GLOBAL_POOLS, POOLS, Resource
from tests.flow.store import Json, Store

HOME = "team"
NETWORK = BookSpec(
    "network/team/net/IPv4",
    Family.IPv4,
    parse_entries(["10.0.0.250-10.0.1.5"]).ranges,
    16,
    "10.0.0.1",
    parse_entries(["10.0.0.1-10.0.2.255"]).ranges,
    holds_in_book=True,
    reuse_seconds=3,
)
NEVER = {"10.0.0.1", "10.9.0.1", "10.9.0.3", "fd00::"}
"""Gateways, an exclusion, and the anycast address of a subnet."""
POOLS_BY_NAME: dict[str, Json] = {
    "one-v4-icip": {"addresses": ["10.0.0.250-10.0.1.5"], "prefix": 16, "gateway": "10.0.0.1"},
    "two-v4-icip": {"addresses": ["10.0.0.253-10.0.1.2"], "prefix": 16, "gateway": "10.0.0.1"},
    "plain": {
        "addresses": ["10.9.0.1-10.9.0.6"],
        "prefix": 24,
        "gateway": "10.9.0.1",
        "excludedAddresses": ["10.9.0.3"],
    },
}
REUSE = ("addressReuseGracePeriodSeconds", (0, 0, 3))


class World:
    """What tenants and admins do."""

    def __init__(self, store: Store, chance: random.Random) -> None:
        self.store = store
        self.chance = chance
        self.story: list[str] = []
        for name in POOLS_BY_NAME:
            self._make_pool(name)
        self._create(
            GLOBAL_POOLS, {"metadata": {"name": "all"}, "spec": {"addresses": ["fd00::-fd00::4"], "prefix": 64}}, None
        )
        self._create(CLUSTERS, {"metadata": {"name": "c"}, "spec": {}}, HOME)

    def step(self) -> None:
        """One thing that somebody does."""
        acts = (
            [self.claims] * 10
            + [self.drop_claim] * 6
            + [self.hand_made] * 1
            + [self.drop_address] * 1
            + [self.pause] * 1
            + [self.edit_range] * 1
            + [self.drop_pool] * 1
        )
        self.chance.choice(acts)()

    def claims(self) -> None:
        """One, or a cluster's worth at once: then several want the same address at the same moment."""
        for _ in range(self.chance.choice((1, 1, 2, 5))):
            self._claim()

    def _claim(self) -> None:
        pool = self.chance.choice([*POOLS_BY_NAME, "all"])
        name = f"m{self.chance.randrange(20)}"
        kind = "GlobalInClusterIPPool" if pool == "all" else "InClusterIPPool"
        labels = {CLUSTER_LABEL: "c"} if self.chance.random() < 0.3 else {}
        spec = {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": kind, "name": pool}}
        self._create(CLAIMS, {"metadata": {"name": name, "labels": labels}, "spec": spec}, HOME)

    def drop_claim(self) -> None:
        self._delete(CLAIMS)

    def drop_address(self) -> None:
        self._delete(ADDRESSES)

    def hand_made(self) -> None:
        """An IPAddress that somebody made, named like a claim that may come, or not."""
        name = f"m{self.chance.randrange(20)}"
        pool = self.chance.choice([*POOLS_BY_NAME])
        if (CLAIMS.plural, HOME, name) in self.store.objects:
            return
        first, _, last = POOLS_BY_NAME[pool]["addresses"][0].partition("-")
        low, high = parse_address(first)[1], parse_address(last)[1]
        number = self.chance.randrange(low + 1, high + 1)
        address = f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        if address in NEVER or any(
            item["spec"]["address"] == address for item in self.store.list(ADDRESSES, None, None)
        ):
            return
        spec = {
            "claimRef": {"name": name},
            "poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": pool},
            "address": address,
            "prefix": 24,
        }
        self._create(ADDRESSES, {"metadata": {"name": name}, "spec": spec}, HOME)

    def pause(self) -> None:
        if self.chance.random() < 0.5:
            paused = not self.store.get(CLUSTERS, "c", HOME)["spec"].get("paused", False)
            self._patch(CLUSTERS, "c", {"spec": {"paused": paused}})
        else:
            name = self.chance.choice([*POOLS_BY_NAME])
            mark = self.chance.choice(["", None])
            self._patch(POOLS, name, {"metadata": {"annotations": {PAUSED_ANNOTATION: mark}}})

    def edit_range(self) -> None:
        last = self.chance.randrange(2, 9)
        self._patch(POOLS, "plain", {"spec": {"addresses": [f"10.9.0.1-10.9.0.{last}"]}})

    def drop_pool(self) -> None:
        name = self.chance.choice([*POOLS_BY_NAME])
        if (POOLS.plural, HOME, name) not in self.store.objects:
            self._make_pool(name)
        elif self.chance.random() < 0.3:
            self._try("delete", POOLS, name, lambda: self.store.delete(POOLS, name, HOME, None))

    def calm(self) -> None:
        """Take away all that rightly keeps claims from being answered."""
        self._patch(CLUSTERS, "c", {"spec": {"paused": False}})
        for name in POOLS_BY_NAME:
            self._patch(POOLS, name, {"metadata": {"annotations": {PAUSED_ANNOTATION: None}}})

    def _make_pool(self, name: str) -> None:
        spec = {**POOLS_BY_NAME[name], REUSE[0]: self.chance.choice(REUSE[1])}
        self._create(POOLS, {"metadata": {"name": name}, "spec": spec}, HOME)

    def _create(self, resource: Resource, body: Json, namespace: str | None) -> None:
        body = {"apiVersion": resource.api_version, "kind": resource.kind, **body}
        name = body["metadata"]["name"]
        self._try("create", resource, name, lambda: self.store.create(resource, body, namespace))

    def _delete(self, resource: Resource) -> None:
        names = [item["metadata"]["name"] for item in self.store.list(resource, HOME, None)]
        if names:
            name = self.chance.choice(names)
            self._try("delete", resource, name, lambda: self.store.delete(resource, name, HOME, None))

    def _patch(self, resource: Resource, name: str, patch: Json) -> None:
        self._try(f"patch {patch}", resource, name, lambda: self.store.patch(resource, name, patch, HOME, None))

    def _try(self, verb: str, resource: Resource, name: str, act: Any) -> None:
        try:
            act()
            self.story.append(f"{verb} {resource.kind} {name}")
        except KubeError as error:
            self.story.append(f"{verb} {resource.kind} {name}: {error}")


def space_of(address: Json) -> str:
    """Addresses of one space must differ: the network's pools share one."""
    pool = address["spec"]["poolRef"]["name"]
    return "net" if pool.endswith("-icip") else str(pool)


class Watchful:
    """Looks at every IPAddress as it is written: no machine may ever be shown an address that another one has."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.breaches: list[str] = []
        self._had: dict[str, tuple[str, tuple[str, str]]] = {}
        self._left: dict[tuple[str, str], tuple[str, str]] = {}
        """Address -> name and end of the claim that had it last."""
        store.listeners.append(self._look)

    def _look(self, plural: str, event: str, item: Json) -> None:
        meta = item["metadata"]
        if plural == CLAIMS.plural and "deletionTimestamp" in meta and meta["uid"] in self._had:
            self._left[self._had[meta["uid"]][1]] = meta["name"], meta["deletionTimestamp"]
        if plural == POOLS.plural and event == "DELETED":
            # Its claims have nothing any more, and may get anything from its successor.
            self._had = {uid: had for uid, had in self._had.items() if had[0] != meta["name"]}
        if plural == ADDRESSES.plural:
            given = event == "ADDED" and meta.get("ownerReferences")
            if given and item["spec"]["address"] in NEVER:
                self.breaches.append(f"{meta['name']} got {item['spec']['address']}, which is never given")
            claim = self.store.objects.get((CLAIMS.plural, meta["namespace"], meta["name"]))
            if claim is not None:
                self._look_at_claim(claim)
        elif plural == CLAIMS.plural and event == "DELETED":
            self._had.pop(meta["uid"], None)
        elif plural == CLAIMS.plural:
            self._look_at_claim(item)

    def _look_at_claim(self, claim: Json) -> None:
        """The claim's status is what hands the address over; from then on a machine has it."""
        mine = self._handed(claim)
        if mine is None:
            return
        name, pool = claim["metadata"]["name"], claim["spec"]["poolRef"]["name"]
        _, before = self._had.setdefault(claim["metadata"]["uid"], (pool, mine))
        if before != mine:
            self.breaches.append(f"claim {name} had {before[1]}, and now it has {mine[1]}")
        self._look_at_rest(name, mine)
        for (plural, _, _), other in self.store.objects.items():
            if plural == CLAIMS.plural and other["metadata"]["uid"] != claim["metadata"]["uid"]:
                theirs = self._handed(other)
                if theirs is not None and theirs == mine:
                    self.breaches.append(f"claims {name} and {other['metadata']['name']} both have {mine[1]}")

    def _look_at_rest(self, name: str, mine: tuple[str, str]) -> None:
        """The network's addresses rest as long as the network says, whatever becomes of the pool they came from."""
        before, end = self._left.get(mine, (name, ""))
        rest = timedelta(seconds=NETWORK.reuse_seconds)
        if mine[0] == "net" and before != name and parse_time(self.store.now()) < parse_time(end) + rest:
            self.breaches.append(f"claim {name} got {mine[1]}, which claim {before} gave back at {end}")

    def _handed(self, claim: Json) -> tuple[str, str] | None:
        if "deletionTimestamp" in claim["metadata"]:
            return None  # its machine is gone, and nobody can be handed anything by it any more
        name = ((claim.get("status") or {}).get("addressRef") or {}).get("name")
        address = self.store.objects.get((ADDRESSES.plural, claim["metadata"]["namespace"], name or ""))
        return (space_of(address), address["spec"]["address"]) if address is not None else None


def faults_at_rest(store: Store) -> list[str]:
    """What is wrong when nothing happens any more and nothing was in the way."""
    found: list[str] = []
    addresses = {item["metadata"]["name"]: item for item in store.list(ADDRESSES, None, None)}
    claims = {item["metadata"]["name"]: item for item in store.list(CLAIMS, None, None)}
    pools = {item["metadata"]["name"]: item for item in store.list(POOLS, None, None)}
    booked: dict[str, dict[str, Json]] = defaultdict(dict)
    for block in store.list(BLOCKS, None, None):
        base = parse_address(block["spec"]["first"])[1]
        book = block["spec"]["book"]
        space = "net" if book.startswith("network/") else book.rpartition("/")[2]
        for offset, entry in (block["spec"].get("entries") or {}).items():
            if entry["state"] == "Allocated":
                booked[space][str(base + int(offset))] = entry
    seen: dict[tuple[str, str], str] = {}
    # What people make by hand at the moment it is given to a claim cannot be prevented, only reported.
    by_hand = {name for name, item in addresses.items() if not item["metadata"].get("ownerReferences")}
    for name, address in sorted(addresses.items(), key=lambda pair: pair[0] in by_hand):
        where = space_of(address), address["spec"]["address"]
        if where in seen and name in by_hand:
            continue
        if where in seen:
            found.append(f"IPAddresses {name} and {seen[where]} both have {where[1]}")
        seen[where] = name
        number = str(parse_address(where[1])[1])
        entry = booked[where[0]].pop(number, None)
        pool = address["spec"]["poolRef"]["name"]
        if entry is None and (pool in pools or pool == "all"):
            found.append(f"IPAddress {name} with {where[1]} is in no book")
        elif entry is not None and entry["holder"].rpartition("/")[2] != name and name not in by_hand:
            found.append(f"IPAddress {name} with {where[1]} is booked for {entry['holder']}")
    # A claim that failed for a reason that somebody has to mend keeps its place in the book.
    failed = {item["metadata"]["uid"] for item in claims.values() if _reason(item) == "AllocationFailed"}
    for space, entries in booked.items():
        # A book whose pool is gone stays while a hand-made IPAddress names that pool; nobody can be given from it.
        if space not in ("net", "all") and space not in pools:
            continue
        for number, entry in entries.items():
            if entry.get("uid") in failed:
                continue
            found.append(f"{space}: {int(number):#x} is held for {entry['holder']}, which has no such IPAddress")
    for name, claim in claims.items():
        found.extend(_claim_at_rest(name, claim, addresses, pools))
    return found


def _reason(claim: Json) -> str:
    conditions = (claim.get("status") or {}).get("conditions") or []
    return next((str(item["reason"]) for item in conditions if item["type"] == "Ready"), "")


def _claim_at_rest(name: str, claim: Json, addresses: dict[str, Json], pools: dict[str, Json]) -> list[str]:
    if "deletionTimestamp" in claim["metadata"]:
        return [f"claim {name} is never released"]
    status = claim.get("status") or {}
    ready = next((item for item in status.get("conditions") or [] if item["type"] == "Ready"), None)
    if (status.get("addressRef") or {}).get("name"):
        if name not in addresses:
            return [f"claim {name} points to an IPAddress that is not there"]
        return []
    pool = claim["spec"]["poolRef"]["name"]
    if ready is None:
        return [f"claim {name} is forgotten"]
    if ready["reason"] == "PoolExhausted":
        total = {"one-v4-icip": 12, "two-v4-icip": 6, "all": 4}.get(pool)
        used = sum(1 for item in addresses.values() if space_of(item) == ("net" if pool.endswith("-icip") else pool))
        if total is not None and used < total and pool != "two-v4-icip":
            return [f"claim {name} waits for {pool} although {used} of {total} are used"]
        return []
    if ready["reason"] == "PoolNotReady" and (pool not in pools or "deletionTimestamp" in pools[pool]["metadata"]):
        return []
    if ready["reason"] == "AllocationFailed":
        return [] if name in addresses else [f"claim {name} failed for no reason: {ready['message']}"]
    return [f"claim {name} is not answered: {ready['reason']} {ready['message']}"]


def described(store: Store) -> list[str]:
    """What there is at the end, for the reader of a broken history."""
    lines: list[str] = []
    for claim in store.list(CLAIMS, None, None):
        meta, status = claim["metadata"], claim.get("status") or {}
        ready = [f"{item['reason']}: {item['message']}" for item in status.get("conditions") or []]
        gone = " deleted" if "deletionTimestamp" in meta else ""
        lines.append(f"claim {meta['name']} {meta['uid']} of {claim['spec']['poolRef']['name']}{gone} {ready}")
    for address in store.list(ADDRESSES, None, None):
        meta = address["metadata"]
        owners = [owner["uid"] for owner in meta.get("ownerReferences") or []]
        lines.append(
            f"IPAddress {meta['name']} {address['spec']['address']} of {address['spec']['poolRef']['name']} {owners}"
        )
    for block in store.list(BLOCKS, None, None):
        entries = {
            f"{offset}": f"{entry['state']} {entry['holder']} {entry.get('uid')}"
            for offset, entry in (block["spec"].get("entries") or {}).items()
        }
        lines.append(f"block {block['spec']['book']} {block['spec']['first']} {entries}")
    return lines
