"""NetworkBlock objects: read, create and change them, always against the version that was read.

This is the one write that decides who has a VLAN or a subnet on demand: a stale leader or a second replica loses here
with a conflict.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from provider.api.times import format_time, parse_time
from provider.core.place_blocks import BlockId, Holding, PlaceBlock
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import NotFound
from provider.edge.kube.resources import NETWORK_BLOCKS

Json = dict[str, Any]


class NetworkBlocks:
    """The blocks in the Kubernetes API."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube

    async def load(self) -> list[PlaceBlock]:
        """All blocks, read live. They are few: one for 256 VLANs of a bridge, one for a /16 or a /56."""
        return [read_block(raw) for raw in await self._kube.list_all(NETWORK_BLOCKS)]

    async def read(self, block: BlockId) -> PlaceBlock:
        """One block, read live; an empty one without a version if it does not exist."""
        try:
            return read_block(await self._kube.get(NETWORK_BLOCKS, block_name(block)))
        except NotFound:
            return PlaceBlock(block)

    async def write(self, block: PlaceBlock, changes: Mapping[str, Holding | None]) -> PlaceBlock:
        """Write changed entries, and how many there are then.

        Raises:
            Conflict, AlreadyExists, NotFound: the block is not what was read; read it again.
            Unavailable: it may have been written; read it again.
        """
        after = block.changed(changes, "")
        entries = {key: _entry(holding) if holding is not None else None for key, holding in changes.items()}
        status = {"given": len(after.entries)}
        if not block.version:
            raw = await self._kube.create(NETWORK_BLOCKS, _new_block(block.id, entries, status))
        else:
            patch: Json = {
                "metadata": {"resourceVersion": block.version},
                "spec": {"entries": entries},
                "status": status,
            }
            raw = await self._kube.patch(NETWORK_BLOCKS, block_name(block.id), patch, metadata_only=True)
        return block.changed(changes, raw["metadata"]["resourceVersion"])

    async def remove(self, block: PlaceBlock) -> None:
        """Delete a block that nothing stands in.

        Raises:
            Conflict: somebody wrote it meanwhile.
        """
        try:
            await self._kube.delete(NETWORK_BLOCKS, block_name(block.id), version=block.version)
        except NotFound:
            return  # somebody else was quicker


def block_name(block: BlockId) -> str:
    """One name for one block, so that two creators of the same block collide."""
    return hashlib.sha256(f"{block.book} {block.range}".encode()).hexdigest()[:16]


def read_block(raw: Json) -> PlaceBlock:
    spec = raw["spec"]
    entries = {key: _holding(entry) for key, entry in (spec.get("entries") or {}).items()}
    return PlaceBlock(BlockId(spec["book"], spec["range"]), entries, raw["metadata"]["resourceVersion"])


def _holding(raw: Json) -> Holding:
    _, _, rest = raw["holder"].partition("/")
    namespace, _, name = rest.partition("/")
    return Holding((namespace, name), raw["uid"], parse_time(raw["since"]))


def _entry(holding: Holding) -> Json:
    return {"holder": holding.holder, "uid": holding.uid, "since": format_time(holding.since)}


def _new_block(block: BlockId, entries: Mapping[str, Json | None], status: Json) -> Json:
    return {
        "apiVersion": NETWORK_BLOCKS.api_version,
        "kind": NETWORK_BLOCKS.kind,
        "metadata": {"name": block_name(block)},
        "spec": {"book": block.book, "range": block.range, "entries": entries},
        "status": status,
    }
