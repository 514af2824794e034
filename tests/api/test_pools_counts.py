"""A pool's status in numbers, for both kinds of pools, as the in-cluster provider's users and its formula know them."""

from typing import Any

import pytest

from tests.api.tenant import Tenant
from tests.api.witness import CLAIM

CASES: dict[str, tuple[list[str], int, dict[str, Any], int]] = {
    "range": (["10.0.0.10-10.0.0.20"], 24, {}, 11),
    "gateway-inside": (["10.0.0.10-10.0.0.20"], 24, {"gateway": "10.0.0.15"}, 10),
    "gateway-outside": (["10.0.0.10-10.0.0.20"], 24, {"gateway": "10.0.0.1"}, 11),
    "network-address": (["10.0.0.0-10.0.0.1"], 24, {"gateway": "10.0.0.2"}, 1),
    "broadcast-address": (["10.0.0.254-10.0.0.255"], 24, {}, 1),
    "cidr": (["10.0.0.0/24"], 24, {}, 254),
    "overlapping-entries": (["10.0.0.0/28", "10.0.0.8-10.0.0.23", "10.0.0.9"], 24, {}, 23),
    "exclusions": (["10.0.0.0/24"], 24, {"excludedAddresses": ["10.0.0.128/25", "10.0.0.1"]}, 126),
    "all-excluded": (["10.0.0.1-10.0.0.2"], 24, {"excludedAddresses": ["10.0.0.0/24"]}, 0),
    "point-to-point": (["10.0.0.0/31"], 31, {}, 0),
    "point-to-point-on-request": (["10.0.0.0/31"], 31, {"allocateReservedIPAddresses": True}, 2),
    "v6-last-is-usable": (["fe80::ffff"], 120, {}, 1),
    "v6-cidr": (["fd00::/120"], 120, {}, 255),
}


@pytest.mark.parametrize("everywhere", [False, True], ids=["namespaced", "global"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_total_of_an_unused_pool(
    tenant: Tenant, case: tuple[list[str], int, dict[str, Any], int], everywhere: bool
) -> None:
    entries, prefix, spec, total = case
    tenant.counted(tenant.pool(entries, prefix=prefix, everywhere=everywhere, **spec), total=total, used=0)


@pytest.mark.parametrize("everywhere", [False, True], ids=["namespaced", "global"])
def test_counts_follow_claims(tenant: Tenant, everywhere: bool) -> None:
    pool = tenant.pool(["10.0.0.10-10.0.0.20"], everywhere=everywhere)
    tenant.counted(pool, total=11, used=0)
    for used in (1, 2):
        tenant.claim(f"c{used}", pool)
        tenant.answered(f"c{used}")
        tenant.counted(pool, total=11, used=used)
    tenant.delete(CLAIM, "c1")
    tenant.counted(pool, total=11, used=1)


@pytest.mark.parametrize("everywhere", [False, True], ids=["namespaced", "global"])
def test_shrunk_pool_tells_what_is_out_of_range(tenant: Tenant, everywhere: bool) -> None:
    """Claims keep what they have; as they go, the numbers recover."""
    pool = tenant.pool(["10.0.0.10-10.0.0.20"], everywhere=everywhere)
    for index in range(5):
        tenant.claim(f"c{index}", pool)
        tenant.answered(f"c{index}")
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.13-10.0.0.20"]}})
    tenant.counted(pool, total=8, used=5, out_of_range=3)
    assert [tenant.answered(f"c{index}") for index in range(5)] == [f"10.0.0.{10 + index}" for index in range(5)]
    tenant.delete(CLAIM, "c0")
    tenant.counted(pool, total=8, used=4, out_of_range=2)


@pytest.mark.parametrize(
    ("before", "after", "total"),
    [
        ({"allocateReservedIPAddresses": True}, {"allocateReservedIPAddresses": False}, 254),
        ({}, {"gateway": "10.0.0.1"}, 253),
        ({}, {"excludedAddresses": ["10.0.0.1"]}, 253),
    ],
    ids=["reserved-off", "gateway-moved", "excluded"],
)
def test_used_address_that_may_no_longer_be_given_is_out_of_range(
    tenant: Tenant, before: dict[str, Any], after: dict[str, Any], total: int
) -> None:
    pool = tenant.pool(["10.0.0.0/24"], **before)
    tenant.claim("a", pool)
    tenant.answered("a")
    tenant.patch_pool(pool, {"spec": after})
    tenant.counted(pool, total=total, used=1, out_of_range=1)


def test_metadata_of_a_pool_that_is_out_of_range_can_be_edited(tenant: Tenant) -> None:
    """Whatever its numbers are, an annotation, a pause or a finalizer is nobody's loss."""
    pool = tenant.pool(["10.0.0.1-10.0.0.2"])
    for name in ("a", "b"):
        tenant.claim(name, pool)
        tenant.answered(name)
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.1"]}})
    tenant.counted(pool, total=1, used=2, out_of_range=1)
    tenant.patch_pool(pool, {"metadata": {"annotations": {"example.org/note": "kept"}, "labels": {"a": "b"}}})
    tenant.delete(CLAIM, "b")
    tenant.counted(pool, total=1, used=1)
    found = tenant.witness.get(pool.kind, pool.namespace, pool.name)["metadata"]
    assert found["annotations"]["example.org/note"] == "kept"
