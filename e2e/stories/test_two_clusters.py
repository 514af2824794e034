"""Two clusters of one tenant on one network, with the very same range in both: no address is given twice.

On stock capmox, in every variant of `shared_network`. All clusters come up and go side by side, since capmox spends
most of a machine's time waiting.
"""

from collections.abc import Mapping

import pytest

from e2e.bed.bed import Bed
from e2e.stories.machines import Machine, apply, machines, namespace, wait_provisioned
from e2e.stories.networks import wait_ready, zone
from e2e.stories.nics import check_cluster, families
from e2e.stories.objects import everything
from e2e.stories.shared_network import (
    BRIDGE,
    VARIANTS,
    Snapshot,
    delete_clusters,
    held_by,
    of_cluster,
    snapshot,
    wait_cluster_gone,
)
from e2e.stories.waiting import until

pytestmark = pytest.mark.timeout(600)

REUSE_SECONDS = 60  # of the zone, and what capmox writes into the pools it makes
MACHINES_SECONDS = 420.0

Seen = Mapping[str, list[Machine]]
Snapshots = Mapping[str, Snapshot]


@pytest.fixture(scope="module")
def up(drop_in: Bed) -> Seen:
    """The machines of all variants, once both clusters of each are up."""
    networks = [it.network for it in VARIANTS.values()]
    namespaces = [namespace(network.namespace) for network in networks]
    apply(drop_in, [*namespaces, zone("shared", BRIDGE, networks)])
    wait_ready(drop_in, networks)
    apply(drop_in, [item for it in VARIANTS.values() for plan in it.plans for item in everything(plan)])
    return {name: wait_provisioned(drop_in, it.tenant, it.machines, MACHINES_SECONDS) for name, it in VARIANTS.items()}


@pytest.fixture(scope="module")
def first_deleted(drop_in: Bed, up: Seen) -> Snapshots:
    return delete_clusters(drop_in, VARIANTS, 0)


@pytest.fixture(scope="module")
def second_deleted(drop_in: Bed, first_deleted: Snapshots) -> Snapshots:
    return delete_clusters(drop_in, VARIANTS, 1)


@pytest.fixture(params=VARIANTS)
def name(request: pytest.FixtureRequest) -> str:
    """Name of the variant."""
    return str(request.param)


def test_each_nic_has_one_address_a_family_from_the_networks_book(drop_in: Bed, up: Seen, name: str) -> None:
    it = VARIANTS[name]
    both: dict[str, str] = {}
    for plan in it.plans:
        mine = of_cluster(up[name], plan)
        assert len(mine) == 1 + plan.workers
        both |= check_cluster(drop_in, plan, mine)
    assert len(set(both.values())) == len(both) == it.machines * len(families(it.plans[0]))
    assert snapshot(drop_in, it) == Snapshot(it.entries(both), both)


def test_a_cluster_goes_and_the_other_keeps_what_it_has(
    drop_in: Bed, up: Seen, first_deleted: Snapshots, name: str
) -> None:
    it = VARIANTS[name]
    gone, stays = (held_by(of_cluster(up[name], plan)) for plan in it.plans)
    resting = it.entries(gone, "Held") | it.entries(stays)
    assert first_deleted[name] == Snapshot(resting, stays)
    wait_cluster_gone(drop_in, it.plans[0])
    assert machines(drop_in, it.tenant) == of_cluster(up[name], it.plans[1])
    check_cluster(drop_in, it.plans[1], of_cluster(up[name], it.plans[1]))
    check_no_vms(drop_in, of_cluster(up[name], it.plans[0]))


def test_the_last_cluster_goes_and_leaves_nothing(drop_in: Bed, up: Seen, second_deleted: Snapshots, name: str) -> None:
    it = VARIANTS[name]
    gone = held_by(of_cluster(up[name], it.plans[1]))
    assert second_deleted[name].addresses == {}
    assert it.entries(gone, "Held").items() <= second_deleted[name].entries.items()
    assert all(entry.state == "Held" for entry in second_deleted[name].entries.values())
    until(lambda: not snapshot(drop_in, it).entries, f"{it.tenant}: the addresses are free", REUSE_SECONDS + 15)
    wait_cluster_gone(drop_in, it.plans[1])
    check_no_vms(drop_in, up[name])


def check_no_vms(bed: Bed, gone: list[Machine]) -> None:
    assert bed.pve is not None
    assert not {vm.name for vm in bed.pve.client.vms()} & {machine.name for machine in gone}
