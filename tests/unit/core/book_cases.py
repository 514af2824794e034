"""Short ways to write books for tests, and how the API server would answer a plan: every write succeeds."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from provider.core.blocks import BLOCK_SIZE, Block, Entry, State, base_of
from provider.core.books import Plan, Return, Want
from provider.core.ranges import Interval, Ranges

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=60)


def holder(name: str) -> str:
    return f"IPAddressClaim/team/{name}"


def ranges(*intervals: Interval) -> Ranges:
    return Ranges.of(intervals)


def want(name: str, allowed: Ranges, address: int | None = None, uid: str | None = None) -> Want:
    return Want(holder(name), uid or f"uid-{name}", allowed, address)


def give_back(name: str, address: int, uid: str | None = None, until: datetime | None = None) -> Return:
    return Return(address, holder(name), uid or f"uid-{name}", until)


def allocated(name: str, uid: str | None = None) -> Entry:
    return Entry(State.ALLOCATED, holder(name), NOW, uid or f"uid-{name}")


def reserved(reason: str = "a virtual address") -> Entry:
    return Entry(State.RESERVED, "admin", NOW, reason=reason)


def blocks_of(entries: Mapping[int, Entry]) -> dict[int, Block]:
    bases = {base_of(address) for address in entries}
    return {
        base: Block.of(base, {a % BLOCK_SIZE: entry for a, entry in entries.items() if base_of(a) == base}, "1")
        for base in bases
    }


def entries_of(blocks: Mapping[int, Block]) -> dict[int, Entry]:
    return {block.base + offset: entry for block in blocks.values() for offset, entry in block.entries.items()}


def written(blocks: Mapping[int, Block], plan: Plan) -> dict[int, Block]:
    after = dict(blocks)
    for base, changes in plan.changes.items():
        known = blocks.get(base) or Block(base)
        after[base] = known.changed(changes, str(int(known.version or 0) + 1))
    return after


def held_in(blocks: Mapping[int, Block]) -> dict[str, int]:
    return {
        entry.uid: address
        for address, entry in entries_of(blocks).items()
        if entry.state is State.ALLOCATED and entry.uid is not None
    }
