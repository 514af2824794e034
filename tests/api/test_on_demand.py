"""Networks on demand on a real API server: from the wish to the address, and everything that must be skipped."""

import itertools
from typing import Any

import pytest

from tests.api.tenant import PoolRef, Tenant
from tests.api.test_networks import said
from tests.api.witness import CLAIM, EVENT, NAMESPACE, NETWORK, NETWORK_BLOCK, POOL, ZONE, Json, Witness, until

_numbers = itertools.count(1)


class Zone:
    """A zone with a bridge of its own, all VLANs, and an address space of its own, for every namespace.

    Not of 10.0.0.0/8: another file's zone has a row with all of that.
    """

    def __init__(self, tenant: Tenant, **spec: Any) -> None:
        number = next(_numbers)
        self.tenant, self.witness, self.name = tenant, tenant.witness, f"demand-{number}"
        self.bridge = spec.pop("bridge", f"ondemand{number}")
        self.home = tenant.namespace
        known: Json = {
            "bridge": self.bridge, "namespaceSelector": {}, "vlanRanges": [{"first": 1, "last": 4094}],
            "addressSpace": {"ipv4": {"cidrs": [f"100.{64 + number}.0.0/16"]}}, "addressReuseSeconds": 0,
        }  # fmt: skip
        self.cidr = f"100.{64 + number}"
        self.witness.create({"kind": ZONE, "metadata": {"name": self.name}, "spec": {**known, **spec}})

    def edit(self, **spec: Any) -> None:
        self.witness.patch(ZONE, None, self.name, {"spec": spec})

    def ask(self, name: str, **spec: Any) -> None:
        metadata = {"name": name, "namespace": self.home}
        self.witness.create({"kind": NETWORK, "metadata": metadata, "spec": {"zone": self.name, **spec}})

    def network(self, name: str, status: str = "True", reason: str = "Ready") -> str:
        return said(lambda: self.tenant.find(NETWORK, name) or {}, status, reason, f"network {name}")

    def status(self, name: str) -> Json:
        found: Json = self.tenant.get(NETWORK, name).get("status", {})
        return found

    def given(self, name: str, **spec: Any) -> Json:
        self.ask(name, **spec)
        self.network(name)
        return self.status(name)

    def place(self, name: str) -> tuple[int | None, str]:
        status = self.status(name)
        return status.get("vlan"), status.get("cidr", "")

    def drop(self, name: str) -> None:
        self.tenant.delete(NETWORK, name)
        self.tenant.gone(NETWORK, name)

    def vlans(self) -> Json:
        found: Json = self.witness.get(ZONE, None, self.name)["status"].get("vlans", {})
        return found


def written(witness: Witness) -> dict[str, dict[str, str]]:
    """Book -> VLAN or CIDR -> who has it."""
    found: dict[str, dict[str, str]] = {}
    for block in witness.list(NETWORK_BLOCK, None):
        entries = block["spec"].get("entries", {})
        found.setdefault(block["spec"]["book"], {}).update({key: entry["holder"] for key, entry in entries.items()})
        assert block["status"]["given"] == len(entries)
    return found


def test_a_wish_becomes_a_network_that_answers(tenant: Tenant) -> None:
    zone = Zone(tenant)
    status = zone.given("blue")
    assert (status["vlan"], status["cidr"], status["bridge"]) == (1, f"{zone.cidr}.0.0/24", zone.bridge)
    assert status["ipv4"]["gateway"] == f"{zone.cidr}.0.1"
    assert status["ipv4"]["addresses"] == [f"{zone.cidr}.0.6-{zone.cidr}.0.254"]
    assert status["free"] == 249
    holder = f"ProxmoxNetwork/{tenant.namespace}/blue"
    books = written(tenant.witness)
    assert books[f"vlan/{zone.bridge}"] == {"1": holder}
    assert books["space/IPv4"][f"{zone.cidr}.0.0/24"] == holder
    tenant.claim("one", PoolRef(POOL, tenant.namespace, "blue-inet"))
    assert tenant.answered("one") == f"{zone.cidr}.0.6"
    second = zone.given("red")
    assert (second["vlan"], second["cidr"]) == (2, f"{zone.cidr}.1.0/24")
    until(lambda: zone.vlans() == {"total": 4094, "allocated": 2, "free": 4092}, "the zone counts its VLANs")
    until(
        lambda: "Ready" in [each["reason"] for each in tenant.witness.list(EVENT, tenant.namespace)],
        "an Event says Ready",
    )


