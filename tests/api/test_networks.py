"""A zone's table on a real API server, from the row to the address, with every edit that must strand none."""

import itertools
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.api.tenant import PoolRef, Tenant
from tests.api.witness import BLOCK, CLAIM, EVENT, NAMESPACE, NETWORK, POOL, ZONE, Json, until

_numbers = itertools.count(1)
PAUSED = "cluster.x-k8s.io/paused"


class Table:
    """A zone with a bridge of its own and one namespace in its table."""

    def __init__(self, tenant: Tenant, *rows: Json, **spec: Any) -> None:
        number = next(_numbers)
        self.tenant, self.witness, self.name = tenant, tenant.witness, f"zone-{number}"
        self.bridge = spec.pop("bridge", f"vmbr{number}")
        table = {tenant.namespace: list(rows)}
        spec = {"bridge": self.bridge, "networks": table, "addressReuseSeconds": 0, **spec}
        self.witness.create({"kind": ZONE, "metadata": {"name": self.name}, "spec": spec})

    def write(self, *rows: Json) -> None:
        self.witness.patch(ZONE, None, self.name, {"spec": {"networks": {self.tenant.namespace: list(rows)}}})

    def says(self, status: str, reason: str) -> str:
        return said(lambda: self.witness.get(ZONE, None, self.name), status, reason, f"zone {self.name}")

    def network(self, name: str, status: str, reason: str) -> str:
        """Wait until the network's Ready says this; gives the message."""
        return said(lambda: self.tenant.find(NETWORK, name) or {}, status, reason, f"network {name}")

    def status(self, name: str) -> Json:
        found: Json = self.tenant.get(NETWORK, name).get("status", {})
        return found

    def entries(self, name: str) -> Json:
        """The network's IPv4 book, whose addresses lie in one block."""
        book = f"network/{self.tenant.namespace}/{name}/IPv4"
        (block,) = [block for block in self.witness.list(BLOCK) if block["spec"]["book"] == book]
        found: Json = block["spec"]["entries"]
        return found

    def pool(self, name: str) -> PoolRef:
        return PoolRef(POOL, self.tenant.namespace, name)


def said(look: Any, status: str, reason: str, what: str) -> str:
    def ready() -> Json | None:
        conditions = look().get("status", {}).get("conditions", [])
        found = next((item for item in conditions if item["type"] == "Ready"), None)
        return found if found and (found["status"], found["reason"]) == (status, reason) else None

    condition = until(ready, f"{what} says Ready {status} {reason}")
    assert condition is not None
    return str(condition["message"])


