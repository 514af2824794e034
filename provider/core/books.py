"""The address book: what a batch of requests makes of its blocks.

A book holds the addresses of one network and family, or of one plain pool. Everything here is pure: `plan` says which
entries to write where, the caller writes each block with the version it had read, and asks again after a conflict.
Lowest free address first, in the order of the requests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from provider.core.addresses import Family
from provider.core.blocks import BLOCK_SIZE, Block, Entry, State, base_of
from provider.core.ranges import NOTHING, Ranges


@dataclass(frozen=True, slots=True)
class BookSpec:
    """What a book may give, decided by a network or a pool.

    Attributes:
        name: "network/<namespace>/<name>/<family>", "pool/<namespace>/<name>" or "globalpool/<name>".
        allocatable: addresses that may be given: without gateway, exclusions, network and broadcast address.
        prefix: length that goes into each IPAddress, 0 to 32 or 128.
        gateway: canonical text, None for no route.
        territory: addresses that are the network's, given or not: a pool that meets them gives from this book.
        holds_in_book: after a release the address cools down as a Held entry while claim and IPAddress go at once;
            False for plain pools, where the claim itself waits, as their users know it from the in-cluster provider.
        reuse_seconds: rest of a released address, 0 or more: the zone's for a network, whatever its pools say.
    """

    name: str
    family: Family
    allocatable: Ranges
    prefix: int
    gateway: str | None = None
    territory: Ranges = NOTHING
    holds_in_book: bool = False
    reuse_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Want:
    """A holder that wants an address: any of `allowed`, or exactly `address` because an object with it exists."""

    holder: str
    uid: str | None
    allowed: Ranges
    address: int | None = None


@dataclass(frozen=True, slots=True)
class Return:
    """An address that its holder gives back. `until` holds it for a while; other holders' entries are not touched."""

    address: int
    holder: str
    uid: str | None
    until: datetime | None = None


Request = Want | Return


@dataclass(frozen=True, slots=True)
class Taken:
    """A Want of a given address that somebody else holds."""

    by: str


class Exhausted:
    """A Want that no free address can serve."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write, and what each request gets once that is written.

    Attributes:
        changes: block base -> offset -> entry, or None to remove it.
        outcomes: one for each request, in order: the address, Taken, or Exhausted; a Return gets its address.
    """

    changes: Mapping[int, Mapping[int, Entry | None]]
    outcomes: Sequence[int | Taken | Exhausted]


@dataclass(slots=True)
class _Draft:
    """Blocks with the changes of this plan on top."""

    blocks: dict[int, Block]
    changes: dict[int, dict[int, Entry | None]] = field(default_factory=dict)
    floors: dict[Ranges, int] = field(default_factory=dict)

    def entry(self, address: int) -> Entry | None:
        block = self.blocks.get(base_of(address))
        return block.entries.get(address % BLOCK_SIZE) if block else None

    def put(self, address: int, entry: Entry | None) -> None:
        base, offset = base_of(address), address % BLOCK_SIZE
        pending = self.changes.get(base)
        if pending is None:
            # The first change of this block: from here on the draft owns a copy that `put` may mutate.
            pending = self.changes[base] = {}
            known = self.blocks.get(base)
            self.blocks[base] = Block.of(base, dict(known.entries), known.version) if known else Block(base, {})
        block = self.blocks[base]
        pending[offset] = entry
        entries = block.entries
        assert isinstance(entries, dict)
        if entry is None:
            entries.pop(offset, None)
            used = block.used & ~(1 << offset)
        else:
            entries[offset] = entry
            used = block.used | (1 << offset)
        self.blocks[base] = replace(block, used=used)

    def lowest_free(self, allowed: Ranges) -> int | None:
        """The lowest free address; remembers where the last search ended, so a batch does not start over each time."""
        floor = self.floors.get(allowed, 0)
        for base in allowed.blocks(BLOCK_SIZE):
            if base < floor:
                continue
            mask = allowed.mask(base, BLOCK_SIZE)
            block = self.blocks.get(base)
            offset = (block or Block(base)).lowest_free(mask)
            if offset is not None:
                self.floors[allowed] = base
                return base + offset
        self.floors[allowed] = 1 << 129
        return None


def plan(blocks: Mapping[int, Block], held: Mapping[str, int], requests: Sequence[Request], now: datetime) -> Plan:
    """Decide a batch.

    Args:
        blocks: the book's blocks by base, as last read or written.
        held: uid of a claim -> the address that the blocks say it holds.
        requests: returns are served before wants, so that a batch can reuse what it frees.
        now: entries whose `until` has passed are removed.
    """
    draft = _Draft(dict(blocks))
    for block in blocks.values():
        for offset in [*block.ended(now)]:
            draft.put(block.base + offset, None)
    outcomes: list[int | Taken | Exhausted] = [Exhausted()] * len(requests)
    for index, request in enumerate(requests):
        if isinstance(request, Return):
            outcomes[index] = _give_back(draft, request, now)
    granted = dict(held)
    for index, request in enumerate(requests):
        if isinstance(request, Want):
            outcome = outcomes[index] = _grant(draft, granted, request, now)
            if isinstance(outcome, int) and request.uid is not None:
                granted[request.uid] = outcome
    return Plan(draft.changes, outcomes)


def _give_back(draft: _Draft, request: Return, now: datetime) -> int:
    entry = draft.entry(request.address)
    if entry is not None and entry.state is State.ALLOCATED and is_holder(entry, request.holder, request.uid):
        held = request.until is not None and request.until > now
        draft.put(
            request.address,
            Entry(State.HELD, request.holder, now, request.uid, request.until, "Released") if held else None,
        )
    return request.address


def is_holder(entry: Entry, holder: str, uid: str | None) -> bool:
    """The uid decides where both have one: a late release of an old claim must not free its namesake's address."""
    if entry.uid is not None and uid is not None:
        return entry.uid == uid
    return namesake(entry.holder) == namesake(holder)


def namesake(holder: str) -> str:
    """Claim and IPAddress of one namespace and name stand for each other: the contract names them alike."""
    return holder.partition("/")[2]


def _grant(draft: _Draft, granted: Mapping[str, int], want: Want, now: datetime) -> int | Taken | Exhausted:
    has = granted.get(want.uid) if want.uid is not None else None
    if has is not None and (want.address is None or want.address == has):
        entry = draft.entry(has)
        if entry is not None and entry.state is State.ALLOCATED and entry.uid == want.uid:
            return has
    if want.address is not None:
        entry = draft.entry(want.address)
        # A namesake with another uid is the same claim before a restore, a move or a re-creation: names are unique.
        same = entry is not None and namesake(entry.holder) == namesake(want.holder)
        if entry is not None and not same and not entry.ended(now):
            return Taken(f"{entry.state} for {entry.holder}")
        if entry is not None and entry.state is State.ALLOCATED and entry.uid == want.uid:
            return want.address
        address: int | None = want.address
    else:
        address = draft.lowest_free(want.allowed)
    if address is None:
        return Exhausted()
    draft.put(address, Entry(State.ALLOCATED, want.holder, now, want.uid))
    return address
