"""What pools give by the in-cluster provider's rules, what they count, and which book is theirs."""

import sys

import pytest

from provider.api.pool import Pool, read_pool
from provider.core.addresses import AddressError, format_interval, parse_address, parse_entries
from provider.core.books import BookSpec
from provider.core.pools import Binding, PoolReason, Refusal, allocatable, bind, count


def pool(namespace: str = "team", **spec) -> Pool:
    return read_pool(
        {
            "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
            "kind": "InClusterIPPool",
            "metadata": {"name": "p", "namespace": namespace, "uid": "u", "resourceVersion": "1"},
            "spec": spec,
        }
    )


def given(**spec) -> list[str]:
    book = allocatable(pool(**spec))
    return [format_interval(book.family, one) for one in book.allocatable.intervals]


@pytest.mark.parametrize(
    ("spec", "gives"),
    [
        ({"addresses": ["10.0.0.0/29"], "prefix": 29}, ["10.0.0.1-10.0.0.6"]),
        ({"addresses": ["10.0.0.0-10.0.1.255"], "prefix": 16}, ["10.0.0.1-10.0.1.255"]),
        ({"addresses": ["10.0.0.0/30"], "prefix": 30, "allocateReservedIPAddresses": True}, ["10.0.0.0-10.0.0.3"]),
        (
            {"addresses": ["10.0.0.0/30"], "prefix": 30, "allocateReservedIPAddresses": True, "gateway": "10.0.0.1"},
            ["10.0.0.0", "10.0.0.2-10.0.0.3"],
        ),
        ({"addresses": ["10.0.0.5-10.0.0.7"], "prefix": 24, "gateway": "10.0.0.6"}, ["10.0.0.5", "10.0.0.7"]),
        ({"addresses": ["10.0.0.9", "10.0.0.4"], "prefix": 24}, ["10.0.0.4", "10.0.0.9"]),
        (
            {"addresses": ["10.0.0.5-10.0.0.9"], "prefix": 24, "excludedAddresses": ["10.0.0.5", "10.0.0.7-10.0.0.8"]},
            ["10.0.0.6", "10.0.0.9"],
        ),
        ({"addresses": ["fd00::/126"], "prefix": 126}, ["fd00::1-fd00::3"]),
        ({"addresses": ["fd00::/126"], "prefix": 126, "gateway": "fd00::1"}, ["fd00::2-fd00::3"]),
        ({"addresses": ["fd00::-fd00::2"], "prefix": 120, "allocateReservedIPAddresses": True}, ["fd00::-fd00::2"]),
        ({"addresses": ["0.0.0.0-0.0.0.8"], "prefix": 0}, ["0.0.0.1-0.0.0.8"]),
    ],
)
def test_gives(spec, gives):
    assert given(**spec) == gives


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"addresses": [], "prefix": 24}, "spec.addresses: the list of addresses is empty"),
        ({"addresses": ["10.0.0.1"], "prefix": 33}, "spec.prefix: prefix 33 does not fit IPv4"),
        ({"addresses": ["10.0.0.1"], "prefix": -1}, "spec.prefix"),
        ({"addresses": ["10.0.0.1", "10.0.1.1"], "prefix": 24}, "not all of them lie in one /24"),
        ({"addresses": ["10.0.0.1"], "prefix": 24, "gateway": "x"}, "spec.gateway: 'x' is no IP address"),
        ({"addresses": ["10.0.0.1"], "prefix": 24, "gateway": "fd00::1"}, "spec.gateway: 'fd00::1' is IPv6"),
        ({"addresses": ["10.0.0.1"], "prefix": 24, "excludedAddresses": ["fd00::1"]}, "spec.excludedAddresses"),
        ({"addresses": ["10.0.0.1", "fd00::1"], "prefix": 24}, "spec.addresses: 'fd00::1' is IPv6"),
    ],
)
def test_unusable_pools_name_field_and_value(spec, says):
    with pytest.raises(AddressError) as error:
        allocatable(pool(**spec))
    assert says in str(error.value)


def test_counts_like_the_peer():
    ten = pool(addresses=["10.0.0.10-10.0.0.20"], prefix=24, gateway="10.0.0.10")
    used = [parse_address(text)[1] for text in ("10.0.0.11", "10.0.0.12", "10.0.0.99", "10.0.0.98")]
    numbers = count(ten, used, 4)
    assert (numbers.total, numbers.used, numbers.free, numbers.out_of_range) == (10, 4, 6, 2)
    over = count(pool(addresses=["10.0.0.10"], prefix=24), used, 4)
    assert (over.total, over.free) == (1, -3)
    assert count(pool(addresses=["fd00::/48"], prefix=48), [], 0).total == sys.maxsize
    assert count(pool(addresses=["rubbish"], prefix=24), used, 4).total == 0


def network(name: str, entries: list[str], gives: list[str] | None = None) -> BookSpec:
    found = parse_entries(entries)
    book = f"network/team/{name}/IPv4"
    open_part = parse_entries(gives, found.family).ranges if gives is not None else found.ranges
    return BookSpec(book, found.family, open_part, 24, None, found.ranges, holds_in_book=True)


def test_a_pool_that_meets_a_network_gives_from_its_book_and_only_what_is_the_networks():
    blue = network("blue", ["10.0.0.10-10.0.0.20"])
    found = bind(pool(addresses=["10.0.0.15-10.0.0.30"], prefix=24), [blue])
    assert isinstance(found, Binding)
    assert found.book is blue
    assert [format_interval(blue.family, one) for one in found.allowed.intervals] == ["10.0.0.15-10.0.0.20"]


def test_a_pool_on_a_network_that_gives_nothing_any_more_gives_nothing_either():
    blue = network("blue", ["10.0.0.10-10.0.0.20"], gives=[])
    found = bind(pool(addresses=["10.0.0.15-10.0.0.30"], prefix=24), [blue])
    assert isinstance(found, Binding)
    assert found.book is blue
    assert not found.allowed


def test_a_pool_over_two_networks_is_refused_by_name():
    found = bind(
        pool(addresses=["10.0.0.1-10.0.0.90"], prefix=24),
        [network("blue", ["10.0.0.10-10.0.0.20"]), network("red", ["10.0.0.30-10.0.0.40"])],
    )
    assert isinstance(found, Refusal)
    assert found.reason is PoolReason.FAILED
    assert "(blue, red)" in found.message


def test_a_pool_that_meets_no_network_has_a_book_of_its_own():
    found = bind(pool(addresses=["10.9.0.1"], prefix=24), [network("blue", ["10.0.0.10-10.0.0.20"])])
    assert isinstance(found, Binding)
    assert found.book.name == "pool/team/p"


def test_a_pool_made_for_a_network_waits_for_it():
    raw = pool(addresses=["10.0.0.10"], prefix=24)
    marked = type(raw)(**{**{name: getattr(raw, name) for name in raw.__slots__}, "network": "blue"})
    waits = bind(marked, [])
    assert isinstance(waits, Refusal)
    assert waits.reason is PoolReason.NOT_READY
    assert isinstance(bind(marked, [network("blue", ["10.0.0.10-10.0.0.20"])]), Binding)