def row(name: str = "blue", vlan: int | None = 107, *addresses: str, **ipv4: Any) -> Json:
    space = {"addresses": [*addresses] or ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1", **ipv4}
    return {"name": name, "ipv4": space, **({"vlan": vlan} if vlan else {})}


IPV6 = {"addresses": ["fd00::10-fd00::20"], "prefix": 64, "gateway": "fd00::1"}


def test_a_row_becomes_a_network_with_pools_that_answer(tenant: Tenant) -> None:
    table = Table(tenant, {**row(), "ipv6": IPV6}, mtu=1500, routeMetric=101, addressReuseSeconds=7)
    table.network("blue", "True", "Ready")
    table.says("True", "Ready")
    status = table.status("blue")
    assert (status["zone"], status["bridge"], status["vlan"], status["mtu"]) == (table.name, table.bridge, 107, 1500)
    assert (status["cidr"], status["free"]) == ("10.0.0.0/24, fd00::/64", 11)
    assert status["observedGeneration"] == 1
    for side, pool in (("ipv4", "blue-inet"), ("ipv6", "blue-inet6")):
        assert status[side]["pool"] == pool
        made = tenant.get(POOL, pool)
        assert made["metadata"]["annotations"] == {
            PAUSED: "true",
            "metric": "101",
            "ipam.capmox.cluster.x-k8s.io/gateway-metric": "101",
            "ipam.capmox.cluster.x-k8s.io/ip-family": side,
            "proxmox.cozystack.io/network": "blue",
        }
        assert made["metadata"]["labels"]["topology.kubernetes.io/proxmox-zone"] == "default"
        assert made["metadata"]["finalizers"] == ["ipam.cluster.x-k8s.io/ProtectPool"]
        assert made["spec"]["addressReuseGracePeriodSeconds"] == 7
        tenant.claim(pool, table.pool(pool))
    assert (tenant.answered("blue-inet"), tenant.answered("blue-inet6")) == ("10.0.0.10", "fd00::10")
    until(lambda: table.status("blue")["ipv4"]["usage"]["allocated"] == 1, "the network counts the address")


@pytest.mark.parametrize("ends", [False, True], ids=["pool stays", "pool is deleted"])
def test_addresses_rest_as_the_zone_says_whatever_a_clusters_pool_says(tenant: Tenant, ends: bool) -> None:
    table = Table(tenant, row(), addressReuseSeconds=300)
    table.network("blue", "True", "Ready")
    pool = tenant.pool(["10.0.0.10-10.0.0.20"], "shop-v4-icip", addressReuseGracePeriodSeconds=5)
    for name in ("one", "two"):
        tenant.claim(name, pool)
        tenant.answered(name)
    if ends:
        tenant.delete_pool(pool)
    tenant.delete(CLAIM, "one")
    tenant.gone(CLAIM, "one")
    entry = table.entries("blue")["10"]
    assert (entry["state"], entry["reason"]) == ("Held", "Released")
    held = datetime.fromisoformat(entry["until"]) - datetime.fromisoformat(entry["since"])
    assert timedelta(seconds=290) < held <= timedelta(seconds=300)
    # The edit counts from now on, without a restart, and takes nothing back that was promised.
    tenant.witness.patch(ZONE, None, table.name, {"spec": {"addressReuseSeconds": 0}})
    until(lambda: table.status("blue")["addressReuseSeconds"] == 0, "the network knows of the edit")
    tenant.settle()
    tenant.delete(CLAIM, "two")
    tenant.gone(CLAIM, "two")
    assert table.entries("blue") == {"10": entry}


def test_the_zone_sums_up_its_networks(tenant: Tenant) -> None:
    table = Table(tenant, row(), row("red", None, "10.1.0.5", gateway="10.1.0.1"))
    table.says("True", "Ready")
    tenant.claim("one", table.pool("red-inet"))
    tenant.answered("one")

    def counted() -> bool:
        status = tenant.witness.get(ZONE, None, table.name)["status"]
        counts = {"networks": 2, "onDemand": 0, "ready": 1, "namespaces": 1, "allocated": 1}
        lacking = [{"namespace": tenant.namespace, "name": "red", "reason": "PoolExhausted"}]
        return (status["counts"], status["notReady"]) == (counts, lacking)

    until(counted, "the zone counts both networks")
    assert table.network("red", "False", "PoolExhausted").startswith("no IPv4 address is free")
    table.says("True", "Ready")


def test_events_tell_the_story(tenant: Tenant) -> None:
    table = Table(tenant, row())
    table.network("blue", "True", "Ready")
    table.write(row(vlan=None))
    until(lambda: "vlan" not in table.status("blue"), "the network is untagged")

    def reasons() -> list[str]:
        events = tenant.witness.list(EVENT, tenant.namespace)
        return [event["reason"] for event in events if event["involvedObject"]["kind"] == NETWORK]

    until(lambda: "Ready" in reasons(), "an Event says Ready")


@pytest.mark.parametrize(
    "edit",
    [row(vlan=108), row(gateway="10.0.0.254"), row(prefix=23), {"name": "blue", "vlan": 107, "ipv6": IPV6}],
    ids=["vlan", "gateway", "prefix", "family"],
)
def test_an_edit_waits_for_the_last_address(tenant: Tenant, edit: Json) -> None:
    table = Table(tenant, row())
    table.network("blue", "True", "Ready")
    tenant.claim("one", table.pool("blue-inet"))
    tenant.answered("one")
    before = table.status("blue")
    table.write(edit)
    message = table.network("blue", "False", "InUse")
    assert f"10.0.0.10 (IPAddressClaim/{tenant.namespace}/one)" in message
    held = table.status("blue")
    assert (held["vlan"], held["ipv4"]["gateway"], held["ipv4"]["prefix"]) == (
        before["vlan"], before["ipv4"]["gateway"], before["ipv4"]["prefix"],
    )  # fmt: skip
    table.says("False", "InUse")
    tenant.delete(CLAIM, "one")
    table.network("blue", "True", "Ready")
    after = table.status("blue")
    assert after.get("vlan") == edit.get("vlan")
    assert after.get("ipv4", {}).get("gateway") == edit.get("ipv4", {}).get("gateway")
    table.says("True", "Ready")


def test_a_shrunk_range_strands_nobody_and_says_so(tenant: Tenant) -> None:
    table = Table(tenant, row())
    tenant_pool = table.pool("blue-inet")
    table.network("blue", "True", "Ready")
    tenant.claim("one", tenant_pool)
    tenant.answered("one")
    table.write(row("blue", 107, "10.0.0.15-10.0.0.20"))
    until(lambda: table.status("blue")["ipv4"]["addresses"] == ["10.0.0.15-10.0.0.20"], "the range is in force")
    note = until(lambda: table.network("blue", "True", "Ready"), "the network tells of the address outside")
    assert "1 IPv4 address(es) in use lie outside" in note
    tenant.claim("two", tenant_pool)
    assert (tenant.answered("one"), tenant.answered("two")) == ("10.0.0.10", "10.0.0.15")


def test_a_longer_range_answers_who_waits(tenant: Tenant) -> None:
    table = Table(tenant, row("blue", 107, "10.0.0.10"))
    table.network("blue", "True", "Ready")
    for name in ("one", "two"):
        tenant.claim(name, table.pool("blue-inet"))
    tenant.answered("one")
    tenant.refused("two", "PoolExhausted")
    table.write(row("blue", 107, "10.0.0.10-10.0.0.11"))
    assert tenant.answered("two") == "10.0.0.11"


def test_a_removed_row_gives_nothing_more_and_goes_with_its_last_address(tenant: Tenant) -> None:
    table = Table(tenant, row(), row("red", 9, "10.1.0.5", gateway=None))
    table.network("blue", "True", "Ready")
    pool = table.pool("blue-inet")
    tenant.claim("one", pool)
    tenant.answered("one")
    table.write(row("red", 9, "10.1.0.5", gateway=None))
    assert "it goes when 1 address(es) are released" in table.network("blue", "False", "InUse")
    tenant.claim("two", pool)
    tenant.refused("two", "PoolExhausted")
    tenant.delete(CLAIM, "two")
    tenant.delete(CLAIM, "one")
    tenant.gone(NETWORK, "blue")
    tenant.pool_gone(pool)
    books = [block["spec"]["book"] for block in tenant.witness.list(BLOCK)]
    assert f"network/{tenant.namespace}/blue/IPv4" not in books
    table.network("red", "True", "Ready")


def test_a_row_that_comes_back_in_time_saves_its_network(tenant: Tenant) -> None:
    table = Table(tenant, row())
    table.network("blue", "True", "Ready")
    tenant.claim("one", table.pool("blue-inet"))
    tenant.answered("one")
    table.write()
    table.network("blue", "False", "InUse")
    table.write(row())
    table.network("blue", "True", "Ready")
    tenant.claim("two", table.pool("blue-inet"))
    assert tenant.answered("two") == "10.0.0.11"


def test_a_network_deleted_by_hand_comes_back_when_it_is_empty(tenant: Tenant) -> None:
    table = Table(tenant, row())
    table.network("blue", "True", "Ready")
    tenant.claim("one", table.pool("blue-inet"))
    tenant.answered("one")
    before = tenant.get(NETWORK, "blue")["metadata"]["uid"]
    tenant.delete(NETWORK, "blue")
    table.network("blue", "False", "Terminating")
    tenant.delete(CLAIM, "one")
    until(
        lambda: (tenant.find(NETWORK, "blue") or {"metadata": {"uid": before}})["metadata"]["uid"] != before,
        "a new one",
    )
    table.network("blue", "True", "Ready")


def test_a_deleted_zone_waits_for_its_networks(tenant: Tenant) -> None:
    table = Table(tenant, row())
    table.network("blue", "True", "Ready")
    tenant.claim("one", table.pool("blue-inet"))
    tenant.answered("one")
    tenant.witness.delete(ZONE, None, table.name)
    assert f"{tenant.namespace}/blue" in table.says("False", "Terminating")
    table.network("blue", "False", "InUse")
    tenant.delete(CLAIM, "one")
    tenant.gone(NETWORK, "blue")
    until(lambda: tenant.witness.find(ZONE, None, table.name) is None, "the zone is gone")


def test_two_zones_on_one_bridge_and_vlan(tenant: Tenant) -> None:
    first = Table(tenant, row())
    first.network("blue", "True", "Ready")
    second = Table(tenant, row("red"), bridge=first.bridge)
    assert f"belongs to network {tenant.namespace}/blue (zone {first.name})" in second.network(
        "red", "False", "VLANConflict"
    )
    second.says("False", "NetworkOverlaps")
    assert tenant.find(POOL, "red-inet") is None
    first.write(row(vlan=200))
    second.network("red", "True", "Ready")
    first.says("True", "Ready")


def test_a_pool_of_the_peer_on_the_same_segment(tenant: Tenant) -> None:
    table = Table(tenant, row("blue", 107, "10.0.0.10-10.0.0.12"))
    table.network("blue", "True", "Ready")
    marks = {"proxmox.cozystack.io/zone": table.name, "proxmox.cozystack.io/vlan": "107"}
    theirs = tenant.pool(["10.0.0.10-10.0.0.11"], "theirs", annotations=marks)
    assert f"InClusterIPPool {tenant.namespace}/theirs" in table.network("blue", "False", "PoolOverlaps")
    table.says("False", "PoolOverlaps")
    tenant.claim("one", table.pool("blue-inet"))
    assert tenant.answered("one") == "10.0.0.12"
    tenant.delete_pool(theirs)
    tenant.pool_gone(theirs)
    table.network("blue", "True", "Ready")


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (row("bad", 9, "10.0.0.20-10.0.0.10"), "is reversed: write 10.0.0.10-10.0.0.20"),
        (row("bad", 9, gateway="10.9.0.1"), "'10.9.0.1' lies outside 10.0.0.0/24"),
        (row("bad", 9, prefix=28), "10.0.0.16 lies outside 10.0.0.0/28"),
        (row("bad", 9, "10.0.0.1"), "no address is left"),
    ],
)
def test_a_bad_row_is_explained_and_disturbs_nobody(tenant: Tenant, bad: Json, text: str) -> None:
    table = Table(tenant, row(), bad)
    assert text in table.network("bad", "False", "ZoneInvalid")
    assert text in table.says("False", "ZoneInvalid")
    assert tenant.find(POOL, "bad-inet") is None
    table.network("blue", "True", "Ready")
    tenant.claim("one", table.pool("blue-inet"))
    tenant.answered("one")


