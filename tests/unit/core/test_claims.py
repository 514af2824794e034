"""What is decided about a claim, state by state."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from provider.api.ipam import Address, ClusterState, Ready, read_claim
from provider.api.pool import read_pool
from provider.core.addresses import Family
from provider.core.books import BookSpec
from provider.core.claims import Answer, ClaimReason, Explain, Leave, Release, Seen, Wait, decide
from provider.core.pools import Binding, PoolReason, Refusal
from provider.core.ranges import Ranges

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SINCE = NOW - timedelta(seconds=20)
POOL_REF = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "p"}


def made(**metadata) -> dict[str, Any]:
    return {"namespace": "team", "resourceVersion": "7", "creationTimestamp": "2030-01-01T00:00:00Z", **metadata}


CLAIM = read_claim({"metadata": made(name="m1", uid="uid-m1"), "spec": {"poolRef": POOL_REF}})
POOL = read_pool(
    {
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
        "kind": "InClusterIPPool",
        "metadata": made(name="p", uid="uid-p"),
        "spec": {"addresses": ["10.0.0.5"], "prefix": 24, "addressReuseGracePeriodSeconds": 60},
    }
)
PLAIN = Binding(BookSpec("pool/team/p", Family.IPv4, Ranges.of([(5, 5)]), 24, reuse_seconds=60), Ranges.of([(5, 5)]))
AT_ONCE = Binding(replace(PLAIN.book, reuse_seconds=0), PLAIN.allowed)
NETWORK_BOOK = replace(PLAIN.book, name="network/team/blue/IPv4", holds_in_book=True, reuse_seconds=300)
NETWORK = Binding(NETWORK_BOOK, PLAIN.allowed)
RESTED = SINCE + timedelta(seconds=300)
ADDRESS = Address("team", "m1", "uid-a", "9", "10.0.0.5", "InClusterIPPool", "p", "m1", "uid-m1", False, ())
ANSWERED = replace(CLAIM, address_name="m1", ready=Ready("True", "AddressAllocated", "", ""))
DELETED = replace(CLAIM, deleted=SINCE)


def seen(claim=CLAIM, cluster=None, pool=POOL, binding=PLAIN, address=None, drop_in=True) -> Seen:
    return Seen(claim, cluster, pool, binding, address, drop_in)


@pytest.mark.parametrize(
    ("world", "why"),
    [
        (seen(replace(CLAIM, pool_kind="InfobloxIPPool")), "its pool is of another provider"),
        (seen(replace(CLAIM, pool_group="ipam.metal3.io")), "its pool is of another provider"),
        (seen(drop_in=False), "its pool belongs to no network"),
        (seen(pool=None, binding=None, drop_in=False), "its pool does not exist"),
        (seen(pool=replace(POOL, paused=True)), "its pool is paused"),
        (seen(DELETED, pool=replace(POOL, paused=True)), "its pool is paused"),
        (seen(replace(CLAIM, cluster="c")), "its cluster does not exist"),
        (seen(replace(CLAIM, cluster="c"), ClusterState("1", True)), "its cluster is paused"),
        (seen(replace(DELETED, cluster="c"), ClusterState("1", True)), "its cluster is paused"),
        (seen(replace(CLAIM, paused=True)), "it is paused"),
        (seen(ANSWERED, address=ADDRESS), "it has its address"),
        (seen(ANSWERED, address=replace(ADDRESS, deleted=True)), "it has its address"),
    ],
)
def test_is_left_alone(world, why):
    assert decide(world, NOW) == Leave(why)


@pytest.mark.parametrize(
    "world",
    [
        seen(),
        seen(replace(CLAIM, cluster="c"), ClusterState("1", False)),
        seen(ANSWERED),
        seen(ANSWERED, address=replace(ADDRESS, claim_uid="uid-of-an-earlier-claim")),
        seen(replace(CLAIM, ready=Ready("False", "PoolExhausted", "", ""))),
        seen(pool=replace(POOL, deleted=True), address=ADDRESS),
    ],
)
def test_is_answered(world):
    assert decide(world, NOW) == Answer(PLAIN, world.pool)


def test_a_networks_pool_is_answered_though_its_mark_pauses_the_in_cluster_provider():
    world = seen(pool=replace(POOL, paused=True, network="blue"), binding=NETWORK, drop_in=False)
    assert isinstance(decide(world, NOW), Answer)


@pytest.mark.parametrize(
    ("world", "reason", "says"),
    [
        (seen(pool=None, binding=None), ClaimReason.POOL_NOT_READY, "InClusterIPPool 'p' does not exist; create it"),
        (seen(pool=replace(POOL, deleted=True)), ClaimReason.POOL_NOT_READY, "is being deleted"),
        (seen(binding=Refusal(PoolReason.NOT_READY, "why")), ClaimReason.POOL_NOT_READY, "why"),
        (seen(binding=Refusal(PoolReason.FAILED, "why")), ClaimReason.FAILED, "why"),
    ],
)
def test_is_told_why_not(world, reason, says):
    decision = decide(world, NOW)
    assert isinstance(decision, Explain)
    assert decision.reason is reason
    assert says in decision.message


@pytest.mark.parametrize(
    ("world", "decision"),
    [
        # A plain pool's claim waits itself, as the in-cluster provider does it.
        (seen(DELETED), Wait(SINCE + timedelta(seconds=60))),
        (seen(replace(DELETED, deleted=NOW - timedelta(seconds=60))), Release(PLAIN, None)),
        (seen(DELETED, pool=replace(POOL, reuse_seconds=0), binding=AT_ONCE), Release(AT_ONCE, None)),
        # A network's address rests in the book for the zone's time, whatever the pool says, and the claim goes at once.
        (seen(DELETED, binding=NETWORK), Release(NETWORK, RESTED)),
        (seen(DELETED, pool=replace(POOL, reuse_seconds=0), binding=NETWORK), Release(NETWORK, RESTED)),
        (seen(replace(DELETED, deleted=NOW - timedelta(seconds=300)), binding=NETWORK), Release(NETWORK, None)),
        # So it does when the pool, such as one that goes with its cluster, is on its way out or gone.
        (seen(DELETED, pool=replace(POOL, deleted=True), binding=NETWORK), Release(NETWORK, RESTED)),
        (seen(DELETED, pool=None, binding=NETWORK), Release(NETWORK, RESTED)),
        # A plain pool's book ends with the pool, and its claims wait for nothing.
        (seen(DELETED, pool=replace(POOL, deleted=True)), Release(PLAIN, None)),
        (seen(DELETED, pool=None, binding=None), Release(None, None)),
        (seen(replace(DELETED, cluster="c")), Wait(NOW + timedelta(seconds=40))),
    ],
)  # fmt: skip
def test_is_released(world, decision):
    assert decide(world, NOW) == decision
