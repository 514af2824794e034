"""What must be true of every machine of a cluster on a network, from its claims down to what its guest reads."""

from collections.abc import Iterable
from ipaddress import ip_address, ip_interface

from e2e.bed.bed import Bed
from e2e.stories.machines import Machine, guest
from e2e.stories.objects import Family, Plan

METRIC = 100  # capmox's own default, which goes into the pools it makes


def check_cluster(bed: Bed, plan: Plan, machines: Iterable[Machine]) -> dict[str, str]:
    """Check each machine of the plan's cluster. Gives what they hold: claim -> address."""
    held: dict[str, str] = {}
    for machine in machines:
        check_claims(plan, machine)
        check_guest(bed, plan, machine)
        held |= {claim.name: str(claim.address) for claim in machine.claims}
    return held


def families(plan: Plan) -> dict[str, Family]:
    """capmox's name for a family -> its range, in the order of the NIC's claims."""
    both = {"v4": plan.ipv4, "v6": plan.ipv6}
    return {name: family for name, family in both.items() if family is not None}


def check_claims(plan: Plan, machine: Machine) -> None:
    """One claim a family, from the pool that capmox made; Machine.status.addresses is what answered them."""
    wanted = {f"{machine.name}-net0-{n:02}-inet": f"{plan.name}-{name}-icip" for n, name in enumerate(families(plan))}
    assert {claim.name: claim.pool for claim in machine.claims} == wanted
    assert {claim.address for claim in machine.claims} == set(machine.addresses)
    assert len(set(machine.addresses)) == len(wanted)


def check_guest(bed: Bed, plan: Plan, machine: Machine) -> None:
    """The NIC line in Proxmox, and the network configuration on the cloud-init ISO."""
    vm, read = guest(bed, machine.name)
    assert list(vm.nics) == ["net0"]
    assert (vm.nics["net0"].bridge, vm.nics["net0"].tag) == (plan.bridge, plan.vlan)
    (interface,) = read.network_config.interfaces
    assert interface.mac == vm.nics["net0"].mac
    assert (interface.dhcp4, interface.dhcp6) == (False, False)
    given = {claim.pool: claim.address for claim in machine.claims}
    wanted = {name: (given[f"{plan.name}-{name}-icip"], family) for name, family in families(plan).items()}
    assert set(interface.addresses) == {ip_interface(f"{address}/{it.prefix}") for address, it in wanted.values()}
    assert all(route.default for route in interface.routes)
    routes = {(route.via, route.metric) for route in interface.routes}
    assert routes == {(ip_address(family.gateway), METRIC) for _, family in wanted.values()}
    assert [str(server) for server in interface.nameservers] == list(plan.dns)
