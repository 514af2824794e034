"""Which claims share addresses: a global pool serves all namespaces, everything else is separate."""

from tests.api.tenant import Tenant
from tests.api.witness import ADDRESS, CLAIM, GLOBAL_POOL


def other(tenant: Tenant) -> Tenant:
    return Tenant.create(tenant.witness, f"{tenant.namespace}-b")


def test_global_pool_gives_no_address_twice(tenant: Tenant) -> None:
    pool, second = tenant.pool(["10.0.0.1-10.0.0.9"], everywhere=True, gateway="10.0.0.2"), other(tenant)
    tenant.claim("first", pool)
    assert tenant.answered("first") == "10.0.0.1"
    second.claim("second", pool)
    assert second.answered("second") == "10.0.0.3"
    address = second.get(ADDRESS, "second")
    assert address["spec"]["poolRef"]["kind"] == GLOBAL_POOL
    assert address["spec"]["gateway"] == "10.0.0.2"
    assert [owner["kind"] for owner in address["metadata"]["ownerReferences"]] == [CLAIM, GLOBAL_POOL]
    tenant.counted(pool, total=8, used=2)


def test_claims_of_one_name_in_two_namespaces(tenant: Tenant) -> None:
    pool, second = tenant.pool(["10.0.0.1-10.0.0.9"], everywhere=True), other(tenant)
    tenant.claim("same", pool)
    second.claim("same", pool)
    assert {tenant.answered("same"), second.answered("same")} == {"10.0.0.1", "10.0.0.2"}


def test_pools_of_one_name_in_two_namespaces_are_two_pools(tenant: Tenant) -> None:
    second = other(tenant)
    tenant.claim("one", tenant.pool(["10.0.0.50"]))
    second.claim("one", second.pool(["10.0.0.50"]))
    assert tenant.answered("one") == second.answered("one") == "10.0.0.50"


def test_a_global_and_a_namespaced_pool_of_one_name_are_two_pools(tenant: Tenant) -> None:
    everywhere = tenant.pool(["10.0.0.50"], everywhere=True)
    tenant.claim("one", tenant.pool(["10.0.0.50"], everywhere.name))
    tenant.claim("two", everywhere)
    assert tenant.answered("one") == tenant.answered("two") == "10.0.0.50"


def test_a_namespaced_pool_serves_its_namespace_only(tenant: Tenant) -> None:
    second = other(tenant)
    second.claim("one", tenant.pool(["10.0.0.50"]).reference)
    assert "does not exist" in second.refused("one", "PoolNotReady")


def test_full_global_pool_answers_another_namespace_when_space_frees(tenant: Tenant) -> None:
    pool, second = tenant.pool(["10.0.0.7"], everywhere=True), other(tenant)
    tenant.claim("first", pool)
    tenant.answered("first")
    second.claim("second", pool)
    second.refused("second", "PoolExhausted")
    tenant.delete(CLAIM, "first")
    assert second.answered("second") == "10.0.0.7"
