"""Bad pools: refused when written, or else explained on each claim, and nothing else is disturbed."""

from typing import Any

import pytest

from tests.api.tenant import Tenant
from tests.api.witness import Refused

REFUSED: dict[str, dict[str, Any]] = {
    "no-addresses": {"addresses": []},
    "garbage": {"addresses": ["garbage"]},
    "octet-too-large": {"addresses": ["10.0.0.256"]},
    "octal": {"addresses": ["010.0.0.1"]},
    "no-end": {"addresses": ["10.0.0.1-"]},
    "two-dashes": {"addresses": ["10.0.0.1-10.0.0.2-10.0.0.3"]},
    "cidr-and-range": {"addresses": ["10.0.0.0/24-10.0.0.9"]},
    "cidr-too-long": {"addresses": ["10.0.0.0/33"]},
    "range-of-two-families": {"addresses": ["10.0.0.1-fd00::1"]},
    "prefix-below-zero": {"prefix": -1},
    "prefix-too-long-for-ipv4": {"prefix": 33},
    "prefix-too-long-for-ipv6": {"addresses": ["fd00::1"], "prefix": 129},
    "prefix-is-no-number": {"prefix": "24"},
    "bad-gateway": {"gateway": "the router"},
    "gateway-of-other-family": {"gateway": "fd00::1"},
    "bad-exclusion": {"excludedAddresses": ["10.0.0.999"]},
    "exclusion-of-other-family": {"excludedAddresses": ["fd00::1"]},
    "rest-below-zero": {"addressReuseGracePeriodSeconds": -1},
}

EXPLAINED: dict[str, tuple[dict[str, Any], str]] = {
    "reversed": ({"addresses": ["10.0.0.9-10.0.0.1"]}, "spec.addresses: '10.0.0.9-10.0.0.1' is reversed"),
    "two-families": ({"addresses": ["10.0.0.1", "fd00::1"]}, "spec.addresses: 'fd00::1' is IPv6"),
    "two-subnets": ({"addresses": ["10.0.0.1", "10.0.1.1"]}, "spec.addresses: not all of them lie in one /24"),
    "larger-than-its-subnet": ({"addresses": ["10.0.0.0/23"]}, "spec.addresses: not all of them lie in one /24"),
    "reversed-exclusion": (
        {"excludedAddresses": ["10.0.0.9-10.0.0.1"]}, "spec.excludedAddresses: '10.0.0.9-10.0.0.1' is reversed"
    ),
}  # fmt: skip


@pytest.mark.parametrize("everywhere", [False, True], ids=["namespaced", "global"])
@pytest.mark.parametrize("spec", REFUSED.values(), ids=REFUSED.keys())
def test_refused_when_written(place: Tenant, spec: dict[str, Any], everywhere: bool) -> None:
    with pytest.raises(Refused) as refused:
        place.pool(**{"addresses": ["10.0.0.1-10.0.0.9"], "everywhere": everywhere, **spec})
    assert refused.value.code == 422
    assert next(iter(spec.keys() - {"prefix"} or spec.keys())) in str(refused.value)


@pytest.mark.parametrize(("spec", "message"), EXPLAINED.values(), ids=EXPLAINED.keys())
def test_explained_on_the_claim_until_it_is_corrected(tenant: Tenant, spec: dict[str, Any], message: str) -> None:
    pool = tenant.pool(**{"addresses": ["10.0.0.1-10.0.0.9"], **spec})
    tenant.claim("one", pool)
    assert message in tenant.refused("one", "PoolNotReady")
    good = tenant.pool(["10.1.0.1-10.1.0.9"], "good")
    tenant.claim("other", good)
    assert tenant.answered("other") == "10.1.0.1"
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.5"], "excludedAddresses": []}})
    assert tenant.answered("one") == "10.0.0.5"


def test_pool_that_becomes_unusable_takes_nothing_away(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("one", pool)
    tenant.answered("one")
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.9-10.0.0.1"]}})
    tenant.claim("two", pool)
    tenant.refused("two", "PoolNotReady")
    assert tenant.ready("one")["status"] == "True"
    tenant.counted(pool, total=0, used=1, out_of_range=1)
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.1-10.0.0.9"]}})
    assert tenant.answered("two") == "10.0.0.2"


def test_claim_of_an_unusable_pool_can_be_deleted(tenant: Tenant) -> None:
    """And its address is free once the pool is usable again."""
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("one", pool)
    tenant.answered("one")
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.9-10.0.0.1"]}})
    tenant.settle()
    tenant.delete("IPAddressClaim", "one")
    tenant.gone("IPAddressClaim", "one")
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.1-10.0.0.9"]}})
    tenant.claim("two", pool)
    assert tenant.answered("two") == "10.0.0.1"


def test_pools_that_overlap_each_other_are_separate(tenant: Tenant) -> None:
    """Two pools of no network may sit on two segments: nobody here can know, so neither is refused."""
    for name in ("left", "right"):
        tenant.claim(name, tenant.pool(["10.0.0.1-10.0.0.9"], name))
        assert tenant.answered(name) == "10.0.0.1"
