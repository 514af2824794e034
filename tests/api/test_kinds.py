"""Our kinds on a real API server: what it takes, refuses and fills in, and how it explains them."""

import copy
import itertools
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from e2e.bed.bed import Bed
from e2e.bed.binaries import binary
from tests.api.witness import BLOCK, NETWORK, POOL, ZONE, Json, Refused, Witness

_numbers = itertools.count(1)

IPV4: Json = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}
IPV6: Json = {"addresses": ["fd00::10-fd00::20", "fd00::/64"], "prefix": 64, "gateway": "fd00::1"}


@pytest.fixture(scope="module", autouse=True)
def _tidy(witness: Witness) -> Iterator[None]:
    """Zones are cluster-wide: a provider of a later test would work on them."""
    yield
    for item in witness.list(ZONE, None):
        witness.delete(ZONE, None, item["metadata"]["name"])


def zone(row: Json | None = None, rows: list[Json] | None = None, **spec: Any) -> Json:
    table = rows if rows is not None else [{"name": "blue", "vlan": 107, "ipv4": IPV4, **(row or {})}]
    table = [{key: value for key, value in each.items() if value is not None} for each in table]
    name = f"kinds-{next(_numbers)}"
    return {
        "kind": ZONE,
        "metadata": {"name": name},
        "spec": {"bridge": "vmbr7", "networks": {"team-a": table}, **spec},
    }


def pool(**spec: Any) -> Json:
    metadata = {"name": f"kinds-{next(_numbers)}", "namespace": "default"}
    return {"kind": POOL, "metadata": metadata, "spec": {"addresses": ["10.0.0.10"], "prefix": 24, **spec}}


def block(**spec: Any) -> Json:
    known = {"book": "pool/a/b", "family": "IPv4", "first": "10.0.0.0", "entries": {}}
    return {"kind": BLOCK, "metadata": {"name": f"kinds-{next(_numbers)}"}, "spec": {**known, **spec}}


def entry(**known: Any) -> Json:
    return {"state": "Allocated", "holder": "IPAddressClaim/a/b", "since": "2026-01-01T00:00:00Z", **known}


TAKEN = {
    "zone without networks": zone(networks={}),
    "zone with all fields": zone({"mtu": 1, "ipv6": IPV6}, mtu=9000, addressReuseSeconds=0, routeMetric=101),
    "untagged": zone({"vlan": None}),
    "IPv6 alone": zone({"ipv4": None, "ipv6": IPV6}),
    "huge ranges": zone({"ipv4": {"addresses": ["10.0.0.0/8"], "prefix": 8}}),
    "host bits": zone({"ipv4": {**IPV4, "addresses": ["10.0.0.9/24"]}}),
    "two networks": zone(rows=[{"name": "a", "ipv4": IPV4}, {"name": "b", "ipv6": IPV6}]),
    "pool of IPv6": pool(addresses=["fd00::/64"], prefix=64, gateway="fd00::1"),
    "pool with an empty gateway, as Go clients write it": pool(gateway=""),
    "pool of everything": pool(
        addresses=["10.0.0.0/24", "10.0.0.5"], prefix=0, excludedAddresses=["10.0.0.7-10.0.0.8"]
    ),
    "block": block(entries={"0": entry(), "255": entry(state="Held", until="2026-01-01T00:01:00Z")}),
}


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN)
def test_taken(witness: Witness, body: Json) -> None:
    witness.create(body)


