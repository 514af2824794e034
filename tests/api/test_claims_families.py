"""Both families, subnets of every size, and which addresses of a subnet are never given."""

from typing import Any

import pytest

from tests.api.tenant import Tenant
from tests.api.witness import ADDRESS


@pytest.mark.parametrize(
    ("entries", "prefix", "spec", "expected"),
    [
        (["10.0.0.0/24"], 24, {}, "10.0.0.1"),
        (["10.0.0.0/24"], 24, {"allocateReservedIPAddresses": True}, "10.0.0.0"),
        (["10.0.0.0/24"], 24, {"allocateReservedIPAddresses": True, "gateway": "10.0.0.0"}, "10.0.0.1"),
        (["10.0.0.255-10.0.1.0"], 16, {}, "10.0.0.255"),
        (["10.0.1.0-10.0.1.1"], 16, {}, "10.0.1.0"),
        (["10.0.255.254-10.0.255.255"], 16, {}, "10.0.255.254"),
        (["10.0.0.9"], 32, {"allocateReservedIPAddresses": True}, "10.0.0.9"),
        (["10.0.0.0-10.0.0.7"], 0, {}, "10.0.0.0"),
        (["10.0.0.0/24"], 24, {"excludedAddresses": ["10.0.0.0/25"]}, "10.0.0.128"),
        (["fd00::/120"], 120, {}, "fd00::1"),
        (["fd00::/120"], 120, {"allocateReservedIPAddresses": True}, "fd00::"),
        (["fd00::ff"], 120, {}, "fd00::ff"),
        (["fd00::/120"], 120, {"gateway": "fd00::1"}, "fd00::2"),
        (["FD00:0::A"], 64, {}, "fd00::a"),
        (["fd00::1-fd00::ffff"], 64, {"excludedAddresses": ["fd00::1-fd00::fffe"]}, "fd00::ffff"),
        (["::1.2.3.4"], 64, {}, "::102:304"),
    ],
    ids=[
        "v4-network-left-out", "v4-reserved-on-request", "v4-gateway-out-even-then", "v4-255-inside-a-16",
        "v4-0-inside-a-16", "v4-broadcast-of-a-16", "v4-host-prefix", "v4-prefix-0", "v4-half-excluded",
        "v6-anycast-left-out", "v6-anycast-on-request", "v6-last-is-usable", "v6-gateway", "v6-canonical-text",
        "v6-all-but-one-excluded", "v6-in-v4-form",
    ],
)  # fmt: skip
def test_first_address(tenant: Tenant, entries: list[str], prefix: int, spec: dict[str, Any], expected: str) -> None:
    pool = tenant.pool(entries, prefix=prefix, **spec)
    tenant.claim("one", pool)
    assert tenant.answered("one") == expected
    assert tenant.get(ADDRESS, "one")["spec"]["prefix"] == prefix


@pytest.mark.parametrize(
    ("entries", "prefix", "total", "expected"),
    [
        (["10.0.0.0/8"], 8, 2**24 - 2, ["10.0.0.1", "10.0.0.2"]),
        (["0.0.0.0/0"], 0, 2**32 - 2, ["0.0.0.1", "0.0.0.2"]),
        (["fd00::/48"], 48, 2**63 - 1, ["fd00::1", "fd00::2"]),
        (["::/0"], 0, 2**63 - 1, ["::1", "::2"]),
        (["fd00::/66"], 66, 2**62 - 1, ["fd00::1", "fd00::2"]),
    ],
    ids=["v4-8", "v4-all", "v6-48", "v6-all", "v6-just-countable"],
)
def test_huge_pools_answer_like_small_ones(
    tenant: Tenant, entries: list[str], prefix: int, total: int, expected: list[str]
) -> None:
    """What cannot be counted in 63 bits is told as the largest number that can."""
    pool = tenant.pool(entries, prefix=prefix)
    for index, address in enumerate(expected):
        tenant.claim(f"c{index}", pool)
        assert tenant.answered(f"c{index}") == address
    tenant.counted(pool, total=total, used=2)


def test_huge_pool_with_its_lower_half_excluded(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.0/8"], prefix=8, excludedAddresses=["10.0.0.0/9"])
    tenant.claim("one", pool)
    assert tenant.answered("one", timeout=5) == "10.128.0.0"


def test_both_families_for_one_machine(tenant: Tenant) -> None:
    """Dual stack is two pools and two claims."""
    four = tenant.pool(["10.0.0.10-10.0.0.20"], "four", gateway="10.0.0.1")
    six = tenant.pool(["fd00::10-fd00::20"], "six", prefix=64, gateway="fd00::1")
    tenant.claim("machine-net0-inet", four)
    tenant.claim("machine-net0-inet6", six)
    assert tenant.answered("machine-net0-inet") == "10.0.0.10"
    assert tenant.answered("machine-net0-inet6") == "fd00::10"
    assert tenant.get(ADDRESS, "machine-net0-inet6")["spec"]["gateway"] == "fd00::1"


def test_more_addresses_than_one_block_holds(tenant: Tenant) -> None:
    """The range crosses from one block to the next, and the book goes on there."""
    pool = tenant.pool(["10.0.0.254-10.0.1.3"], prefix=16)
    got = []
    for index in range(6):
        tenant.claim(f"c{index}", pool)
        got.append(tenant.answered(f"c{index}"))
    assert got == ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1", "10.0.1.2", "10.0.1.3"]
    assert sorted(block["spec"]["first"] for block in tenant.blocks(pool)) == ["10.0.0.0", "10.0.1.0"]
