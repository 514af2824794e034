"""Who keeps an address of a bridge and VLAN that two want."""

from dataclasses import replace

import pytest

from provider.api.pool import Pool, read_pool
from provider.core.overlaps import ForeignPool, Rival, contested, overlapped, read_foreign_pool
from provider.core.spans import Problem
from tests.unit.networks.cases import BLUE, offer, span

RED = ("team-b", "red")
MINE = offer(span("10.0.0.10-10.0.0.20"), age=1)
OLDER = offer(span("10.0.0.15-10.0.0.30"), zone="older", age=0)
YOUNGER = offer(span("10.0.0.15-10.0.0.30"), zone="younger", age=2)

TABLE = [
    ("nobody else", None, None, None, False),
    ("an older row wins", None, OLDER, None, True),
    ("a younger row loses", None, YOUNGER, None, False),
    ("what is in force wins over an older row", MINE, OLDER, None, False),
    ("a younger row that is in force wins", None, YOUNGER, YOUNGER, True),
    ("in force without a row any more still counts", None, None, YOUNGER, True),
    ("another VLAN", None, replace(OLDER, segment=offer(vlan=9).segment), None, False),
    ("untagged is a segment of its own", None, replace(OLDER, segment=offer(vlan=None).segment), None, False),
    ("another bridge", None, replace(OLDER, segment=offer(bridge="vmbr8").segment), None, False),
    ("other addresses", None, offer(span("10.0.0.40"), age=0), None, False),
    ("a row that cannot be used", None, replace(OLDER, problems=(Problem("prefix", "bad"),)), None, False),
]


@pytest.mark.parametrize(
    ("current", "wanted", "theirs", "loses"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_contested(current, wanted, theirs, loses):
    found = contested(BLUE, MINE, current, [Rival(RED, wanted, theirs), Rival(BLUE, MINE, current)])
    assert bool(found) is loses
    if loses:
        assert found[0].field == "spec.networks[team-a][blue].ipv4.addresses"
        assert found[0].message.startswith("10.0.0.15-10.0.0.20 on vmbr7 VLAN 107 belongs to network team-b/red")


def pool(**annotations: str) -> Pool:
    return read_pool(
        {
            "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
            "kind": "InClusterIPPool",
            "metadata": {
                "name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1",
                "annotations": {f"proxmox.cozystack.io/{name}": value for name, value in annotations.items()},
            },
            "spec": {"addresses": annotations.pop("addresses", "10.0.0.18-10.0.0.19").split(","), "prefix": 24},
        }
    )  # fmt: skip


def test_a_pool_without_the_mark_is_nobodys_neighbour():
    assert read_foreign_pool(pool(), {"lab": "vmbr7"}) is None


def test_a_marked_pool_keeps_its_addresses():
    found = read_foreign_pool(pool(zone="lab", vlan="107"), {"lab": "vmbr7"})
    assert isinstance(found, ForeignPool)
    taken, messages = overlapped([MINE, MINE], [found])
    assert [ranges.size for ranges in taken.values()] == [2]
    assert messages == (
        "10.0.0.18-10.0.0.19 may be given by InClusterIPPool n/p too and is left to it; take it out of one of the two",
    )


def test_a_marked_pool_on_another_vlan_is_no_matter():
    found = read_foreign_pool(pool(zone="lab"), {"lab": "vmbr7"})
    assert isinstance(found, ForeignPool)
    assert overlapped([MINE], [found]) == ({}, ())


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        ({"zone": "gone"}, "there is no ProxmoxNetworkZone 'gone'"),
        ({"zone": "lab", "vlan": "blue"}, "'blue' is no VLAN tag; write a number from 1 to 4094"),
        ({"zone": "lab", "vlan": "4095"}, "'4095' is no VLAN tag"),
        ({"zone": "lab", "vlan": "²"}, "'²' is no VLAN tag"),
        ({"zone": "lab", "addresses": "10.0.0.9-10.0.0.1"}, "is reversed"),
    ],
)
def test_a_mark_that_cannot_be_understood_is_told(annotations, text):
    found = read_foreign_pool(pool(**annotations), {"lab": "vmbr7"})
    assert isinstance(found, Problem)
    assert text in str(found)
