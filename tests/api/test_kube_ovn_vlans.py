"""VLANs on demand beside Kube-OVN, on a real API server with a stand-in for Kube-OVN's definition of a Vlan."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from e2e.bed.bed import Bed
from tests.api.running import install, log_of, provider
from tests.api.tenant import Tenant
from tests.api.test_on_demand import Zone
from tests.api.witness import CRD, VLAN, Json, Refused, Witness, until

STAND_IN: Json = {
    "kind": CRD,
    "metadata": {"name": "vlans.kubeovn.io"},
    "spec": {
        "group": "kubeovn.io", "scope": "Cluster",
        "names": {"plural": "vlans", "singular": "vlan", "kind": "Vlan", "listKind": "VlanList"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"id": {"type": "integer"}, "provider": {"type": "string"}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            }}},
        }],
    },
}  # fmt: skip
"""Not Kube-OVN's own definition: its two fields that matter, as bare as in the releases that leave bounds away."""

NOTICED = 30.0
"""Seconds within which a provider must notice that Kube-OVN came or went."""


@contextmanager
def kube_ovn(witness: Witness) -> Iterator[None]:
    """The Vlans' definition, for a while. Nobody acts on the objects."""
    install(witness, [STAND_IN])
    try:
        yield
    finally:
        name = STAND_IN["metadata"]["name"]
        witness.delete(CRD, None, name)
        until(lambda: witness.find(CRD, None, name) is None, "the Vlans' definition is gone", NOTICED)


def vlan(witness: Witness, name: str, number: int, provider: str) -> None:
    witness.create({"kind": VLAN, "metadata": {"name": name}, "spec": {"id": number, "provider": provider}})


ALSO = "VLAN 1 is by now also that of a Vlan of Kube-OVN; the network keeps it"


def test_kube_ovn_comes_and_goes_while_we_run(control_plane: Bed, place: Tenant) -> None:
    with provider(control_plane) as process:
        zone = Zone(place, providerNetwork="comes")
        assert zone.given("blue")["vlan"] == 1
        with kube_ovn(place.witness):
            for number in (1, 2):
                vlan(place.witness, f"comes-{number}", number, "comes")
            until(lambda: ALSO in zone.network("blue"), "the network tells that it shares its VLAN", NOTICED)
            assert zone.given("red")["vlan"] == 3
            until(lambda: zone.vlans() == {"total": 4094, "allocated": 3, "free": 4091}, "the zone counts its VLANs")
            assert zone.place("blue")[0] == 1
        until(lambda: ALSO not in zone.network("blue"), "nobody shares its VLAN any more", NOTICED)
        until(lambda: "not served any more" in log_of(process), "the provider knows that Kube-OVN is gone", NOTICED)
        assert zone.given("green")["vlan"] == 2
        assert process.alive


def test_what_of_kube_ovn_is_left_out(control_plane: Bed, place: Tenant) -> None:
    with kube_ovn(place.witness):
        for name, number, wire in (
            ("untagged", 0, "east"), ("none", 4095, "east"), ("first", 1, "east"), ("second", 2, "west"),
            ("third", 3, "east"), ("fourth", 4, "east"), ("fourth-too", 4, "east"),
        ):  # fmt: skip
            vlan(place.witness, name, number, wire)
        with provider(control_plane):
            pin = {"namespace": place.namespace, "network": "pinned", "vlan": 3}
            ranges = [{"first": 1, "last": 4}]
            zone = Zone(place, providerNetwork="east", vlanRanges=ranges, staticAssignments=[pin])
            beside = Zone(place, bridge=zone.bridge, vlanRanges=ranges)
            assert zone.given("blue")["vlan"] == 2
            assert zone.given("pinned")["vlan"] == 3, "what the admin assigns is the admin's affair"
            for where, name in ((zone, "waits"), (beside, "waits-too")):
                where.ask(name)
                assert "has no free VLAN" in where.network(name, "False", "ZoneExhausted")
            assert Zone(place, vlanRanges=ranges).given("elsewhere")["vlan"] == 1
            place.witness.delete(VLAN, None, "first")
            until(lambda: {zone.place("waits")[0], beside.place("waits-too")[0]} == {1, None}, "one has VLAN 1")
            place.witness.delete(VLAN, None, "fourth")
            place.witness.patch(VLAN, None, "fourth-too", {"spec": {"provider": "west"}})
            until(lambda: {zone.place("waits")[0], beside.place("waits-too")[0]} == {1, 4}, "the other one has VLAN 4")


@pytest.mark.parametrize("name", ["", "thirteen-long", "UPPER", "dash-"])
def test_names_that_kube_ovn_would_not_take(place: Tenant, name: str) -> None:
    with pytest.raises(Refused, match=r"spec\.providerNetwork"):
        Zone(place, providerNetwork=name)
