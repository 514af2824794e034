"""Claims that wait for space are answered as soon as there is some, however it came."""

from tests.api.tenant import Tenant
from tests.api.witness import CLAIM, until

SOON = 3.0
"""Seconds. Far below any regular look at everything, so only an event can be the cause."""


def test_full_pool_says_so_and_why(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.7"])
    tenant.claim("first", pool)
    tenant.answered("first")
    tenant.claim("second", pool)
    message = tenant.refused("second", "PoolExhausted")
    assert "1 allocated" in message
    assert tenant.namespace in message
    tenant.counted(pool, total=1, used=1)
    assert "addressRef" not in tenant.get(CLAIM, "second")["status"]


def test_release_answers_one_that_waits(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.7"])
    tenant.claim("first", pool)
    tenant.answered("first")
    tenant.claim("second", pool)
    tenant.refused("second", "PoolExhausted")
    tenant.delete(CLAIM, "first")
    assert tenant.answered("second", SOON) == "10.0.0.7"
    tenant.gone(CLAIM, "first")


def test_waiting_claims_are_answered_oldest_first(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.7"])
    for name in ("a", "b", "c"):
        tenant.claim(name, pool)
        if name == "a":
            tenant.answered(name)
        else:
            tenant.refused(name, "PoolExhausted")
    tenant.delete(CLAIM, "a")
    assert tenant.answered("b", SOON) == "10.0.0.7"
    tenant.refused("c", "PoolExhausted")
    tenant.delete(CLAIM, "b")
    assert tenant.answered("c", SOON) == "10.0.0.7"


def test_a_waiting_claim_that_is_deleted_leaves_its_turn(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.7"])
    tenant.claim("first", pool)
    tenant.answered("first")
    for name in ("second", "third"):
        tenant.claim(name, pool)
        tenant.refused(name, "PoolExhausted")
    tenant.delete(CLAIM, "second")
    tenant.gone(CLAIM, "second")
    tenant.delete(CLAIM, "first")
    assert tenant.answered("third", SOON) == "10.0.0.7"


def test_larger_range_answers_all_that_wait(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1"])
    names = [f"c{index}" for index in range(5)]
    for name in names:
        tenant.claim(name, pool)
    until(lambda: sum(tenant.ready(name).get("reason") == "PoolExhausted" for name in names) == 4, "four claims wait")
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.1-10.0.0.5"]}})
    assert {tenant.answered(name, SOON) for name in names} == {f"10.0.0.{host}" for host in range(1, 6)}


def test_lifted_exclusion_answers_a_waiting_claim(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.2"], excludedAddresses=["10.0.0.1", "10.0.0.2"])
    tenant.claim("one", pool)
    tenant.refused("one", "PoolExhausted")
    tenant.patch_pool(pool, {"spec": {"excludedAddresses": ["10.0.0.1"]}})
    assert tenant.answered("one", SOON) == "10.0.0.2"


def test_pool_below_zero_wakes_when_it_rises_above(tenant: Tenant) -> None:
    """A range that was cut under used addresses has less than nothing free; growing it must be noticed all the same."""
    pool = tenant.pool(["10.0.0.1-10.0.0.4"])
    for index in range(4):
        tenant.claim(f"c{index}", pool)
        tenant.answered(f"c{index}")
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.1"]}})
    tenant.counted(pool, total=1, used=4, out_of_range=3)
    tenant.claim("late", pool)
    tenant.refused("late", "PoolExhausted")
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.1-10.0.0.6"]}})
    assert tenant.answered("late", SOON) == "10.0.0.5"
    tenant.counted(pool, total=6, used=5)


def test_release_in_a_pool_below_zero_gives_nothing_outside_the_range(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.3"])
    for index in range(3):
        tenant.claim(f"c{index}", pool)
        assert tenant.answered(f"c{index}") == f"10.0.0.{index + 1}"
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.1"]}})
    tenant.claim("late", pool)
    tenant.refused("late", "PoolExhausted")
    tenant.delete(CLAIM, "c2")
    tenant.gone(CLAIM, "c2")
    tenant.unanswered("late")
    tenant.delete(CLAIM, "c0")
    assert tenant.answered("late", SOON) == "10.0.0.1"