REFUSED = {
    "dash in the bridge": (zone(bridge="vmbr-7"), "spec.bridge"),
    "bridge too long": (zone(bridge="b" * 16), "spec.bridge"),
    "no bridge": (zone(bridge=None), "spec.bridge"),
    "vlan 0": (zone({"vlan": 0}), "vlan"),
    "vlan 4095": (zone({"vlan": 4095}), "vlan"),
    "mtu 2": (zone(mtu=2), "must be 1 (the bridge's own MTU) or 576 to 65520"),
    "mtu too large": (zone(mtu=65521), "spec.mtu"),
    "network without addresses": (zone({"ipv4": None}), "a network needs ipv4, ipv6 or both"),
    "name that capmox would misread": (zone({"name": "inet6-net"}), "must not contain 'inet6'"),
    "name in capitals": (zone({"name": "Blue"}), "name"),
    "name too long": (zone({"name": "b" * 41}), "name"),
    "two of one name": (zone(rows=[{"name": "a", "ipv4": IPV4}, {"name": "a", "ipv4": IPV4}]), "Duplicate value"),
    "empty list": (zone({"ipv4": {**IPV4, "addresses": []}}), "addresses"),
    "garbage": (zone({"ipv4": {**IPV4, "addresses": ["ten"]}}), "addresses[0]"),
    "octet": (zone({"ipv4": {**IPV4, "addresses": ["10.0.0.256"]}}), "addresses[0]"),
    "octal": (zone({"ipv4": {**IPV4, "addresses": ["10.0.0.010"]}}), "addresses[0]"),
    "IPv6 in ipv4": (zone({"ipv4": {**IPV4, "addresses": ["fd00::1"]}}), "addresses[0]"),
    "IPv4 in ipv6": (zone({"ipv6": {**IPV6, "addresses": ["10.0.0.1"]}}), "addresses[0]"),
    "prefix 33": (zone({"ipv4": {**IPV4, "prefix": 33}}), "prefix"),
    "CIDR /33": (zone({"ipv4": {**IPV4, "addresses": ["10.0.0.0/33"]}}), "addresses[0]"),
    "gateway of the other family": (zone({"ipv4": {**IPV4, "gateway": "fd00::1"}}), "gateway"),
    "reuse delay of more than a day": (zone(addressReuseSeconds=86401), "addressReuseSeconds"),
    "pool without addresses": (pool(addresses=[]), "addresses"),
    "pool entry garbage": (
        pool(addresses=["ten"]),
        "must be an IP address, a range first-last of one family, or a CIDR",
    ),
    "pool entry of two families": (pool(addresses=["10.0.0.1-fd00::1"]), "a range first-last of one family"),
    "pool gateway garbage": (pool(gateway="router"), "gateway must be an IP address of the family of addresses"),
    "pool gateway of the other family": (pool(gateway="fd00::1"), "gateway must be an IP address of the family"),
    "pool prefix": (pool(prefix=33), "prefix does not fit the family"),
    "pool exclusions of the other family": (
        pool(excludedAddresses=["fd00::1"]),
        "excludedAddresses must be of the family",
    ),
    "pool reuse delay below zero": (pool(addressReuseGracePeriodSeconds=-1), "addressReuseGracePeriodSeconds"),
    "block offset 256": (block(entries={"256": entry()}), "keys must be offsets from 0 to 255"),
    "block offset 007": (block(entries={"007": entry()}), "keys must be offsets from 0 to 255"),
    "block state": (block(entries={"1": entry(state="Lost")}), "state"),
    "block address": (block(first="fd00:0::"), "canonical"),
}


@pytest.mark.parametrize(("body", "text"), REFUSED.values(), ids=REFUSED)
def test_refused(witness: Witness, body: Json, text: str) -> None:
    with pytest.raises(Refused) as refused:
        witness.create(body)
    assert refused.value.code == 422
    assert text in str(refused.value)


def test_defaults_are_filled_in(witness: Witness) -> None:
    made = witness.create(zone())
    assert (made["spec"]["addressReuseSeconds"], made["spec"]["routeMetric"]) == (60, 100)
    assert made["spec"]["networks"]["team-a"] == [{"name": "blue", "vlan": 107, "ipv4": IPV4}]


def test_a_network_never_changes_its_zone(witness: Witness) -> None:
    name = f"kinds-{next(_numbers)}"
    witness.create({"kind": NETWORK, "metadata": {"name": name, "namespace": "default"}, "spec": {"zone": "one"}})
    with pytest.raises(Refused, match="the zone of a network cannot change"):
        witness.patch(NETWORK, "default", name, {"spec": {"zone": "two"}})


def test_a_block_never_changes_what_it_is(witness: Witness) -> None:
    name = witness.create(block())["metadata"]["name"]
    for field, value in (("book", "pool/x/y"), ("family", "IPv6"), ("first", "10.0.1.0")):
        with pytest.raises(Refused, match="a block never changes its"):
            witness.patch(BLOCK, None, name, {"spec": {field: value}})


def test_a_tables_worth_of_tenants_fits(witness: Witness) -> None:
    large = zone(networks={})
    large["spec"]["networks"] = {
        f"team-{number}": [{"name": "blue", "vlan": number, "ipv4": copy.deepcopy(IPV4)}] for number in range(1, 4001)
    }
    witness.create(large)


EXPLAINED = {
    "proxmoxnetworkzones": "is a bridge of a Proxmox cluster and the networks",
    "proxmoxnetworkzones.spec.bridge": "A dash or a dot would be accepted by Proxmox but not here",
    "proxmoxnetworkzones.spec.networks": "namespace -> its networks on this zone",
    "proxmoxnetworkzones.spec.networks.ipv4.gateway": "machines get it as their default route",
    "proxmoxnetworkzones.spec.addressReuseSeconds": "0 to 86400",
    "proxmoxnetworkzones.spec.namespaceSelector": "Unset: none may; {}: all may",
    "proxmoxnetworkzones.spec.vlanRanges": "the lowest free VLAN first",
    "proxmoxnetworkzones.spec.addressSpace.ipv4.reserve": "room for control-plane endpoints",
    "proxmoxnetworks.spec.ipv6.prefix": "the size asked for, 56 to 124",
    "networkblocks.spec.entries": "the network that holds it",
    "proxmoxnetworks": "a network that this namespace may use, by name",
    "proxmoxnetworks.status.ipv4.usage.held": "rest before they are given again",
    "addressblocks.spec.entries": "who holds that address",
}


@pytest.mark.parametrize(("path", "text"), EXPLAINED.items(), ids=EXPLAINED)
def test_explained(control_plane: Bed, witness: Witness, path: str, text: str) -> None:
    kubectl = [str(binary("kubectl")), "--kubeconfig", str(control_plane.kubeconfig)]
    said = subprocess.run([*kubectl, "explain", path], capture_output=True, text=True, check=True).stdout
    assert text in " ".join(said.split())
