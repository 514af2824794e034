"""Sets of addresses as sorted, disjoint intervals of integers.

One code serves both families: an address is an int, and nothing here costs more for a /8 or a /48 than for a /30.
No text is parsed or printed here; that is `addresses`.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Interval = tuple[int, int]
"""First and last address, both included."""


def merge(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """Sort and join overlapping or adjacent intervals."""
    merged: list[Interval] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return tuple(merged)


@dataclass(frozen=True, slots=True)
class Ranges:
    """An immutable set of addresses of one family."""

    intervals: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, intervals: Iterable[Interval]) -> "Ranges":
        return cls(merge(intervals))

    def __contains__(self, address: int) -> bool:
        index = bisect_right(self.intervals, (address, 1 << 129)) - 1
        return index >= 0 and self.intervals[index][0] <= address <= self.intervals[index][1]

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __len__(self) -> int:
        """The number of addresses. Use `size` where it may exceed sys.maxsize (IPv6)."""
        return self.size

    @property
    def size(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    @property
    def lowest(self) -> int | None:
        return self.intervals[0][0] if self.intervals else None

    def union(self, other: "Ranges") -> "Ranges":
        return Ranges.of((*self.intervals, *other.intervals))

    def intersection(self, other: "Ranges") -> "Ranges":
        common: list[Interval] = []
        left, right = 0, 0
        while left < len(self.intervals) and right < len(other.intervals):
            a, b = self.intervals[left], other.intervals[right]
            first, last = max(a[0], b[0]), min(a[1], b[1])
            if first <= last:
                common.append((first, last))
            if a[1] < b[1]:
                left += 1
            else:
                right += 1
        return Ranges(tuple(common))

    def difference(self, other: "Ranges") -> "Ranges":
        rest: list[Interval] = []
        for start, end in self.intervals:
            first = start
            for taken_first, taken_last in other.intervals:
                if taken_last < first:
                    continue
                if taken_first > end:
                    break
                if taken_first > first:
                    rest.append((first, taken_first - 1))
                first = taken_last + 1
            if first <= end:
                rest.append((first, end))
        return Ranges(tuple(rest))

    def issuperset(self, other: "Ranges") -> bool:
        return not other.difference(self)

    def mask(self, base: int, size: int) -> int:
        """The members among `size` addresses from `base` on, as bits: bit n stands for base + n."""
        bits = 0
        top = base + size - 1
        index = max(bisect_right(self.intervals, (base, 1 << 129)) - 1, 0)
        for first, last in self.intervals[index:]:
            if first > top:
                break
            low, high = max(first, base), min(last, top)
            if low <= high:
                bits |= ((1 << (high - low + 1)) - 1) << (low - base)
        return bits

    def blocks(self, size: int) -> Iterator[int]:
        """The aligned bases of the blocks of `size` addresses that hold a member, lowest first and lazily."""
        done = -1
        for first, last in self.intervals:
            base = max(first - first % size, done + 1)
            while base <= last:
                yield base
                done = base + size - 1
                base += size


NOTHING = Ranges()
