"""The clusters that stories ask for, and how what is seen of them is put together."""

import pytest

from e2e.stories.machines import Claim, gather
from e2e.stories.objects import CLUSTER_LABEL, Family, Plan, everything, machine, machine_template, proxmox_cluster

PLAN = Plan("one", "tenant", "10.0.0.5", "vmbr7", 107, ipv4=Family(["10.0.0.10-10.0.0.20"], 24, "10.0.0.1"))


def with_changes(**changes):
    fields = {name: getattr(PLAN, name) for name in Plan.__slots__}
    return Plan(**{**fields, **changes})


def test_references_lead_to_objects_of_the_plan():
    items = everything(PLAN)
    names = {(item["kind"], item["metadata"]["name"]) for item in items}

    def references(value):
        if isinstance(value, dict):
            if {"apiGroup", "kind", "name"} <= set(value):
                yield value["kind"], value["name"]
            for entry in value.values():
                yield from references(entry)

    found = {reference for item in items for reference in references(item)}
    assert found
    assert found <= names
    workers = next(item for item in items if item["kind"] == "MachineDeployment")
    assert ("Secret", workers["spec"]["template"]["spec"]["bootstrap"]["dataSecretName"]) in names


def test_all_objects_are_the_tenants_and_the_clusters():
    for item in [*everything(PLAN), *machine(PLAN, "extra")]:
        assert item["metadata"]["namespace"] == "tenant"
        assert item["metadata"]["labels"][CLUSTER_LABEL] == "one"


@pytest.mark.parametrize(
    ("capmox", "network"),
    [
        ("v1alpha2", {"networkDevices": [{"name": "net0", "bridge": "vmbr7", "model": "virtio", "vlan": 107}]}),
        ("v1alpha1", {"default": {"bridge": "vmbr7", "model": "virtio", "vlan": 107}}),
    ],
)
def test_the_nic_in_both_versions(capmox, network):
    template = machine_template(with_changes(capmox=capmox), "t")
    assert template["apiVersion"].endswith(capmox)
    assert template["spec"]["template"]["spec"]["network"] == network


def test_an_untagged_nic_has_no_vlan():
    spec = machine_template(with_changes(vlan=None), "t")["spec"]["template"]["spec"]
    assert "vlan" not in spec["network"]["networkDevices"][0]


def test_only_the_families_that_are_planned():
    six = with_changes(ipv4=None, ipv6=Family(["fd00::10-fd00::20"], 64, "fd00::1"))
    assert set(proxmox_cluster(PLAN)["spec"]) & {"ipv4Config", "ipv6Config"} == {"ipv4Config"}
    assert set(proxmox_cluster(six)["spec"]) & {"ipv4Config", "ipv6Config"} == {"ipv6Config"}


def test_no_workers_no_deployment():
    assert "MachineDeployment" not in {item["kind"] for item in everything(with_changes(workers=0))}


def test_a_machine_is_seen_with_its_claims_and_addresses():
    def owned(kind, name, owner, **more):
        owners = [{"kind": owner[0], "name": owner[1]}] if owner else []
        return {"kind": kind, "metadata": {"name": name, "ownerReferences": owners}, **more}

    reason = {"type": "VirtualMachineProvisioned", "reason": "Provisioned"}
    status = {"conditions": [reason], "initialization": {"provisioned": True}}
    addresses = [{"type": "Hostname", "address": "m"}, {"type": "InternalIP", "address": "10.0.0.10"}]
    pool = {"poolRef": {"name": "one-v4-icip"}}
    seen = gather(
        [
            owned("ProxmoxMachine", "pm", ("Machine", "m"), status=status),
            owned("Machine", "m", None, status={"addresses": addresses}),
            owned("IPAddressClaim", "c", ("ProxmoxMachine", "pm"), spec=pool, status={"addressRef": {"name": "a"}}),
            owned("IPAddressClaim", "d", ("ProxmoxMachine", "pm"), spec=pool),
            owned("IPAddressClaim", "other", ("ProxmoxMachine", "qm"), spec=pool),
            owned("IPAddress", "a", None, spec={"address": "10.0.0.10"}),
        ]
    )
    assert len(seen) == 1
    assert (seen[0].state, seen[0].provisioned, seen[0].addresses) == ("Provisioned", True, ("10.0.0.10",))
    assert seen[0].claims == (Claim("c", "one-v4-icip", "10.0.0.10"), Claim("d", "one-v4-icip", None))