def test_a_place_is_returned_last_and_given_again(tenant: Tenant) -> None:
    zone = Zone(tenant)
    zone.given("blue")
    zone.given("red")
    tenant.claim("one", PoolRef(POOL, tenant.namespace, "blue-inet"))
    tenant.answered("one")
    tenant.delete(NETWORK, "blue")
    zone.network("blue", "False", "Terminating")
    assert "1" in written(tenant.witness)[f"vlan/{zone.bridge}"]
    tenant.delete(CLAIM, "one")
    tenant.gone(NETWORK, "blue")
    assert set(written(tenant.witness)[f"vlan/{zone.bridge}"]) == {"2"}
    zone.given("green")
    assert zone.place("green") == (1, f"{zone.cidr}.0.0/24")


def test_dual_stack_sizes_and_pool_names(tenant: Tenant) -> None:
    number = next(_numbers)
    space = {"ipv4": {"cidrs": [f"100.{96 + number}.0.0/16"]}, "ipv6": {"cidrs": [f"fd00:{number}::/40"], "reserve": 0}}
    zone = Zone(tenant, addressSpace=space)
    status = zone.given("both")
    assert status["cidr"] == f"100.{96 + number}.0.0/24, fd00:{number}::/64"
    assert (status["ipv4"]["pool"], status["ipv6"]["pool"]) == ("both-inet", "both-inet6")
    assert status["ipv6"]["gateway"] == f"fd00:{number}::1"
    assert status["ipv6"]["addresses"] == [f"fd00:{number}::2-fd00:{number}::ffff:ffff:ffff:ffff"]
    small = zone.given("small", ipv4={"prefix": 29}, ipv6={"prefix": 124})
    assert small["cidr"] == f"100.{96 + number}.1.0/29, fd00:{number}:0:1::/124"
    assert zone.given("six", ipv6={})["ipv6"]["pool"] == "six-v6"
    assert "ipv4" not in zone.status("six")
    zone.ask("four", ipv4={"prefix": 28, "excludedAddresses": [f"100.{96 + number}.1.0/27"]})
    assert "no address is left" in zone.network("four", "False", "SpecInvalid")
    tenant.witness.patch(NETWORK, tenant.namespace, "four", {"spec": {"ipv4": {"excludedAddresses": []}}})
    zone.network("four")
    assert zone.place("four")[1] == f"100.{96 + number}.1.16/28"
    for pool in ("both-inet", "both-inet6", "six-v6"):
        tenant.claim(pool, PoolRef(POOL, tenant.namespace, pool))
        tenant.answered(pool)


def test_ranges_of_its_own(tenant: Tenant) -> None:
    zone = Zone(tenant)
    own = {"addresses": ["192.168.7.20-192.168.7.29"], "prefix": 24, "gateway": "192.168.7.1"}
    first = zone.given("outside", ipv4=own)
    assert (first["vlan"], first["cidr"], first["ipv4"]["addresses"]) == (1, "192.168.7.0/24", own["addresses"])
    assert zone.given("again", ipv4=own)["vlan"] == 2, "outside of all address space everybody may have the same"
    zone.given("inside", ipv4={"addresses": [f"{zone.cidr}.0.20-{zone.cidr}.0.29"], "prefix": 24})
    assert zone.given("next")["cidr"] == f"{zone.cidr}.1.0/24"
    zone.ask("overlap", ipv4={"addresses": [f"{zone.cidr}.1.200"], "prefix": 25})
    assert "overlaps a network that is there already" in zone.network("overlap", "False", "SubnetOverlaps")
    zone.ask("huge", ipv4={"addresses": ["100.64.0.0/10"], "prefix": 10})
    assert "covers address space of a zone" in zone.network("huge", "False", "SpecInvalid")
    zone.ask("reversed", ipv4={"addresses": ["192.168.7.9-192.168.7.2"], "prefix": 24})
    assert "is reversed" in zone.network("reversed", "False", "SpecInvalid")
    zone.drop("next")
    zone.network("overlap")


