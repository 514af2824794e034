"""The bed is faithful: with the in-cluster provider answering, stock capmox brings a whole cluster up and down."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_interface

import pytest

from e2e.bed.bed import Bed
from e2e.bed.parts import Parts
from e2e.stories.machines import apply, guest, namespace, wait_gone, wait_provisioned
from e2e.stories.objects import Family, Plan, everything

PARTS = Parts(kubelet=True, pve=True, providers=True, peer=True)


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with Bed(parts=PARTS) as bed:
        yield bed


@pytest.mark.parametrize("capmox", ["v1alpha2", "v1alpha1"])
def test_each_machine_has_one_address_on_its_nic(bed: Bed, capmox: str) -> None:
    plan = Plan(
        name=f"plain-{capmox[-1]}",
        namespace=f"peer-{capmox}",
        endpoint="10.10.0.5",
        bridge="vmbr7",
        vlan=107,
        ipv4=Family(["10.10.0.10-10.10.0.60"], 24, "10.10.0.1"),
        workers=1,
        capmox=capmox,
    )
    apply(bed, [namespace(plan.namespace), *everything(plan)])
    machines = wait_provisioned(bed, plan.namespace, 2)
    assert {each.addresses for each in machines} == {("10.10.0.10",), ("10.10.0.11",)}
    for machine in machines:
        (claim,) = machine.claims
        assert (claim.pool, claim.address) == (f"{plan.name}-v4-icip", machine.addresses[0])
        vm, read = guest(bed, machine.name)
        assert (vm.nics["net0"].bridge, vm.nics["net0"].tag) == ("vmbr7", 107)
        (interface,) = read.network_config.interfaces
        assert interface.addresses == (ip_interface(f"{claim.address}/24"),)
        assert [route.via for route in interface.routes if route.default] == [ip_address("10.10.0.1")]
        assert [str(server) for server in interface.nameservers] == list(plan.dns)

    bed.kubectl("delete", "cluster", plan.name, "--namespace", plan.namespace, "--wait=false")
    wait_gone(bed, plan.namespace, "clusters,proxmoxmachines,proxmoxclusters")
    assert bed.pve is not None
    assert not {each.name for each in machines} & {vm.name for vm in bed.pve.client.vms()}
