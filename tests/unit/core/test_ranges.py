"""Interval arithmetic against the plainest thing that could be right: Python sets of numbers."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider.core.ranges import NOTHING, Interval, Ranges

TOP = 600
"""Numbers stay below this, so that two or three blocks of 256 are crossed and collisions are frequent."""

numbers = st.integers(0, TOP)
intervals = st.lists(st.tuples(numbers, numbers).map(lambda pair: (min(pair), max(pair))), max_size=6)


def members(parts: list[Interval]) -> set[int]:
    return {number for first, last in parts for number in range(first, last + 1)}


@given(intervals)
def test_holds_what_its_intervals_hold(parts: list[Interval]) -> None:
    ranges, naive = Ranges.of(parts), members(parts)
    assert {number for number in range(TOP + 2) if number in ranges} == naive
    assert ranges.size == len(ranges) == len(naive)
    assert bool(ranges) == bool(naive)
    assert ranges.lowest == (min(naive) if naive else None)


@given(intervals)
def test_has_one_form_for_one_set(parts: list[Interval]) -> None:
    """Sorted, disjoint and not even adjacent: so equal sets are equal values, and good as keys."""
    ranges = Ranges.of(parts)
    assert all(left[1] + 1 < right[0] for left, right in itertools.pairwise(ranges.intervals))
    assert Ranges.of((number, number) for number in members(parts)) == ranges
    assert Ranges.of(reversed(parts)) == ranges


@given(intervals, intervals)
def test_set_operations(left: list[Interval], right: list[Interval]) -> None:
    a, b = Ranges.of(left), Ranges.of(right)
    naive_a, naive_b = members(left), members(right)
    assert a.union(b) == Ranges.of((n, n) for n in naive_a | naive_b)
    assert a.intersection(b) == Ranges.of((n, n) for n in naive_a & naive_b)
    assert a.difference(b) == Ranges.of((n, n) for n in naive_a - naive_b)
    assert a.issuperset(b) == (naive_a >= naive_b)


@given(intervals, numbers, st.sampled_from([1, 8, 256]))
def test_mask_has_a_bit_for_each_member(parts: list[Interval], base: int, size: int) -> None:
    naive = sum(1 << (n - base) for n in members(parts) if base <= n < base + size)
    assert Ranges.of(parts).mask(base, size) == naive


@given(intervals, st.sampled_from([1, 8, 256]))
def test_blocks_are_those_with_a_member_lowest_first(parts: list[Interval], size: int) -> None:
    assert [*Ranges.of(parts).blocks(size)] == sorted({n - n % size for n in members(parts)})


@pytest.mark.timeout(5)
@pytest.mark.parametrize("bits", [24, 80, 128], ids=["IPv4 /8", "IPv6 /48", "all of IPv6"])
def test_a_huge_range_costs_nothing(bits: int) -> None:
    """Counted, cut and asked for its first block without a walk: a walk would never end here."""
    last = (1 << bits) - 1
    whole = Ranges(((0, last),))
    rest = whole.difference(Ranges.of([(5, 5), (last, last)]))
    assert whole.size == 1 << bits
    assert rest.size == last - 1
    assert next(rest.blocks(256)) == 0
    assert rest.mask(0, 256).bit_count() == 255
    assert last not in rest


def test_nothing_is_nothing() -> None:
    assert not NOTHING
    assert (NOTHING.size, NOTHING.lowest, NOTHING.mask(0, 256)) == (0, None, 0)
    assert [*NOTHING.blocks(256)] == []
    assert NOTHING.issuperset(NOTHING)
