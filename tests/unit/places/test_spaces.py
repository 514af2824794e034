"""The tree of subnets against a plain list of them."""

import time

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from provider.core.addresses import Family
from provider.core.spaces import Space, Subnet

WIDTH = Family.IPv4.width
BASE = 10 << 24


def aligned(number: int, prefix: int) -> Subnet:
    """One of the subnets of a /24 or longer prefix in 10.0.0.0/24, or one around it."""
    size = 1 << (WIDTH - prefix)
    return (BASE + number) // size * size, prefix


subnets = st.builds(aligned, st.integers(0, 255), st.integers(20, 32))


def overlap(one: Subnet, other: Subnet) -> bool:
    return max(one[0], other[0]) <= min(one[0] + (1 << (32 - one[1])), other[0] + (1 << (32 - other[1]))) - 1


class Spaces(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.space = Space(Family.IPv4)
        self.taken: list[Subnet] = []

    @rule(subnet=subnets)
    def take(self, subnet: Subnet) -> None:
        self.space.take(subnet)
        self.taken.append(subnet)

    @rule(index=st.integers(0, 1000))
    def release(self, index: int) -> None:
        if self.taken:
            self.space.release(self.taken.pop(index % len(self.taken)))

    @rule(subnet=subnets)
    def ask(self, subnet: Subnet) -> None:
        assert self.space.is_free(subnet) == (not any(overlap(subnet, each) for each in self.taken))

    @rule(subnet=subnets, index=st.integers(0, 1000))
    def ask_but(self, subnet: Subnet, index: int) -> None:
        if self.taken:
            rest = [*self.taken]
            but = rest.pop(index % len(rest))
            assert self.space.is_free(subnet, [but]) == (not any(overlap(subnet, each) for each in rest))

    @rule(within=subnets, prefix=st.integers(20, 32))
    def search(self, within: Subnet, prefix: int) -> None:
        size = 1 << (WIDTH - prefix)
        candidates = range(within[0], within[0] + (1 << (WIDTH - within[1])), size) if prefix >= within[1] else ()
        free = (first for first in candidates if not any(overlap((first, prefix), each) for each in self.taken))
        assert self.space.lowest_free(within, prefix) == next(free, None)

    @invariant()
    def nothing_is_kept_of_what_is_free(self) -> None:
        if not self.taken:
            assert not self.space._largest
            assert not self.space._taken


TestSpaces = Spaces.TestCase


@given(st.integers(56, 64))
def test_ipv6(prefix):
    space = Space(Family.IPv6)
    within = (0xFD << 120, 40)
    first = space.lowest_free(within, prefix)
    assert first == within[0]
    space.take((first, prefix))
    assert space.lowest_free(within, prefix) == within[0] + (1 << (128 - prefix))


def test_the_next_one_costs_the_same_whatever_was_given():
    """A search that walks over what is in use would take thousands of times as long at the end."""
    space, within, spent = Space(Family.IPv6), (0xFD << 120, 40), []
    for _ in range(20_000):
        begun = time.perf_counter()
        first = space.lowest_free(within, 64)
        assert first is not None
        space.take((first, 64))
        spent.append(time.perf_counter() - begun)
    few, many = sorted(spent[:1000])[500], sorted(spent[-1000:])[500]
    assert many < few * 10
