"""Which machines keep a network: read at both API versions, by NIC and by pool, whatever the data."""

import pytest

from provider.core.machines import Machine, Nic, Users, read_machine, users
from provider.core.networks import NetworkReason, resolve, resting
from provider.core.offers import Segment
from tests.unit.networks.cases import holders, offer, seen, span

OLD = offer(span("10.0.0.10-10.0.0.20"))
HERE = Segment("vmbr7", 107)
POOL = ("InClusterIPPool", "blue-inet")
GLOBAL = "GlobalInClusterIPPool"


def pool(name, kind="InClusterIPPool"):
    return {"apiGroup": "ipam.cluster.x-k8s.io", "kind": kind, "name": name}


def raw(network, **metadata):
    return {"metadata": {"name": "m", **metadata}, "spec": {"network": network} if network is not None else {}}


@pytest.mark.parametrize(
    ("network", "nics"),
    [
        (
            {"networkDevices": [{"name": "net0", "bridge": "vmbr7", "vlan": 107, "ipPoolRef": [pool("blue-inet")]}]},
            (Nic("vmbr7", 107, (POOL,)),),
        ),
        ({"networkDevices": [{"name": "net0"}, {"name": "net1", "bridge": "b"}]}, (Nic(None), Nic("b"))),
        (
            {"default": {"bridge": "vmbr7", "vlan": 107, "ipv4PoolRef": pool("blue-inet"), "ipv6PoolRef": pool("x")}},
            (Nic("vmbr7", 107, (POOL, ("InClusterIPPool", "x"))),),
        ),
        (
            {
                "default": {"bridge": "a"},
                "additionalDevices": [{"name": "net1", "bridge": "b", "ipv6PoolRef": pool("all", GLOBAL)}],
            },
            (Nic("a"), Nic("b", None, (("GlobalInClusterIPPool", "all"),))),
        ),
        ({"additionalDevices": [{"name": "net1", "bridge": "b"}]}, (Nic("b"),)),
        (None, ()),
        ({}, ()),
        ({"networkDevices": None, "default": "x"}, ()),
        ({"networkDevices": ["x", {"bridge": 1, "vlan": "107", "ipPoolRef": ["x", {"kind": "y"}]}]}, (Nic(None),)),
    ],
)  # fmt: skip
def test_nics_of_both_versions(network, nics):
    assert read_machine(raw(network)) == Machine("m", nics)


def test_a_machine_that_is_being_deleted_is_read_as_one():
    assert str(read_machine(raw(None, deletionTimestamp="2030-01-01T00:00:00Z"))) == "m (being deleted)"


@pytest.mark.parametrize(
    ("nic", "alone", "shared"),
    [
        (Nic("vmbr7", 107), True, False),
        (Nic("vmbr7", 107, (POOL,)), True, True),
        (Nic("vmbr1", 5, (POOL,)), True, True),
        (Nic(None, None, (POOL,)), True, True),
        (Nic("vmbr7", 108), False, False),
        (Nic("vmbr7", None), False, False),
        (Nic("VMBR7", 107), False, False),
        (Nic(None, 107), False, False),
        (Nic("vmbr1", 5, (("GlobalInClusterIPPool", "blue-inet"),)), False, False),
        (Nic("vmbr1", 5, (("InClusterIPPool", "red-inet"),)), False, False),
    ],
)
def test_by_segment_and_by_pool(nic, alone, shared):
    """Where another network of the namespace stays on the segment, a NIC there is that one's as well."""
    machine = Machine("m", (Nic("other"), nic))
    assert bool(users([machine], HERE, ["blue-inet"], shared=False)) is alone
    assert bool(users([machine], HERE, ["blue-inet"], shared=True)) is shared


def test_machines_are_told_in_the_order_of_their_names():
    found = users([Machine(name, (Nic("vmbr7", 107),)) for name in "cab"], HERE, [], shared=False)
    assert [machine.name for machine in found] == ["a", "b", "c"]


def five(ending=False):
    return Users(tuple(Machine(f"m-{number}", (), ending) for number in range(5)))


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ({"deleting": True, "wanted": OLD}, NetworkReason.TERMINATING),
        ({"deleting": True, "made_by_us": False}, NetworkReason.TERMINATING),
        ({}, NetworkReason.IN_USE),
        ({"zone_exists": False}, NetworkReason.IN_USE),
    ],
)
def test_a_network_on_its_way_out_waits_for_its_machines_and_names_them(known, reason):
    found = resolve(seen(current=OLD, machines=five(), **known))
    assert (found.leaving, found.removable, found.gives, found.offer) == (True, False, False, OLD)
    assert found.waiting is not None
    assert found.waiting.reason is reason
    assert "it goes when 5 ProxmoxMachine(s) on it are gone: m-0, m-1, m-2 and 2 more" in found.waiting.message
    assert resolve(seen(current=OLD, **known)).removable


def test_addresses_and_machines_are_told_together_and_those_that_go_already():
    found = resolve(seen(current=OLD, deleting=True, machines=five(ending=True), holders=holders("10.0.0.10")))
    assert found.waiting is not None
    assert found.waiting.message == (
        "the network is being deleted; it goes when 1 address(es) are released: 10.0.0.10 (IPAddressClaim/team-a/m-10)"
        " and 5 ProxmoxMachine(s) on it are gone: m-0 (being deleted), m-1 (being deleted), m-2 (being deleted)"
        " and 2 more"
    )


def test_a_network_whose_machines_cannot_be_read_stays_and_says_why():
    found = resolve(seen(current=OLD, deleting=True, machines=Users(unread="no permission")))
    assert found.waiting is not None
    assert (found.removable, found.leaving) == (False, True)
    assert "its ProxmoxMachines can be read: no permission" in found.waiting.message


def test_addresses_that_rest_are_told():
    found = resting(resolve(seen(current=OLD, deleting=True)), 2)
    assert found.waiting is not None
    assert found.waiting.message.endswith("; it goes when 2 released address(es) have rested")


def test_a_network_that_somebody_else_made_stands_without_its_row():
    found = resolve(seen(current=OLD, made_by_us=False, holders=holders("10.0.0.10"), machines=five()))
    assert (found.leaving, found.removable, found.waiting, found.gives) == (False, False, None, False)
