"""Which subnets of an address family are in use, and the lowest free one of a size.

A binary tree over the bits of an address. Every node that has something in use below it remembers the largest free
subnet below it, so a look goes straight down: its cost is the length of the prefix, however many subnets are in use.
"""

from collections.abc import Sequence

from provider.core.addresses import Family

Subnet = tuple[int, int]
"""First address and length of the prefix in bits."""


def contains(family: Family, outer: Subnet, inner: Subnet) -> bool:
    shift = family.width - outer[1]
    return outer[1] <= inner[1] and outer[0] >> shift == inner[0] >> shift


class Space:
    """Subnets in use, each as often as it was taken. They may lie in each other."""

    def __init__(self, family: Family) -> None:
        self._width = family.width
        self._none = family.width + 1
        # A node is a 1 followed by the bits of its prefix.
        self._taken: dict[int, int] = {}
        self._largest: dict[int, int] = {}
        """The prefix of the largest free subnet in a node; a node that is not here is free as a whole."""

    def take(self, subnet: Subnet) -> None:
        node = self._node(subnet)
        self._taken[node] = self._taken.get(node, 0) + 1
        if self._taken[node] == 1:
            self._refresh(node)

    def release(self, subnet: Subnet) -> None:
        """The opposite of one `take`."""
        node = self._node(subnet)
        left = self._taken[node] - 1
        if left:
            self._taken[node] = left
        else:
            del self._taken[node]
            self._refresh(node)

    def is_free(self, subnet: Subnet, but: Sequence[Subnet] = ()) -> bool:
        """Whether nothing in use overlaps the subnet, each of `but` taken away once."""
        for each in but:
            self.release(each)
        node = self._node(subnet)
        free = node not in self._largest and not self._is_covered(node)
        for each in but:
            self.take(each)
        return free

    def lowest_free(self, within: Subnet, prefix: int) -> int | None:
        """First address of the lowest free subnet of this prefix that lies in another one, which may be in use."""
        node = self._node(within)
        if within[1] > prefix or self._of(node) > prefix or self._is_covered(node):
            return None
        depth = within[1]
        while depth < prefix:
            if node not in self._largest:
                node <<= prefix - depth
                break
            node, depth = node << 1, depth + 1
            if self._of(node) > prefix:
                node += 1
        return (node - (1 << prefix)) << (self._width - prefix)

    def _node(self, subnet: Subnet) -> int:
        first, prefix = subnet
        return 1 << prefix | first >> (self._width - prefix)

    def _of(self, node: int) -> int:
        return self._largest.get(node, node.bit_length() - 1)

    def _is_covered(self, node: int) -> bool:
        """Whether a larger subnet around the node is in use."""
        node >>= 1
        while node:
            if node in self._taken:
                return True
            node >>= 1
        return False

    def _refresh(self, node: int) -> None:
        """Bring the node and all above it up to date, up to the first that stays as it was."""
        while node:
            left, right = node << 1, node << 1 | 1
            before = self._largest.get(node)
            after: int | None
            if node in self._taken:
                after = self._none
            elif left in self._largest or right in self._largest:
                after = min(self._of(left), self._of(right))
            else:
                after = None
            if after == before:
                return
            if after is None:
                del self._largest[node]
            else:
                self._largest[node] = after
            node >>= 1
