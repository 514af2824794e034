"""What was let in goes on, whatever went first: its network, its zone, the namespace. Nothing new takes its place."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.attacks.attempts import merged
from tests.attacks.caller import Answer, Caller, User
from tests.attacks.ground import HOLD, NETWORK, ZONE, Ground, rights, until

Json = dict[str, Any]

HOME, USER, OWN_ZONE = "team-d", User("user-d"), "passing"
POLICY = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
NETWORKS = "proxmox.cozystack.io/networks"
PROVIDER_ID = "proxmox://00000000-0000-4000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Passing:
    """A tenant with a network that will go. The zone's row makes it; without the row it is deleted."""

    caller: Caller

    def zone(self, rows: list[Json], bridge: str = "vmbr6") -> Json:
        """The zone, as the admin writes it."""
        spec = {"bridge": bridge, "networks": {HOME: rows} if rows else {}, "addressReuseSeconds": 0}
        return {**ZONE, "metadata": {"name": OWN_ZONE}, "spec": spec}

    def machine(self, name: str, vlan: int = 60, bridge: str = "vmbr6") -> Json:
        spec = {
            "sourceNode": "pve1",
            "templateID": 9000,
            "network": {"networkDevices": [{"name": "net0", "bridge": bridge, "vlan": vlan}]},
        }
        metadata = {"name": name, "namespace": HOME, "finalizers": [HOLD]}
        version = "infrastructure.cluster.x-k8s.io/v1alpha2"
        return {"apiVersion": version, "kind": "ProxmoxMachine", "metadata": metadata, "spec": spec}

    def tries(self, name: str, **where: Any) -> Answer:
        """Whether the tenant may make a machine; nothing is made."""
        return self.caller.send("create", self.machine(name, **where), USER, dry=True)

    def goes_on(self, number: int) -> None:
        """The old machine is applied again, put again, and written by capmox."""
        old = self.machine("old")
        self.caller.must("apply", old, USER)
        stored = self.caller.must("get", old)
        self.caller.must("replace", merged(stored, {"metadata": {"labels": {"seen": str(number)}}}), USER)
        capmox = User("system:serviceaccount:capmox-system:capmox-controller-manager")
        names = {"apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": {"name": "old", "namespace": HOME}}
        self.caller.must("patch", {**names, "spec": {"virtualMachineID": number, "providerID": PROVIDER_ID}}, capmox)

    def lines(self) -> str:
        home = self.caller.must("get", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
        return str(home["metadata"].get("annotations", {}).get(NETWORKS, ""))

    def gone(self, item: Json) -> bool:
        return self.caller.send("get", item).code == 404


ROW: Json = {
    "name": "dusk",
    "vlan": 60,
    "ipv4": {"addresses": ["10.66.0.10-10.66.0.20"], "prefix": 24, "gateway": "10.66.0.1"},
}
DUSK: Json = {**NETWORK, "metadata": {"name": "dusk", "namespace": HOME}}


@pytest.fixture(scope="module")
def passing(ground: Ground) -> Passing:
    caller = ground.caller
    passing = Passing(caller)
    caller.must("create", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
    for item in rights(USER, HOME):
        caller.must("create", item)
    caller.must("create", passing.zone([ROW]))
    until(lambda: ground.is_said(DUSK, "Ready"), "the network is ready")
    # A network that says that it is ready may be used.
    until(lambda: passing.tries("probe").accepted, "the namespace's new line is known to the API server")
    until(lambda: not passing.tries("probe", vlan=61).accepted, "the zone's policy is in force")
    caller.must("create", passing.machine("old"), USER)
    return passing


def test_the_line_is_there_before_the_network_is_ready_and_gone_with_it(passing: Passing) -> None:
    assert passing.lines() == f"{OWN_ZONE} dusk vmbr6 60 dusk-inet 10.66.0.0/24"


def test_a_status_write_changes_nothing_of_a_spec(passing: Passing) -> None:
    patch = {"spec": {"network": {"networkDevices": [{"name": "net0", "bridge": "vmbr6", "vlan": 61}]}}}
    names = {"name": "old", "namespace": HOME}
    machine = passing.machine("old")
    sent = {**patch, "apiVersion": machine["apiVersion"], "kind": machine["kind"], "metadata": names}
    assert passing.caller.send("patch", sent, USER, subresource="status").accepted
    stored = passing.caller.must("get", machine)["spec"]["network"]["networkDevices"][0]
    assert stored["vlan"] == 60


def test_an_old_bridge_stays_guarded_while_a_network_is_on_it(passing: Passing, ground: Ground) -> None:
    caller = passing.caller
    claim = {
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta2",
        "kind": "IPAddressClaim",
        "metadata": {"name": "held", "namespace": HOME},
        "spec": {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "dusk-inet"}},
    }
    caller.must("create", claim, USER)
    until(lambda: ground.is_said(claim, "Ready"), "an address is held, so the network stays where it is")
    caller.must("apply", passing.zone([ROW], bridge="vmbr5"))
    until(lambda: not passing.tries("probe", bridge="vmbr5").accepted, "the new bridge is guarded")
    assert passing.tries("probe").accepted
    assert not passing.tries("probe", vlan=61).accepted
    caller.must("apply", passing.zone([ROW]))
    until(lambda: passing.tries("probe", bridge="vmbr5").accepted, "the bridge that is not the zone's is free again")
    caller.must("delete", claim)
    until(lambda: passing.gone(claim), "the address is released")


def test_when_the_network_goes_its_machines_go_on_and_no_new_one_comes(passing: Passing) -> None:
    caller = passing.caller
    caller.must("patch", {**ZONE, "metadata": {"name": OWN_ZONE}, "spec": {"networks": {HOME: None}}})
    until(lambda: passing.lines() == "", "the line has gone")
    refused = passing.tries("new")
    assert f"has no network on the bridge of zone {OWN_ZONE}" in refused.message
    passing.goes_on(4711)


def test_when_the_network_is_forced_away_its_machines_go_on(passing: Passing) -> None:
    caller = passing.caller
    caller.send("delete", DUSK)
    caller.must("patch", {**DUSK, "metadata": {**DUSK["metadata"], "finalizers": []}})
    until(lambda: passing.gone(DUSK), "the network is forced away")
    passing.goes_on(4712)


def test_when_the_zone_has_gone_a_machine_can_be_deleted_and_no_policy_stays(passing: Passing) -> None:
    caller, old = passing.caller, passing.machine("old")
    caller.must("delete", passing.zone([]))
    until(lambda: passing.gone(passing.zone([])), "the zone has gone")
    policy = {**POLICY, "metadata": {"name": f"pxnet-system-zone-{OWN_ZONE}"}}
    until(lambda: passing.gone(policy), "its policy has gone")
    until(lambda: passing.tries("new", vlan=61).accepted, "the bridge is nobody's")
    caller.must("delete", old, USER)
    names = {"apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": {"name": "old", "namespace": HOME}}
    caller.must("patch", {**names, "metadata": {"name": "old", "namespace": HOME, "finalizers": []}}, USER)
    until(lambda: passing.gone(old), "the machine has gone")


def test_a_zone_forced_away_leaves_its_bridge_guarded(passing: Passing, ground: Ground) -> None:
    caller = passing.caller
    zone = passing.zone([ROW])
    caller.must("create", zone)
    until(lambda: ground.is_said(DUSK, "Ready"), "the network is ready again")
    until(lambda: passing.tries("probe").accepted, "its line is known")
    until(lambda: not passing.tries("probe", vlan=61).accepted, "its policy is in force")
    caller.must("create", passing.machine("late"), USER)
    claim = {
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta2",
        "kind": "IPAddressClaim",
        "metadata": {"name": "held", "namespace": HOME},
        "spec": {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "dusk-inet"}},
    }
    caller.must("create", claim, USER)
    until(lambda: ground.is_said(claim, "Ready"), "an address is held")
    caller.must("delete", zone)
    names = {**ZONE, "metadata": {"name": OWN_ZONE, "finalizers": []}}
    caller.must("patch", names)
    until(lambda: passing.gone(zone), "the zone is forced away")
    network = "the network says that its zone is not there"
    until(lambda: "ZoneNotFound" in str(caller.must("get", DUSK)["status"]["conditions"]), network)
    assert not passing.tries("probe", vlan=61).accepted
    caller.must("delete", claim)


def test_a_namespace_goes_whole(passing: Passing) -> None:
    caller, late = passing.caller, passing.machine("late")
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    caller.must("delete", home)
    names = {"apiVersion": late["apiVersion"], "kind": late["kind"]}
    caller.must("patch", {**names, "metadata": {"name": "late", "namespace": HOME, "finalizers": []}}, USER)
    until(lambda: passing.gone(home), "the namespace has gone, with its pools, claims and machines")
