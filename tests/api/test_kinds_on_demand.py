"""What zones and networks may say about places on demand, on a real API server."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.test_kinds import zone
from tests.api.witness import NETWORK, NETWORK_BLOCK, ZONE, Json, Refused, Witness

_numbers = itertools.count(1)
V4: Json = {"cidrs": ["10.0.0.0/8"]}
V6: Json = {"cidrs": ["fd00::/40"]}


@pytest.fixture(scope="module", autouse=True)
def _tidy(witness: Witness) -> Iterator[None]:
    """Zones are cluster-wide: a provider of a later test would work on them."""
    yield
    for item in witness.list(ZONE, None):
        witness.delete(ZONE, None, item["metadata"]["name"])
    for item in witness.list(NETWORK_BLOCK, None):
        witness.delete(NETWORK_BLOCK, None, item["metadata"]["name"])


def network(name: str | None = None, **spec: Any) -> Json:
    metadata = {"name": name or f"demand-{next(_numbers)}", "namespace": "default"}
    return {"kind": NETWORK, "metadata": metadata, "spec": {"zone": "nowhere", **spec}}


def space(**families: Json) -> Json:
    return zone(addressSpace=families)


def assignment(network: str, vlan: int) -> Json:
    return {"namespace": "team-a", "network": network, "vlan": vlan}


def selector(**requirement: Any) -> Json:
    return zone(namespaceSelector={"matchExpressions": [requirement]})


def ranges(*pairs: tuple[int, int]) -> Json:
    return zone(vlanRanges=[{"first": first, "last": last} for first, last in pairs])


def block(**spec: Any) -> Json:
    entry = {"holder": "ProxmoxNetwork/a/b", "uid": "1", "since": "2026-01-01T00:00:00Z"}
    known = {"book": "vlan/vmbr1", "range": "0-255", "entries": {"105": entry}}
    return {"kind": NETWORK_BLOCK, "metadata": {"name": f"demand-{next(_numbers)}"}, "spec": {**known, **spec}}


OWN: Json = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24}
TAKEN = {
    "everything": zone(
        vlanRanges=[{"first": 1, "last": 99}, {"first": 100, "last": 4094}],
        reservedVLANs=[1, 4094],
        staticAssignments=[assignment("a", 5), assignment("b", 6)],
        namespaceSelector={"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "x/y", "operator": "Exists"}]},
        addressSpace={"ipv4": {**V4, "networkPrefix": 29, "reserve": 4}, "ipv6": {**V6, "reserve": 1000}},
        uplink={"bridges": ["vmbr0"], "vlans": [2, 3]},
    ),
    "everybody": zone(namespaceSelector={}),
    "all VLANs": ranges((1, 4094)),
    "as many ranges as can be": ranges(*((n * 2 + 1, n * 2 + 1) for n in range(64))),
    "as many assignments as can be": zone(staticAssignments=[assignment(f"n{n}", n) for n in range(1, 257)]),
    "all VLANs reserved": zone(reservedVLANs=[*range(1, 4095)]),
    "as many CIDRs as can be": space(ipv4={"cidrs": [f"10.{n}.0.0/16" for n in range(32)]}),
    "a network that names its zone alone": network(),
    "both families": network(ipv4={}, ipv6={}),
    "sizes": network(ipv4={"prefix": 29}, ipv6={"prefix": 124}),
    "ranges of its own": network(ipv4={**OWN, "gateway": "10.0.0.1", "excludedAddresses": ["10.0.0.11"]}),
    "a large range of its own": network(ipv4={"addresses": ["10.0.0.0/8"], "prefix": 8}),
    "a block": block(),
    "a block of addresses": block(book="space/IPv6", range="fd00::/56", entries={}),
}  # fmt: skip


@pytest.mark.parametrize("body", TAKEN.values(), ids=TAKEN)
def test_taken(witness: Witness, body: Json) -> None:
    witness.create(body)


REFUSED = {
    "range reversed": (ranges((9, 5)), "the range is reversed"),
    "ranges overlap": (ranges((1, 9), (9, 20)), "ranges must not overlap"),
    "range twice": (ranges((1, 9), (1, 9)), "ranges must not overlap"),
    "range from 0": (ranges((0, 9)), "vlanRanges[0].first"),
    "range to 4095": (ranges((1, 4095)), "vlanRanges[0].last"),
    "reserved 0": (zone(reservedVLANs=[0]), "reservedVLANs[0]"),
    "reserved 4095": (zone(reservedVLANs=[4095]), "reservedVLANs[0]"),
    "reserved twice": (zone(reservedVLANs=[7, 7]), "Duplicate value"),
    "assigned twice": (zone(staticAssignments=[assignment("a", 5), assignment("b", 5)]), "two networks cannot have"),
    "two VLANs assigned": (zone(staticAssignments=[assignment("a", 5), assignment("a", 6)]), "Duplicate value"),
    "uplink assigned": (zone(staticAssignments=[assignment("a", 5)], uplink={"vlans": [5]}), "a VLAN of uplink.vlans"),
    "uplink bridge": (zone(uplink={"bridges": ["vmbr7"]}), "bridge is one of uplink.bridges"),
    "In without values": (selector(key="a", operator="In"), "In and NotIn need values"),
    "Exists with values": (selector(key="a", operator="Exists", values=["b"]), "In and NotIn need values"),
    "no such operator": (selector(key="a", operator="Like"), "operator"),
    "no label": (selector(key="a b", operator="Exists"), "key"),
    "no CIDR": (space(ipv4={"cidrs": ["ten"]}), "must be IPv4 CIDRs without host bits"),
    "no CIDRs": (space(ipv4={"cidrs": []}), "cidrs"),
    "host bits": (space(ipv4={"cidrs": ["10.0.0.1/8"]}), "must be IPv4 CIDRs without host bits"),
    "IPv6 in ipv4": (space(ipv4=V6), "must be IPv4 CIDRs without host bits"),
    "IPv4 in ipv6": (space(ipv6=V4), "must be IPv6 CIDRs without host bits"),
    "CIDRs overlap": (space(ipv4={"cidrs": ["10.0.0.0/8", "10.1.0.0/16"]}), "cidrs must not overlap"),
    "CIDR twice": (space(ipv6={"cidrs": ["fd00::/40", "fd00::/40"]}), "cidrs must not overlap"),
    "prefix does not fit": (space(ipv4={"cidrs": ["10.0.0.0/25"]}), "networkPrefix does not fit"),
    "prefix too short": (space(ipv4={**V4, "networkPrefix": 15}), "networkPrefix"),
    "prefix too long": (space(ipv6={**V6, "networkPrefix": 125}), "networkPrefix"),
    "no room left": (space(ipv4={**V4, "networkPrefix": 29, "reserve": 5}), "reserve leaves no address"),
    "a large network asked for": (network(ipv4={"prefix": 15}), "a prefix of 16 to 29 bits"),
    "a small network asked for": (network(ipv6={"prefix": 125}), "a prefix of 56 to 124 bits"),
    "addresses without prefix": (network(ipv4={"addresses": ["10.0.0.9"]}), "one with addresses must say its prefix"),
    "gateway alone": (network(ipv4={"gateway": "10.0.0.1"}), "gateway needs addresses"),
    "a name for pools of the other family": (network("my-inet6"), "must be a DNS label"),
    "a name with a dot": (network("a.b"), "must be a DNS label"),
    "a long name": (network("a" * 41), "must be a DNS label"),
    "no such book": (block(book="vlan/vm-br"), "spec.book"),
}


@pytest.mark.parametrize(("body", "text"), REFUSED.values(), ids=REFUSED)
def test_refused(witness: Witness, body: Json, text: str) -> None:
    with pytest.raises(Refused) as refused:
        witness.create(body)
    assert refused.value.code == 422
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ({"ipv4": {"prefix": 26}}, {"ipv4": {"prefix": 25}}, "cannot change under machines"),
        ({"ipv4": {}}, {"ipv4": {"prefix": 25}}, "cannot change under machines"),
        ({"ipv4": OWN}, {"ipv4": {**OWN, "addresses": ["10.0.0.10"]}}, "cannot change under machines"),
        ({"ipv4": OWN}, {"ipv4": {**OWN, "gateway": "10.0.0.1"}}, "cannot change under machines"),
        ({"ipv4": {}}, {"ipv6": {}}, "address families of a network cannot change"),
        ({}, {"ipv6": {}}, "address families of a network cannot change"),
    ],
)
def test_what_machines_stand_on_never_changes(witness: Witness, before: Json, after: Json, text: str) -> None:
    made = witness.create(network(**before))
    with pytest.raises(Refused, match=text):
        witness.patch(NETWORK, "default", made["metadata"]["name"], {"spec": after})


def test_exclusions_may_change(witness: Witness) -> None:
    made = witness.create(network(ipv4={}))
    witness.patch(NETWORK, "default", made["metadata"]["name"], {"spec": {"ipv4": {"excludedAddresses": ["10.0.0.7"]}}})
