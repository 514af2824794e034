"""One AddressBlock as a value: 256 addresses, who holds each, and what a change makes of it.

A block is aligned on the address, never on a range that somebody may edit, so the same address always falls into the
same block. Blocks are values: a change makes a new one, and is taken over only after the API server accepted it.
"""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

BLOCK_SIZE = 256
_ALL = (1 << BLOCK_SIZE) - 1


class State(enum.StrEnum):
    """What an entry says of its address. Each of them keeps the address from being given."""

    ALLOCATED = "Allocated"
    RESERVED = "Reserved"
    HELD = "Held"
    QUARANTINED = "Quarantined"


@dataclass(frozen=True, slots=True)
class Entry:
    """Who holds one address.

    Attributes:
        holder: "<kind>/<namespace>/<name>" of the claim or the address object; free text for a reservation.
        uid: the holder's uid, so that a late release of an old holder cannot free the address of a new one.
        until: when a Held or timed entry ends and the address is free again; None means it does not end by itself.
    """

    state: State
    holder: str
    since: datetime
    uid: str | None = None
    until: datetime | None = None
    reason: str | None = None

    def ended(self, now: datetime) -> bool:
        return self.until is not None and self.until <= now


@dataclass(frozen=True, slots=True)
class Block:
    """A block as it was last read or written.

    Attributes:
        version: its resourceVersion, empty when it does not exist yet.
        used, timed: bit masks of the offsets that have an entry, and one with an end.
        generation: the API server counts every change of entries.
    """

    base: int
    entries: Mapping[int, Entry] = field(default_factory=lambda: MappingProxyType({}))
    version: str = ""
    used: int = 0
    timed: int = 0
    generation: int = 0

    @classmethod
    def of(cls, base: int, entries: Mapping[int, Entry], version: str, generation: int = 0) -> "Block":
        used, timed = 0, 0
        for offset, entry in entries.items():
            used |= 1 << offset
            if entry.until is not None:
                timed |= 1 << offset
        return cls(base, entries, version, used, timed, generation)

    def lowest_free(self, allowed: int) -> int | None:
        """The lowest offset that is allowed (a bit mask) and has no entry."""
        free = allowed & ~self.used & _ALL
        return (free & -free).bit_length() - 1 if free else None

    def changed(self, changes: Mapping[int, Entry | None], version: str) -> "Block":
        """This block after a write that changed its entries: None removes one."""
        entries = dict(self.entries)
        for offset, entry in changes.items():
            if entry is None:
                entries.pop(offset, None)
            else:
                entries[offset] = entry
        return Block.of(self.base, entries, version, self.generation + 1)

    def ended(self, now: datetime) -> Iterator[int]:
        """Offsets whose entry is over. Costs nothing for blocks without timed entries."""
        if self.timed:
            yield from (offset for offset, entry in self.entries.items() if entry.ended(now))

    def soonest_end(self) -> datetime | None:
        if not self.timed:
            return None
        return min(entry.until for entry in self.entries.values() if entry.until is not None)


def base_of(address: int) -> int:
    return address - address % BLOCK_SIZE


@dataclass(frozen=True, slots=True)
class Tally:
    """Entries by state."""

    allocated: int = 0
    reserved: int = 0
    held: int = 0
    quarantined: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            self.allocated + other.allocated,
            self.reserved + other.reserved,
            self.held + other.held,
            self.quarantined + other.quarantined,
        )


def tally(block: Block) -> Tally:
    counts = dict.fromkeys(State, 0)
    for entry in block.entries.values():
        counts[entry.state] += 1
    return Tally(counts[State.ALLOCATED], counts[State.RESERVED], counts[State.HELD], counts[State.QUARANTINED])
