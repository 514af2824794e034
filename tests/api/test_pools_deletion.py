"""Pools that are deleted: they stay while an address of theirs is used, and give no new one."""

import pytest

from tests.api.tenant import PoolRef, Tenant
from tests.api.witness import ADDRESS, CLAIM, Json, until

FINALIZER = "ipam.cluster.x-k8s.io/ProtectPool"
KINDS = pytest.mark.parametrize("everywhere", [False, True], ids=["namespaced", "global"])


def metadata(tenant: Tenant, pool: PoolRef) -> Json:
    found: Json = tenant.witness.get(pool.kind, pool.namespace, pool.name)["metadata"]
    return found


@KINDS
def test_pool_stays_until_its_last_address_is_given_back(tenant: Tenant, everywhere: bool) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"], everywhere=everywhere)
    until(lambda: metadata(tenant, pool).get("finalizers") == [FINALIZER], "the pool is protected")
    for name in ("a", "b"):
        tenant.claim(name, pool)
        tenant.answered(name)
    tenant.delete_pool(pool)
    for name in ("a", "b"):
        tenant.settle()
        assert metadata(tenant, pool)["finalizers"] == [FINALIZER]
        tenant.delete(CLAIM, name)
        tenant.gone(CLAIM, name)
    tenant.pool_gone(pool)
    until(lambda: not tenant.blocks(pool), "its blocks are gone")


@KINDS
def test_deleting_pool_gives_nothing_more(tenant: Tenant, everywhere: bool) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"], everywhere=everywhere)
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.delete_pool(pool)
    tenant.claim("b", pool)
    assert "being deleted" in tenant.refused("b", "PoolNotReady")
    assert tenant.text_of("a") == "10.0.0.1"
    tenant.delete(CLAIM, "a")
    tenant.pool_gone(pool)
    until(lambda: "does not exist" in tenant.ready("b").get("message", ""), "the claim says that the pool is gone")
    tenant.pool(["10.0.0.5"], everywhere=everywhere)
    assert tenant.answered("b") == "10.0.0.5"


def test_claims_that_wait_do_not_hold_the_pool(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.0/32"], prefix=32)
    tenant.claim("a", pool)
    tenant.refused("a", "PoolExhausted")
    tenant.delete_pool(pool)
    tenant.pool_gone(pool)
    tenant.delete(CLAIM, "a")
    tenant.gone(CLAIM, "a")


def test_unused_pool_goes_at_once(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    until(lambda: metadata(tenant, pool).get("finalizers") == [FINALIZER], "the pool is protected")
    tenant.delete_pool(pool)
    tenant.pool_gone(pool)


def test_pool_forced_away_does_not_hold_its_claims(tenant: Tenant) -> None:
    """Without its pool a claim can still be deleted, and a new pool of that name starts clean."""
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.delete_pool(pool)
    tenant.patch_pool(pool, {"metadata": {"finalizers": []}})
    tenant.pool_gone(pool)
    tenant.delete(CLAIM, "a")
    tenant.gone(CLAIM, "a")
    tenant.gone(ADDRESS, "a")
    tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("b", pool)
    assert tenant.answered("b") == "10.0.0.1"


def test_pool_made_again_under_its_claims_knows_their_addresses(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.delete_pool(pool)
    tenant.patch_pool(pool, {"metadata": {"finalizers": []}})
    tenant.pool_gone(pool)
    tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("b", pool)
    assert tenant.answered("b") == "10.0.0.2"
    tenant.counted(pool, total=9, used=2)


def test_address_without_a_claim_holds_the_pool(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.foreign_address("by-hand", pool, "10.0.0.3")
    tenant.counted(pool, total=9, used=1)
    tenant.delete_pool(pool)
    tenant.settle()
    assert metadata(tenant, pool)["finalizers"] == [FINALIZER]
    tenant.delete(ADDRESS, "by-hand")
    tenant.pool_gone(pool)
