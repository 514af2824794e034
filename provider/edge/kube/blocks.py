"""AddressBlock objects: read, create and change them, always against the version that was read.

This is the one write that decides who holds an address. A stale leader, a second replica or a lagging cache loses here
with a conflict, so neither the lease nor any cache has to be trusted.
"""

import hashlib
import sys
from collections.abc import Mapping
from typing import Protocol

from provider.api.ipam import Json
from provider.api.times import format_time, parse_time, round_up
from provider.core.addresses import Family, format_address, parse_address
from provider.core.blocks import BLOCK_SIZE, Block, Entry, State, tally
from provider.edge.clock import Clock
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import KubeError, NotFound
from provider.edge.kube.resources import BLOCKS
from provider.edge.metrics import Metrics

BOOK_LABEL = "proxmox.cozystack.io/book"
"""On a block: the digest of its book's name, to list the blocks of one book."""


class BlockStore(Protocol):
    """Where blocks live."""

    async def load(self, book: str) -> dict[int, Block]: ...

    async def write(self, book: str, family: Family, block: Block, changes: Mapping[int, Entry | None]) -> Block: ...

    async def remove(self, book: str) -> None: ...


class KubeBlocks:
    """`BlockStore` in the Kubernetes API."""

    def __init__(self, kube: Kube, clock: Clock, metrics: Metrics | None = None) -> None:
        self._kube = kube
        self._clock = clock
        self._metrics = metrics or Metrics()

    async def load(self, book: str) -> dict[int, Block]:
        """All blocks of a book, read live."""
        items = await self._kube.list_all(BLOCKS, labels=f"{BOOK_LABEL}={digest(book)}")
        blocks = [read_block(item) for item in items if item["spec"]["book"] == book]
        return {block.base: block for block in blocks}

    async def write(self, book: str, family: Family, block: Block, changes: Mapping[int, Entry | None]) -> Block:
        """Write changed entries and the status that goes with them.

        Raises:
            Conflict, AlreadyExists, NotFound: the block is not what was read; load the book again.
            Unavailable: it may have been written; load the book again.
        """
        try:
            written = await self._write(book, family, block, changes)
        except KubeError as error:
            self._metrics.block_lost(type(error).__name__)
            raise
        self._metrics.block_written(len(changes))
        return written

    async def _write(self, book: str, family: Family, block: Block, changes: Mapping[int, Entry | None]) -> Block:
        after = block.changed(changes, "")
        status = _status(after, format_time(self._clock.now()))
        if not block.version:
            raw = await self._kube.create(BLOCKS, _new_block(book, family, after, status))
        else:
            entries = {
                str(offset): _entry_patch(entry, replaces=offset in block.entries) if entry else None
                for offset, entry in changes.items()
            }
            patch: Json = {
                "metadata": {"resourceVersion": block.version},
                "spec": {"entries": entries},
                "status": status,
            }
            raw = await self._kube.patch(BLOCKS, block_name(book, family, block.base), patch, metadata_only=True)
        meta = raw["metadata"]
        return Block.of(block.base, after.entries, meta["resourceVersion"], meta["generation"])

    async def remove(self, book: str) -> None:
        """Delete the blocks of a book that is over. Only call it when nothing is allocated."""
        for item in await self._kube.list_all(BLOCKS, labels=f"{BOOK_LABEL}={digest(book)}"):
            if item["spec"]["book"] == book:
                try:
                    await self._kube.delete(
                        BLOCKS, item["metadata"]["name"], version=item["metadata"]["resourceVersion"]
                    )
                except NotFound:
                    continue  # somebody else was quicker


def digest(book: str) -> str:
    return hashlib.sha256(book.encode()).hexdigest()[:10]


def block_name(book: str, family: Family, base: int) -> str:
    """One name for one block of one book, so that two creators of the same block collide."""
    width = (family.width - BLOCK_SIZE.bit_length() + 1) // 4
    return f"{digest(book)}-{base // BLOCK_SIZE:0{width}x}"


def read_block(raw: Json) -> Block:
    spec, meta = raw["spec"], raw["metadata"]
    _, base = parse_address(spec["first"])
    entries = {int(offset): _read_entry(entry) for offset, entry in (spec.get("entries") or {}).items()}
    return Block.of(base, entries, meta["resourceVersion"], meta.get("generation", 0))


def _read_entry(raw: Json) -> Entry:
    until = raw.get("until")
    return Entry(
        State(raw["state"]),
        sys.intern(raw.get("holder", "")),
        parse_time(raw["since"]) if "since" in raw else parse_time("1970-01-01T00:00:00Z"),
        sys.intern(raw["uid"]) if "uid" in raw else None,
        parse_time(until) if until else None,
        raw.get("reason"),
    )


def _entry_patch(entry: Entry, *, replaces: bool) -> Json:
    """An entry for a merge patch: what an earlier entry at this offset had and this one has not must be taken away."""
    raw: Json = {"state": entry.state.value, "holder": entry.holder, "since": format_time(entry.since)}
    optional = {
        "uid": entry.uid,
        "until": format_time(round_up(entry.until)) if entry.until else None,
        "reason": entry.reason,
    }
    raw.update({name: value for name, value in optional.items() if value is not None or replaces})
    return raw


def _new_block(book: str, family: Family, block: Block, status: Json) -> Json:
    return {
        "apiVersion": BLOCKS.api_version,
        "kind": BLOCKS.kind,
        "metadata": {"name": block_name(book, family, block.base), "labels": {BOOK_LABEL: digest(book)}},
        "spec": {
            "book": book,
            "family": family.value,
            "first": format_address(family, block.base),
            "entries": {str(offset): _entry_patch(entry, replaces=False) for offset, entry in block.entries.items()},
        },
        "status": status,
    }


def _status(block: Block, now: str) -> Json:
    """There is no status subresource, so counts ride in the write of the entries and are never behind them."""
    counts = tally(block)
    status: Json = {
        "allocated": counts.allocated,
        "reserved": counts.reserved,
        "held": counts.held,
        "quarantined": counts.quarantined,
        "free": BLOCK_SIZE - sum((counts.allocated, counts.reserved, counts.held, counts.quarantined)),
        "observedGeneration": block.generation,
    }
    if block.generation == 1:
        ready = {"type": "Ready", "status": "True", "reason": "Written", "message": "", "lastTransitionTime": now}
        status["conditions"] = [{**ready, "observedGeneration": 1}]
    return status
