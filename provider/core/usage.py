"""How full a book is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from provider.core.blocks import BLOCK_SIZE, Block, Tally, tally
from provider.core.books import BookSpec
from provider.core.ranges import Ranges


def count_free(blocks: Mapping[int, Block], allowed: Ranges, now: datetime, limit: int) -> int:
    """How many addresses of `allowed` are free, counting no further than `limit`."""
    free = 0
    for base in allowed.blocks(BLOCK_SIZE):
        mask = allowed.mask(base, BLOCK_SIZE)
        block = blocks.get(base)
        if block is not None:
            mask &= ~block.used | _ended_mask(block, now)
        free += mask.bit_count()
        if free >= limit:
            return limit
    return free


def _ended_mask(block: Block, now: datetime) -> int:
    mask = 0
    for offset in block.ended(now):
        mask |= 1 << offset
    return mask


@dataclass(frozen=True, slots=True)
class Usage:
    """A book in numbers: `total` addresses can be given, `free` of them have no entry."""

    total: int
    free: int
    tally: Tally


def usage(spec: BookSpec, blocks: Mapping[int, Block]) -> Usage:
    """Count a book. Entries outside the allocatable range are counted, but not taken off what is free."""
    used = sum((block.used & spec.allocatable.mask(base, BLOCK_SIZE)).bit_count() for base, block in blocks.items())
    counts = sum((tally(block) for block in blocks.values()), Tally())
    return Usage(spec.allocatable.size, spec.allocatable.size - used, counts)
