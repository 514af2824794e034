"""A claim and its answer: which address, and every field that the contract and other providers' users rely on."""

import pytest

from tests.api.tenant import CLUSTER_LABEL, Tenant
from tests.api.witness import ADDRESS, CLAIM, EVENT, IPAM, POOL, until


def test_ipaddress_has_all_that_the_contract_asks(tenant: Tenant) -> None:
    tenant.cluster("blue")
    pool = tenant.pool(["10.0.0.1-10.0.0.254"], gateway="10.0.0.2")
    uid = tenant.claim("one", pool, labels={CLUSTER_LABEL: "blue"})
    assert tenant.answered("one") == "10.0.0.1"

    address = tenant.get(ADDRESS, "one")
    assert address["spec"] == {
        "address": "10.0.0.1", "prefix": 24, "gateway": "10.0.0.2",
        "claimRef": {"name": "one"}, "poolRef": {"apiGroup": IPAM, "kind": POOL, "name": "pool"},
    }  # fmt: skip
    assert address["metadata"]["finalizers"] == ["ipam.cluster.x-k8s.io/ProtectAddress"]
    assert address["metadata"]["labels"] == {CLUSTER_LABEL: "blue"}
    owner = {"apiVersion": f"{IPAM}/v1beta2", "kind": CLAIM, "name": "one", "uid": uid, "blockOwnerDeletion": True}
    pool_uid = tenant.get(POOL, "pool")["metadata"]["uid"]
    behind = {"apiVersion": f"{IPAM}/v1alpha2", "kind": POOL, "name": "pool", "uid": pool_uid}
    assert address["metadata"]["ownerReferences"] == [
        {**owner, "controller": True},
        {**behind, "controller": False, "blockOwnerDeletion": True},
    ]


def test_claim_says_what_it_got(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.254"])
    uid = tenant.claim("one", pool)
    tenant.answered("one")
    claim = tenant.get(CLAIM, "one")
    assert claim["metadata"]["finalizers"] == ["ipam.cluster.x-k8s.io/ReleaseAddress"]
    assert claim["status"]["addressRef"] == {"name": "one"}
    ready = tenant.ready("one")
    assert (ready["status"], ready["reason"], ready["observedGeneration"]) == ("True", "AddressAllocated", 1)
    assert "10.0.0.1" in ready["message"]
    events = until(
        lambda: [item for item in tenant.witness.list(EVENT, tenant.namespace) if item["involvedObject"]["uid"] == uid],
        "an Event about the claim",
    )
    assert [(item["type"], item["reason"]) for item in events] == [("Normal", "AddressAllocated")]


def test_address_without_gateway_or_label_has_none(tenant: Tenant) -> None:
    tenant.cluster("blue")
    pool = tenant.pool(["10.0.0.1-10.0.0.254"])
    tenant.claim("one", pool, cluster="blue")
    tenant.answered("one")
    address = tenant.get(ADDRESS, "one")
    assert "gateway" not in address["spec"]
    assert "labels" not in address["metadata"]


def test_only_the_host_of_a_subnet_is_given(tenant: Tenant) -> None:
    """Network, gateway and broadcast address are in the list, and stay out all the same."""
    pool = tenant.pool(["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"], prefix=30, gateway="10.0.0.1")
    tenant.claim("first", pool)
    assert tenant.answered("first") == "10.0.0.2"
    tenant.claim("second", pool)
    assert "no free address" in tenant.refused("second", "PoolExhausted")


def test_exclusions_are_passed_over(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.0/24"], gateway="10.0.0.1", excludedAddresses=["10.0.0.2-10.0.0.5", "10.0.0.7"])
    for name, expected in (("a", "10.0.0.6"), ("b", "10.0.0.8"), ("c", "10.0.0.9")):
        tenant.claim(name, pool)
        assert tenant.answered(name) == expected


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        (["10.0.0.5-10.0.0.6", "10.0.0.2-10.0.0.3"], ["10.0.0.2", "10.0.0.3", "10.0.0.5", "10.0.0.6"]),
        (["10.0.0.128", "10.0.0.50"], ["10.0.0.50", "10.0.0.128"]),
        (["10.0.0.9/30", "10.0.0.9"], ["10.0.0.8", "10.0.0.9", "10.0.0.10", "10.0.0.11"]),
        (["fd00::b", "fd00::1-fd00::2"], ["fd00::1", "fd00::2", "fd00::b"]),
    ],
    ids=["ranges", "single", "cidr-with-host-bits", "ipv6"],
)
def test_lowest_free_first_whatever_the_order_of_entries(
    tenant: Tenant, entries: list[str], expected: list[str]
) -> None:
    pool = tenant.pool(entries)
    got = []
    for index in range(len(expected)):
        tenant.claim(f"c{index}", pool)
        got.append(tenant.answered(f"c{index}"))
    assert got == expected
    tenant.claim("late", pool)
    tenant.refused("late", "PoolExhausted")


def test_claims_of_one_moment_get_one_address_each(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.0/24"])
    names = [f"c{index}" for index in range(40)]
    for name in names:
        tenant.claim(name, pool)
    got = [tenant.answered(name) for name in names]
    assert sorted(got, key=lambda text: int(text.rpartition(".")[2])) == [f"10.0.0.{host}" for host in range(1, 41)]


@pytest.mark.parametrize(
    "reference",
    [
        {"apiGroup": IPAM, "kind": "SomebodysPool", "name": "pool"},
        {"apiGroup": "ipam.example.org", "kind": POOL, "name": "pool"},
    ],
    ids=["kind", "group"],
)
def test_pools_of_other_providers_are_left_alone(tenant: Tenant, reference: dict[str, str]) -> None:
    tenant.pool(["10.0.0.0/24"])
    tenant.claim("theirs", reference)
    claim = tenant.unanswered("theirs")
    assert "finalizers" not in claim["metadata"]
    assert "status" not in claim


@pytest.mark.parametrize("everywhere", [False, True], ids=["namespaced", "global"])
def test_pool_may_come_after_its_claim(tenant: Tenant, everywhere: bool) -> None:
    name = f"{tenant.namespace}-pool" if everywhere else "pool"
    kind = "GlobalInClusterIPPool" if everywhere else POOL
    tenant.claim("early", {"apiGroup": IPAM, "kind": kind, "name": name})
    assert "does not exist" in tenant.refused("early", "PoolNotReady")
    assert "finalizers" not in tenant.get(CLAIM, "early")["metadata"]
    tenant.pool(["10.0.0.7"], everywhere=everywhere)
    assert tenant.answered("early") == "10.0.0.7"
