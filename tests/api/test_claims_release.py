"""The end of claims, in any order of deletes: the address comes back once, and only when nobody can use it any more."""

import time
from datetime import datetime

import pytest

from tests.api.tenant import Tenant
from tests.api.witness import ADDRESS, CLAIM, NAMESPACE, until


def test_released_address_is_the_lowest_free_again(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    for name in ("a", "b", "c"):
        tenant.claim(name, pool)
        tenant.answered(name)
    tenant.delete(CLAIM, "b")
    tenant.gone(CLAIM, "b")
    assert tenant.find(ADDRESS, "b") is None
    tenant.counted(pool, total=9, used=2)
    tenant.claim("d", pool)
    assert tenant.answered("d") == "10.0.0.2"


def test_block_forgets_a_released_claim(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    uid = tenant.claim("a", pool)
    tenant.answered("a")
    (block,) = tenant.blocks(pool)
    entry = block["spec"]["entries"]["1"]
    assert (entry["state"], entry["uid"], entry["holder"]) == (
        "Allocated", uid, f"IPAddressClaim/{tenant.namespace}/a"
    )  # fmt: skip
    assert block["status"]["allocated"] == 1
    tenant.delete(CLAIM, "a")
    tenant.gone(CLAIM, "a")
    (block,) = tenant.blocks(pool)
    assert not block["spec"].get("entries")
    assert block["status"]["allocated"] == 0


def test_claim_of_the_same_name_is_a_new_claim(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.delete(CLAIM, "a")
    tenant.gone(CLAIM, "a")
    uid = tenant.claim("a", pool)
    assert tenant.answered("a") == "10.0.0.1"
    assert tenant.get(ADDRESS, "a")["metadata"]["ownerReferences"][0]["uid"] == uid


def test_deleted_address_stays_until_its_claim_goes(tenant: Tenant) -> None:
    """A machine uses it: a delete of the IPAddress alone must not free it."""
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.delete(ADDRESS, "a")
    tenant.settle()
    assert tenant.text_of("a") == "10.0.0.1"
    tenant.claim("b", pool)
    assert tenant.answered("b") == "10.0.0.2"
    tenant.delete(CLAIM, "a")
    tenant.gone(CLAIM, "a")
    tenant.gone(ADDRESS, "a")


def test_address_forced_away_comes_back_the_same(tenant: Tenant) -> None:
    """Somebody takes the finalizer off: the machine still has the address, so its claim keeps exactly that."""
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    for name in ("a", "b"):
        tenant.claim(name, pool)
        tenant.answered(name)
    tenant.delete(CLAIM, "a")
    tenant.gone(CLAIM, "a")
    before = tenant.get(ADDRESS, "b")["metadata"]["uid"]
    tenant.delete(ADDRESS, "b")
    tenant.patch(ADDRESS, "b", {"metadata": {"finalizers": []}})
    until(lambda: (found := tenant.find(ADDRESS, "b")) and found["metadata"]["uid"] != before, "a new IPAddress")
    assert tenant.answered("b") == "10.0.0.2"


def test_claim_forced_away_gives_its_address_back(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1"])
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.claim("b", pool)
    tenant.refused("b", "PoolExhausted")
    tenant.patch(CLAIM, "a", {"metadata": {"finalizers": []}})
    tenant.delete(CLAIM, "a")
    assert tenant.answered("b", timeout=30) == "10.0.0.1"
    tenant.gone(ADDRESS, "a")


def test_claim_without_an_answer_goes_at_once(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1"])
    for name in ("a", "b"):
        tenant.claim(name, pool)
    until(
        lambda: {tenant.ready(name).get("reason") for name in ("a", "b")} == {"AddressAllocated", "PoolExhausted"}, ""
    )
    for name in ("a", "b"):
        tenant.delete(CLAIM, name)
        tenant.gone(CLAIM, name)
    tenant.counted(pool, total=1, used=0)


def test_foreign_finalizers_are_kept(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1"])
    tenant.claim("a", pool)
    tenant.answered("a")
    both = ["example.org/mine", "ipam.cluster.x-k8s.io/ReleaseAddress"]
    tenant.patch(CLAIM, "a", {"metadata": {"finalizers": both}})
    tenant.delete(CLAIM, "a")
    tenant.gone(ADDRESS, "a")
    until(lambda: tenant.get(CLAIM, "a")["metadata"]["finalizers"] == ["example.org/mine"], "only ours is taken off")
    tenant.patch(CLAIM, "a", {"metadata": {"finalizers": []}})
    tenant.gone(CLAIM, "a")


def test_namespace_can_be_deleted_with_everything_in_it(tenant: Tenant) -> None:
    shared = tenant.pool(["10.0.0.1-10.0.0.9"], everywhere=True)
    own = tenant.pool(["10.1.0.1-10.1.0.9"])
    for index in range(3):
        tenant.claim(f"own{index}", own)
        tenant.claim(f"shared{index}", shared)
        tenant.answered(f"own{index}")
        tenant.answered(f"shared{index}")
    tenant.witness.delete(NAMESPACE, None, tenant.namespace)
    until(lambda: tenant.witness.find(NAMESPACE, None, tenant.namespace) is None, "the namespace is gone", 60.0)
    tenant.counted(shared, total=9, used=0)
    until(lambda: not tenant.blocks(own), "the blocks of the namespaced pool are gone")


@pytest.mark.parametrize("everywhere", [False, True], ids=["namespaced", "global"])
def test_address_rests_before_it_is_given_again(tenant: Tenant, everywhere: bool) -> None:
    """The claim itself waits, as users of the in-cluster provider know it; times are whole seconds of the API."""
    pool = tenant.pool(["10.0.0.1"], everywhere=everywhere, addressReuseGracePeriodSeconds=3)
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.claim("b", pool)
    tenant.refused("b", "PoolExhausted")
    tenant.delete(CLAIM, "a")
    begun = datetime.fromisoformat(tenant.get(CLAIM, "a")["metadata"]["deletionTimestamp"]).timestamp()
    assert tenant.text_of("a") == "10.0.0.1"
    tenant.counted(pool, total=1, used=1)
    tenant.gone(ADDRESS, "a")
    assert time.time() - begun >= 3.0
    assert tenant.answered("b") == "10.0.0.1"
    tenant.gone(CLAIM, "a")


def test_rest_ends_when_the_pool_is_deleted(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1"], addressReuseGracePeriodSeconds=300)
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.delete_pool(pool)
    tenant.delete(CLAIM, "a")
    tenant.gone(CLAIM, "a")
    tenant.gone(ADDRESS, "a")
    tenant.pool_gone(pool)


def test_rest_ends_when_the_pool_is_deleted_after_the_claim(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1"], addressReuseGracePeriodSeconds=300)
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.delete(CLAIM, "a")
    tenant.settle()
    assert tenant.text_of("a") == "10.0.0.1"
    tenant.delete_pool(pool)
    tenant.gone(CLAIM, "a")
    tenant.pool_gone(pool)


def test_shortened_rest_counts_at_once(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1"], addressReuseGracePeriodSeconds=300)
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.delete(CLAIM, "a")
    tenant.settle()
    tenant.patch_pool(pool, {"spec": {"addressReuseGracePeriodSeconds": 0}})
    tenant.gone(CLAIM, "a")
