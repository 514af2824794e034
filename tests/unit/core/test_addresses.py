"""How addresses, ranges and CIDRs are written: which texts are read, and what is said of the others."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider.core.addresses import (
    AddressError,
    Family,
    format_address,
    format_interval,
    parse_address,
    parse_cidr,
    parse_entries,
    parse_entry,
    reserved_in_subnet,
    subnet,
)
from provider.core.ranges import Ranges

v4 = st.integers(0, (1 << 32) - 1)
v6 = st.integers(0, (1 << 128) - 1)


def number(text: str) -> int:
    return int(ipaddress.ip_address(text))


@given(v4)
def test_ipv4_there_and_back(address: int) -> None:
    assert parse_address(format_address(Family.IPv4, address)) == (Family.IPv4, address)


@given(st.one_of(v6, st.integers(0, 1 << 34)))
def test_ipv6_there_and_back_in_canonical_form(address: int) -> None:
    """Also the lowest addresses, which some libraries write with dots."""
    text = format_address(Family.IPv6, address)
    assert parse_address(text) == (Family.IPv6, address)
    assert "." not in text
    assert text == text.lower()


@pytest.mark.parametrize(
    ("text", "family", "first", "last"),
    [
        ("10.0.0.7", Family.IPv4, "10.0.0.7", "10.0.0.7"),
        ("10.0.0.10-10.0.0.12", Family.IPv4, "10.0.0.10", "10.0.0.12"),
        ("10.0.0.10-10.0.0.10", Family.IPv4, "10.0.0.10", "10.0.0.10"),
        ("10.0.0.0/30", Family.IPv4, "10.0.0.0", "10.0.0.3"),
        ("10.0.0.9/24", Family.IPv4, "10.0.0.0", "10.0.0.255"),
        ("10.0.0.9/32", Family.IPv4, "10.0.0.9", "10.0.0.9"),
        ("0.0.0.0/0", Family.IPv4, "0.0.0.0", "255.255.255.255"),
        ("fe80::1", Family.IPv6, "fe80::1", "fe80::1"),
        ("FE80:0::0001", Family.IPv6, "fe80::1", "fe80::1"),
        ("fe80::10-fe80::ff", Family.IPv6, "fe80::10", "fe80::ff"),
        ("fe80::12/126", Family.IPv6, "fe80::10", "fe80::13"),
        ("::1.2.3.4", Family.IPv6, "::102:304", "::102:304"),
    ],
)
def test_entry_is_an_address_a_range_or_a_cidr(text: str, family: Family, first: str, last: str) -> None:
    assert parse_entry(text) == (family, (number(first), number(last)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'' is no IP address"),
        (" ", "' ' is no IP address"),
        ("blue", "'blue' is no IP address"),
        ("10.1", "'10.1' is no IP address"),
        ("10.0.0.256", "'10.0.0.256' is no IP address"),
        ("10.0.0.1.2", "'10.0.0.1.2' is no IP address"),
        (" 10.0.0.1", "' 10.0.0.1' is no IP address"),
        ("010.0.0.1", "'010.0.0.1' is no IP address"),
        ("0x0a.0.0.1", "'0x0a.0.0.1' is no IP address"),
        ("167772161", "'167772161' is no IP address"),
        ("fe80:::1", "'fe80:::1' is no IP address"),
        ("fe80::1::2", "'fe80::1::2' is no IP address"),
        ("fe80::1%eth0", "'fe80::1%eth0' is no IP address"),
        ("10.0.0.1-", "'10.0.0.1-' is no range: '' is no IP address"),
        ("-10.0.0.1", "'-10.0.0.1' is no range: '' is no IP address"),
        ("10.0.0.1-9", "'10.0.0.1-9' is no range: '9' is no IP address"),
        ("10.0.0.1--10.0.0.3", "'10.0.0.1--10.0.0.3' is no range"),
        ("10.0.0.1-10.0.0.2-10.0.0.3", "is no range: '10.0.0.2-10.0.0.3' is no IP address"),
        ("10.0.0.0/24-10.0.0.5", "is no range: '10.0.0.0/24' is no IP address"),
        ("10.0.0.1-10.0.1.0/24", "is no range: '10.0.1.0/24' is no IP address"),
        ("10.0.0.9-10.0.0.1", "'10.0.0.9-10.0.0.1' is reversed: write 10.0.0.1-10.0.0.9"),
        ("10.0.0.1-fe80::1", "'10.0.0.1-fe80::1' mixes IPv4 and IPv6"),
        ("10.0.0.0/33", "'10.0.0.0/33': the prefix must be a number from 0 to 32"),
        ("10.0.0.0/", "'10.0.0.0/': the prefix must be a number from 0 to 32"),
        ("10.0.0.0/+24", "'10.0.0.0/+24': the prefix must be a number from 0 to 32"),
        ("10.0.0.0/²", "'10.0.0.0/²': the prefix must be a number from 0 to 32"),
        ("10.0.0.0/255.255.255.0", "the prefix must be a number from 0 to 32"),
        ("10.0.0.0/-1", "'10.0.0.0/-1' is no range"),
        ("fe80::/129", "'fe80::/129': the prefix must be a number from 0 to 128"),
        ("/24", "'' is no IP address"),
    ],
)
def test_anything_else_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(AddressError) as refused:
        parse_entry(text)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("entries", "size", "meaning"),
    [
        (["10.0.0.1"], 1, "one address"),
        (["10.0.0.1", "10.0.0.3"], 2, "two addresses"),
        (["10.0.0.0/28"], 16, "a CIDR"),
        (["10.0.0.0-10.0.0.9", "10.0.0.5-10.0.0.14"], 15, "what overlaps counts once"),
        (["10.0.1.0/24", "10.0.0.0/31"], 258, "two CIDRs, in any order"),
        (["fe80::/126"], 4, "a small IPv6 subnet"),
        (["fe80::/64"], 1 << 64, "one more than a machine word holds"),
        (["fe80::/24"], 1 << 104, "far more than that"),
    ],
)
def test_entries_are_one_set(entries: list[str], size: int, meaning: str) -> None:
    assert parse_entries(entries).ranges.size == size, meaning


def test_a_list_has_one_family() -> None:
    with pytest.raises(AddressError, match="'fe80::1' is IPv6, but IPv4 addresses are wanted here"):
        parse_entries(["10.0.0.1", "fe80::1"])
    with pytest.raises(AddressError, match=r"'10\.0\.0\.1' is IPv4, but IPv6 addresses are wanted here"):
        parse_entries(["10.0.0.1"], Family.IPv6)


def test_no_entries_mean_nothing_only_where_the_family_is_known() -> None:
    assert parse_entries([], Family.IPv6).ranges == Ranges()
    with pytest.raises(AddressError, match="empty"):
        parse_entries([])


@given(v4, st.integers(0, 32))
def test_subnet_agrees_with_the_standard_library(address: int, prefix: int) -> None:
    network = ipaddress.ip_network((address, prefix), strict=False)
    assert subnet(Family.IPv4, address, prefix) == (int(network[0]), int(network[-1]))


@pytest.mark.parametrize(("family", "prefix"), [(Family.IPv4, 33), (Family.IPv4, -1), (Family.IPv6, 129)])
def test_a_prefix_that_does_not_fit_is_refused(family: Family, prefix: int) -> None:
    with pytest.raises(AddressError, match=f"prefix {prefix} does not fit {family}"):
        subnet(family, 0, prefix)


def test_reserved_are_both_ends_of_an_ipv4_subnet_and_the_first_of_an_ipv6_one() -> None:
    ends = reserved_in_subnet(Family.IPv4, number("10.1.2.3"), 16)
    assert [format_interval(Family.IPv4, one) for one in ends.intervals] == ["10.1.0.0", "10.1.255.255"]
    anycast = reserved_in_subnet(Family.IPv6, number("fe80::5"), 120)
    assert [format_interval(Family.IPv6, one) for one in anycast.intervals] == ["fe80::"]


@pytest.mark.parametrize("text", ["10.0.0.7", "10.0.0.7-10.0.1.9", "fe80::1-fe80::ff"])
def test_an_interval_is_written_as_an_entry_that_reads_back(text: str) -> None:
    family, interval = parse_entry(text)
    assert format_interval(family, interval) == text


def test_a_cidr_needs_its_prefix() -> None:
    with pytest.raises(AddressError, match="must be a number from 0 to 32"):
        parse_cidr("10.0.0.0")