def test_what_is_skipped(tenant: Tenant) -> None:
    number = next(_numbers)
    row = {"name": "row", "vlan": 3, "ipv4": {"addresses": [f"100.{64 + number}.0.9"], "prefix": 24}}
    other = Zone(tenant, bridge=f"shared{number}", vlanRanges=[], reservedVLANs=[4], networks={tenant.namespace: [row]},
                 staticAssignments=[{"namespace": "nobody", "network": "x", "vlan": 5}])  # fmt: skip
    zone = Zone(
        tenant, bridge=f"shared{number}", vlanRanges=[{"first": 1, "last": 9}], reservedVLANs=[1],
        uplink={"vlans": [2]}, addressSpace={"ipv4": {"cidrs": [f"100.{64 + number}.0.0/16"]}},
        staticAssignments=[
            {"namespace": tenant.namespace, "network": "pinned", "vlan": 6},
            {"namespace": tenant.namespace, "network": "outside", "vlan": 4000},
        ],
    )  # fmt: skip
    other.network("row")
    status = zone.given("blue")
    assert (status["vlan"], status["cidr"]) == (7, f"100.{64 + number}.1.0/24")
    assert zone.given("pinned")["vlan"] == 6
    assert zone.given("outside")["vlan"] == 4000
    until(lambda: zone.vlans() == {"total": 7, "allocated": 5, "free": 2}, "the zone counts its VLANs")


def test_an_exhausted_zone_says_so_and_goes_on_when_there_is_space(tenant: Tenant) -> None:
    zone = Zone(tenant, vlanRanges=[{"first": 10, "last": 11}])
    for name in ("a", "b"):
        zone.given(name)
    zone.ask("c")
    assert "has no free VLAN" in zone.network("c", "False", "ZoneExhausted")
    assert [each for each in written(tenant.witness)["space/IPv4"] if each.startswith(f"{zone.cidr}.2.")] == []
    until(lambda: zone.vlans() == {"total": 2, "allocated": 2, "free": 0}, "the zone is full")
    zone.drop("a")
    zone.network("c")
    assert zone.place("c") == (10, f"{zone.cidr}.0.0/24")
    zone.ask("d")
    zone.network("d", "False", "ZoneExhausted")
    zone.edit(vlanRanges=[{"first": 10, "last": 12}])
    zone.network("d")
    zone.ask("e", ipv4={"prefix": 16})
    zone.edit(vlanRanges=[{"first": 10, "last": 13}])
    assert "has no free IPv4 network of 16 bits" in zone.network("e", "False", "ZoneExhausted")


def test_shrinking_takes_nothing_away(tenant: Tenant) -> None:
    zone = Zone(tenant)
    before = zone.given("blue")
    zone.edit(vlanRanges=[{"first": 50, "last": 60}], addressSpace={"ipv4": {"cidrs": ["100.127.0.0/16"]}})
    until(lambda: "is not in the zone's vlanRanges any more" in zone.network("blue"), "a note tells of the VLAN")
    message = zone.network("blue")
    assert f"{zone.cidr}.0.0/24 is not in the zone's addressSpace any more" in message
    assert zone.place("blue") == (before["vlan"], before["cidr"])
    assert zone.given("red")["vlan"] == 50
    assert zone.place("red")[1] == "100.127.0.0/24"


