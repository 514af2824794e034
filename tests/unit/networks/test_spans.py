"""Reading one family's addresses: what is taken, what is left out, and what each mistake is told."""

import pytest

from provider.core.addresses import Family
from provider.core.spans import read_span

GOOD = [
    ("a range without gateway", Family.IPv4, ["10.0.0.10-10.0.0.20"], [], 24, None, 11, "10.0.0.0/24"),
    ("network and broadcast are kept", Family.IPv4, ["10.0.0.0/24"], [], 24, None, 254, "10.0.0.0/24"),
    ("the gateway is kept", Family.IPv4, ["10.0.0.0/24"], [], 24, "10.0.0.1", 253, "10.0.0.0/24"),
    ("exclusions are kept", Family.IPv4, ["10.0.0.10-10.0.0.20"], ["10.0.0.12-10.0.0.13"], 24, None, 9, "10.0.0.0/24"),
    ("exclusions outside do nothing", Family.IPv4, ["10.0.0.10"], ["10.0.0.99"], 24, None, 1, "10.0.0.0/24"),
    ("overlapping entries count once", Family.IPv4, ["10.0.0.8/30", "10.0.0.9"], [], 24, None, 4, "10.0.0.0/24"),
    ("x.x.0.255 inside a /16 is an address", Family.IPv4, ["10.0.0.255"], [], 16, None, 1, "10.0.0.0/16"),
    ("a /31 has two addresses", Family.IPv4, ["10.0.0.2/31"], [], 31, None, 2, "10.0.0.2/31"),
    ("a /32 has one address", Family.IPv4, ["10.0.0.2"], [], 32, None, 1, "10.0.0.2/32"),
    ("IPv6 keeps its first, gives its last", Family.IPv6, ["fd00::/120"], [], 120, None, 255, "fd00::/120"),
    ("a /8 costs nothing", Family.IPv4, ["10.0.0.0/8"], [], 8, "10.0.0.1", 2**24 - 3, "10.0.0.0/8"),
    ("a /48 costs nothing", Family.IPv6, ["fd01::/48"], [], 48, "fd01::1", 2**80 - 2, "fd01::/48"),
]


@pytest.mark.parametrize(
    ("family", "addresses", "excluded", "prefix", "gateway", "size", "cidr"),
    [case[1:] for case in GOOD],
    ids=[case[0] for case in GOOD],
)
def test_good(family, addresses, excluded, prefix, gateway, size, cidr):
    span, problems = read_span(family, addresses, excluded, prefix, gateway)
    assert problems == ()
    assert span is not None
    assert (span.allocatable.size, span.cidr) == (size, cidr)


BAD = [
    ("reversed", ["10.0.0.20-10.0.0.10"], [], 24, None, "addresses", "is reversed: write 10.0.0.10-10.0.0.20"),
    ("other family", ["fd00::1"], [], 24, None, "addresses", "'fd00::1' is IPv6, but IPv4 addresses are wanted"),
    ("garbage", ["ten"], [], 24, None, "addresses", "'ten' is no IP address"),
    ("empty text", [""], [], 24, None, "addresses", "'' is no IP address"),
    ("no addresses", [], [], 24, None, "addresses", "the list is empty"),
    ("prefix too long", ["10.0.0.1"], [], 33, None, "prefix", "prefix 33 does not fit IPv4"),
    ("two subnets", ["10.0.0.10", "10.0.1.10"], [], 24, None, "addresses", "10.0.1.10 lies outside 10.0.0.0/24"),
    ("gateway outside", ["10.0.0.10"], [], 24, "10.1.0.1", "gateway", "'10.1.0.1' lies outside 10.0.0.0/24"),
    ("gateway of the other family", ["10.0.0.10"], [], 24, "fd00::1", "gateway", "is IPv6, but the addresses are IPv4"),
    ("gateway garbage", ["10.0.0.10"], [], 24, "router", "gateway", "'router' is no IP address"),
    ("exclusion garbage", ["10.0.0.10"], ["10.0.0"], 24, None, "excludedAddresses", "'10.0.0' is no IP address"),
    ("nothing left", ["10.0.0.1"], [], 24, "10.0.0.1", "addresses", "no address is left"),
]


@pytest.mark.parametrize(
    ("addresses", "excluded", "prefix", "gateway", "field", "text"),
    [case[1:] for case in BAD],
    ids=[case[0] for case in BAD],
)
def test_bad(addresses, excluded, prefix, gateway, field, text):
    span, problems = read_span(Family.IPv4, addresses, excluded, prefix, gateway)
    assert span is None
    assert [problem.field for problem in problems] == [field]
    assert text in problems[0].message


def test_all_problems_are_told_at_once():
    _, problems = read_span(Family.IPv4, ["10.0.0.9", "x", "fd00::1"], ["y"], 24, "10.9.0.1")
    assert [problem.field for problem in problems] == ["addresses", "addresses", "excludedAddresses", "gateway"]