def test_a_bad_edit_leaves_what_is_in_force(tenant: Tenant) -> None:
    table = Table(tenant, row())
    table.network("blue", "True", "Ready")
    table.write(row("blue", 107, "10.0.0.20-10.0.0.10"))
    table.network("blue", "False", "ZoneInvalid")
    assert table.status("blue")["ipv4"]["addresses"] == ["10.0.0.10-10.0.0.20"]
    tenant.claim("one", table.pool("blue-inet"))
    assert tenant.answered("one") == "10.0.0.10"


def test_huge_networks_cost_nothing(tenant: Tenant) -> None:
    eight = row("eight", 1, "10.0.0.0/8", prefix=8)
    table = Table(tenant, eight, {"name": "six", "vlan": 2, "ipv6": {"addresses": ["fd01::/48"], "prefix": 48}})
    table.network("eight", "True", "Ready")
    table.network("six", "True", "Ready")
    tenant.claim("one", table.pool("eight-inet"))
    tenant.claim("two", table.pool("six-v6"))
    assert (tenant.answered("one"), tenant.answered("two")) == ("10.0.0.2", "fd01::1")


def test_marks_that_somebody_takes_off_a_pool_come_back(tenant: Tenant) -> None:
    table = Table(tenant, row())
    table.network("blue", "True", "Ready")
    tenant.annotate(POOL, "blue-inet", {PAUSED: None})
    until(lambda: PAUSED in tenant.get(POOL, "blue-inet")["metadata"]["annotations"], "the paused mark is back")