def test_namespaces_are_selected_by_their_labels(tenant: Tenant) -> None:
    zone = Zone(tenant, namespaceSelector={"matchLabels": {"tenant": "yes"}})
    zone.ask("blue")
    assert "its namespaceSelector does not select" in zone.network("blue", "False", "NamespaceNotAllowed")
    tenant.witness.patch(NAMESPACE, None, tenant.namespace, {"metadata": {"labels": {"tenant": "yes"}}})
    zone.network("blue")
    before = zone.place("blue")
    tenant.witness.patch(NAMESPACE, None, tenant.namespace, {"metadata": {"labels": {"tenant": None}}})
    until(lambda: "does not select namespace" in zone.network("blue"), "the network says that it stays")
    zone.ask("red")
    zone.network("red", "False", "NamespaceNotAllowed")
    assert zone.place("blue") == before
    tenant.claim("one", PoolRef(POOL, tenant.namespace, "blue-inet"))
    tenant.answered("one")
    zone.edit(namespaceSelector={"matchLabels": {"tenant": None}, "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [tenant.namespace]}]})  # fmt: skip
    zone.network("red")


def test_a_row_on_a_given_vlan_is_contested(tenant: Tenant) -> None:
    zone = Zone(tenant)
    zone.given("blue")
    row = {"name": "row", "vlan": 1, "ipv4": {"addresses": ["10.9.9.9"], "prefix": 24}}
    zone.edit(networks={tenant.namespace: [row]})
    assert f"was given to network {tenant.namespace}/blue alone" in zone.network("row", "False", "VLANConflict")
    assert zone.place("blue")[0] == 1
    zone.network("blue")
    zone.drop("blue")
    zone.network("row")
    assert zone.given("green")["vlan"] == 2


def test_zones_share_address_space(tenant: Tenant) -> None:
    one = Zone(tenant)
    two = Zone(tenant, addressSpace={"ipv4": {"cidrs": [f"{one.cidr}.0.0/16"]}})
    assert [one.given("a")["cidr"], two.given("b")["cidr"], one.given("c")["cidr"]] == [
        f"{one.cidr}.{number}.0/24" for number in range(3)
    ]
    assert [one.place("a")[0], two.place("b")[0], one.place("c")[0]] == [1, 1, 2]


def test_an_assignment_moves_a_network_when_it_is_empty(tenant: Tenant) -> None:
    zone = Zone(tenant)
    zone.given("blue")
    tenant.claim("one", PoolRef(POOL, tenant.namespace, "blue-inet"))
    tenant.answered("one")
    zone.edit(staticAssignments=[{"namespace": tenant.namespace, "network": "blue", "vlan": 77}])
    assert "stays on" in zone.network("blue", "False", "InUse")
    assert set(written(tenant.witness)[f"vlan/{zone.bridge}"]) == {"1", "77"}
    tenant.delete(CLAIM, "one")
    zone.network("blue")
    assert zone.place("blue")[0] == 77
    until(lambda: set(written(tenant.witness)[f"vlan/{zone.bridge}"]) == {"77"}, "the first VLAN is returned")


def test_excluded_addresses_may_change(tenant: Tenant) -> None:
    zone = Zone(tenant)
    zone.given("blue", ipv4={})
    first = f"{zone.cidr}.0.6"
    tenant.witness.patch(NETWORK, tenant.namespace, "blue", {"spec": {"ipv4": {"excludedAddresses": [first]}}})
    until(lambda: zone.status("blue")["ipv4"].get("excludedAddresses") == [first], "the exclusion is in force")
    tenant.claim("one", PoolRef(POOL, tenant.namespace, "blue-inet"))
    assert tenant.answered("one") == f"{zone.cidr}.0.7"


@pytest.mark.parametrize("first", ["network", "zone"])
def test_a_zone_that_goes(tenant: Tenant, first: str) -> None:
    zone = Zone(tenant)
    zone.given("blue")
    if first == "zone":
        tenant.witness.delete(ZONE, None, zone.name)
        zone.network("blue", "False", "ZoneNotFound")
    zone.drop("blue")
    if first == "network":
        tenant.witness.delete(ZONE, None, zone.name)
    until(lambda: tenant.witness.find(ZONE, None, zone.name) is None, "the zone is gone")
    assert not written(tenant.witness).get(f"vlan/{zone.bridge}")


def test_hundreds_at_once(tenant: Tenant) -> None:
    """Twenty namespaces ask for ten networks each: everybody gets one place, nobody another's, and all come back."""
    zone = Zone(tenant)
    homes = [Tenant.create(tenant.witness, f"{tenant.namespace}-{number}").namespace for number in range(20)]
    names = [(home, f"n{number}") for number in range(10) for home in homes]
    for home, name in names:
        metadata = {"name": name, "namespace": home}
        tenant.witness.create({"kind": NETWORK, "metadata": metadata, "spec": {"zone": zone.name}})

    def ready() -> list[Json]:
        found = [each for each in tenant.witness.list(NETWORK) if each["spec"]["zone"] == zone.name]
        conditions = [each.get("status", {}).get("conditions", ()) for each in found]
        count = sum(any(c["type"] == "Ready" and c["status"] == "True" for c in each) for each in conditions)
        return found if count == len(names) else []

    found = until(ready, "all are ready", 120)
    assert {each["status"]["vlan"] for each in found} == {*range(1, 201)}
    assert {each["status"]["cidr"] for each in found} == {f"{zone.cidr}.{number}.0/24" for number in range(200)}
    counts = {"networks": 200, "onDemand": 200, "ready": 200, "namespaces": 20, "allocated": 0}
    until(lambda: tenant.witness.get(ZONE, None, zone.name)["status"]["counts"] == counts, "the zone counts them")
    assert tenant.witness.get(ZONE, None, zone.name)["status"].get("notReady", []) == []
    for home, name in names:
        tenant.witness.delete(NETWORK, home, name)
    until(lambda: not written(tenant.witness).get(f"vlan/{zone.bridge}"), "all VLANs are returned", 120)
    until(lambda: zone.vlans()["free"] == 4094, "the zone counts them again")