def test_a_pool_of_somebody_else_is_not_taken_over(tenant: Tenant) -> None:
    tenant.pool(["192.0.2.10"], "blue-inet")
    table = Table(tenant, row())
    assert "pool blue-inet was made by somebody else" in table.network("blue", "False", "PoolConflict")
    assert tenant.get(POOL, "blue-inet")["spec"]["addresses"] == ["192.0.2.10"]


def test_a_network_that_no_table_names_says_whom_to_ask(tenant: Tenant) -> None:
    table = Table(tenant, row())
    for name, zone in (("green", table.name), ("lost", "no-such-zone")):
        metadata = {"name": name, "namespace": tenant.namespace}
        tenant.witness.create({"kind": NETWORK, "metadata": metadata, "spec": {"zone": zone}})
    assert "ask its admin" in table.network("green", "False", "NamespaceNotAllowed")
    table.network("lost", "False", "ZoneNotFound")


def test_namespaces_that_come_later(tenant: Tenant) -> None:
    later = f"{tenant.namespace}-later"
    table = Table(tenant, row())
    tenant.witness.patch(ZONE, None, table.name, {"spec": {"networks": {later: [row("far", 8)]}}})
    assert f"spec.networks[{later}]" in table.says("False", "NamespaceNotFound")
    table.network("blue", "True", "Ready")
    tenant.witness.create({"kind": NAMESPACE, "metadata": {"name": later}})
    until(lambda: tenant.witness.find(NETWORK, later, "far"), "the network is made", 30.0)
    table.says("True", "Ready")
