"""VLANs and subnets on demand: chosen, written down, and returned.

The write of a block against the version that was read decides; what is kept here of the blocks only saves reads. A
write that loses, or whose answer is lost, has its block read again, and what was chosen is chosen anew. An entry of a
network's own name is its own: after a crash it goes on with that.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping

import structlog

from provider.api.network import ProxmoxNetwork
from provider.api.network_block import MAX_ENTRIES
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.catalog import Catalog
from provider.core.addresses import Family, parse_cidr
from provider.core.asking import Ask
from provider.core.granting import Grant, choose
from provider.core.names import NetworkKey
from provider.core.networks import Finding, NetworkReason
from provider.core.offers import Segment
from provider.core.place_blocks import BlockId, Holding, Place, PlaceBlock, block_subnet, segment_of, subnet_in
from provider.core.vlans import ZoneMasks
from provider.edge.clock import Clock
from provider.edge.kube.errors import AlreadyExists, Conflict, NotFound, Unavailable
from provider.edge.kube.network_blocks import NetworkBlocks

TRIES = 8
"""Choices in a row that may lose against somebody else's write."""
WAKE = 16
"""Networks that look again when a place is returned, in the order in which they began to wait."""

ForeignVlans = Callable[[str], Awaitable[int]]
"""VLANs of a bridge that are in use by others than pxnet's networks, as bits."""

log = structlog.get_logger(__name__)


async def no_foreign_vlans(_: str) -> int:
    return 0


class Places:
    """What was given on demand. Call `load` first; `look(key)` has a network looked at that waits for a place."""

    def __init__(
        self,
        store: NetworkBlocks,
        catalog: Catalog,
        clock: Clock,
        look: Callable[[NetworkKey], None],
        foreign: ForeignVlans = no_foreign_vlans,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock
        self._look = look
        self._foreign = foreign
        self._blocks: dict[BlockId, PlaceBlock] = {}
        self._doubtful: set[BlockId] = set()
        self._held: dict[NetworkKey, dict[Place, None]] = defaultdict(dict)
        self._waiting: dict[NetworkKey, None] = {}
        self._turn = asyncio.Lock()

    async def load(self) -> None:
        """Read all blocks."""
        async with self._turn:
            await self._load()

    async def grant(
        self, key: NetworkKey, network: ProxmoxNetwork, zone: ProxmoxNetworkZone, *, selected: bool
    ) -> Grant | Finding:
        """Give a network its place, or say why not. What it gets is written down when this returns.

        Raises:
            Conflict: others were quicker again and again; try later.
            Unavailable: the API server does not answer; try later.
        """
        async with self._turn:
            found = await self._grant(key, network, zone, selected)
        self._waiting.pop(key, None)
        if isinstance(found, Finding) and found.reason is not NetworkReason.NAMESPACE_NOT_ALLOWED:
            self._waiting[key] = None
        return found

    async def keep(self, key: NetworkKey, places: tuple[Place, ...]) -> None:
        """Return all that a network holds but these."""
        if any(place not in places for place in self._held.get(key, ())):
            async with self._turn:
                await self._return(key, None, places)

    async def give_back(self, key: NetworkKey, uid: str) -> None:
        """Return all that this network holds, not what a newer one of its name does. Safe to repeat."""
        self._waiting.pop(key, None)
        async with self._turn:
            await self._settle_doubts()
            await self._return(key, uid, ())

    async def sweep(self, lives: Callable[[NetworkKey, str], Awaitable[bool]]) -> None:
        """Read everything again, return what networks hold that are gone, and delete blocks that nobody needs.

        `lives(key, uid)` says whether a network of this uid is there, or machines still use what it had.
        """
        async with self._turn:
            await self._load()
            uids = {(key, self._entry(place).uid) for key, held in self._held.items() for place in held}
        for key, uid in sorted(uids):
            if not await lives(key, uid):
                log.warning("a place of a network that is gone is returned", namespace=key[0], network=key[1])
                await self.give_back(key, uid)
        async with self._turn:
            for block in [*self._blocks.values()]:
                if not block.entries and block.version:
                    try:
                        await self._store.remove(block)
                        self._put(PlaceBlock(block.id))
                    except Conflict:
                        self._doubtful.add(block.id)

    def holds(self, key: NetworkKey) -> bool:
        return bool(self._held.get(key))

    async def seen_live(self, segment: Segment, place: Place) -> NetworkKey | None:
        """Who holds a VLAN by now, read from the API server itself."""
        async with self._turn:
            self._put(await self._store.read(place.block))
        return self._catalog.ground.holders.get(segment)

    def wake(self, count: int = WAKE) -> None:
        """Have networks that wait for a place looked at."""
        for key in [*self._waiting][:count]:
            self._look(key)

    async def _grant(
        self, key: NetworkKey, network: ProxmoxNetwork, zone: ProxmoxNetworkZone, selected: bool
    ) -> Grant | Finding:
        foreign = await self._foreign(zone.spec.bridge)
        for _ in range(TRIES):
            await self._settle_doubts()
            found = choose(self._ask(key, network, zone, selected, foreign))
            if isinstance(found, Finding):
                if self._catalog.current(key) is None:
                    # Half a place is none: the other half did not fit, or the namespace is not selected any more.
                    await self._return(key, None, ())
                return found
            if await self._take(key, network.metadata.uid, found.places):
                return found
        raise Conflict(f"others take the places of zone {zone.metadata.name} as fast as they are chosen", 409)

    def _ask(
        self, key: NetworkKey, network: ProxmoxNetwork, zone: ProxmoxNetworkZone, selected: bool, foreign: int
    ) -> Ask:
        bars, bridge, name = self._catalog.bars, zone.spec.bridge, zone.metadata.name
        return Ask(
            key=key,
            zone=zone,
            network=network,
            current=self._catalog.current(key),
            held=tuple(self._held.get(key, ())),
            selected=selected,
            masks=bars.masks.get(name) or ZoneMasks.of(zone.spec),
            barred=bars.barred.get(bridge, 0),
            uplink=bars.uplink.get(bridge, 0),
            foreign=foreign,
            spaces=bars.spaces,
            ground=self._catalog.ground,
        )

    async def _take(self, key: NetworkKey, uid: str, places: tuple[Place, ...]) -> bool:
        """Write down what is not there yet. False: somebody else was quicker, choose again."""
        for place in places:
            block = self._blocks.get(place.block, PlaceBlock(place.block))
            known = block.entries.get(place.key)
            if known is not None and known.network != key:
                raise Conflict(f"{place.key} of {place.block.book} is held by {known.holder}", 409)
            if known is not None and known.uid == uid:
                continue
            if not await self._write(block, {place.key: Holding(key, uid, self._clock.now())}):
                return False
        return True

    async def _return(self, key: NetworkKey, uid: str | None, but: tuple[Place, ...]) -> None:
        for _ in range(TRIES):
            by_block: dict[BlockId, list[Place]] = defaultdict(list)
            for place in self._held.get(key, ()):
                if place not in but and uid in (None, self._entry(place).uid):
                    by_block[place.block].append(place)
            if not by_block:
                return
            for block, places in by_block.items():
                if await self._write(self._blocks[block], {place.key: None for place in places}):
                    self.wake()
            await self._settle_doubts()
        raise Conflict(f"others write the blocks of {key} as fast as they are read", 409)

    async def _write(self, block: PlaceBlock, changes: Mapping[str, Holding | None]) -> bool:
        try:
            after = await self._store.write(block, changes)
        except (Conflict, AlreadyExists, NotFound):
            self._doubtful.add(block.id)
            return False
        except Unavailable:
            self._doubtful.add(block.id)
            raise
        self._take_over(block, after, changes)
        return True

    async def _settle_doubts(self) -> None:
        for block in [*self._doubtful]:
            self._put(await self._store.read(block))
            self._doubtful.discard(block)

    async def _load(self) -> None:
        found = {block.id: block for block in await self._store.load()}
        for gone in {*self._blocks} - {*found}:
            self._put(PlaceBlock(gone))
        for block in found.values():
            self._put(block)
        self._doubtful.clear()

    def _entry(self, place: Place) -> Holding:
        return self._blocks[place.block].entries[place.key]

    def _put(self, block: PlaceBlock) -> None:
        """Take over a block as it was read."""
        before = self._blocks.get(block.id, PlaceBlock(block.id))
        self._take_over(before, block, {*before.entries, *block.entries})
        if not block.version:
            del self._blocks[block.id]

    def _take_over(self, before: PlaceBlock, after: PlaceBlock, keys: Iterable[str]) -> None:
        """Go on with a newer state of a block, which differs from the older one in these keys at most."""
        for key in keys:
            old, new = before.entries.get(key), after.entries.get(key)
            if old != new and old is not None:
                self._forget(Place(after.id, key), old)
            if old != new and new is not None:
                self._note(Place(after.id, key), new)
        self._lid(before, after)
        self._blocks[after.id] = after

    def _note(self, place: Place, holding: Holding) -> None:
        self._held[holding.network][place] = None
        ground, segment, subnet = self._catalog.ground, segment_of(place), subnet_in(place)
        if segment is not None:
            ground.enter_segment(segment)
            ground.holders[segment] = holding.network
            self._look_around(segment, holding.network)
        if subnet is not None:
            ground.spaces[subnet[0]].take(subnet[1])

    def _forget(self, place: Place, holding: Holding) -> None:
        held = self._held[holding.network]
        held.pop(place, None)
        if not held:
            del self._held[holding.network]
        ground, segment, subnet = self._catalog.ground, segment_of(place), subnet_in(place)
        if segment is not None:
            ground.leave_segment(segment)
            if ground.holders.get(segment) == holding.network:
                del ground.holders[segment]
            self._look_around(segment, holding.network)
        if subnet is not None:
            ground.spaces[subnet[0]].release(subnet[1])

    def _look_around(self, segment: Segment, network: NetworkKey) -> None:
        """Rows of tables on this VLAN are contested from now on, or not any more."""
        for key in self._catalog.on(segment) - {network}:
            self._look(key)

    def _lid(self, before: PlaceBlock, after: PlaceBlock) -> None:
        """A block that cannot hold more entries is full, whatever is free in it."""
        if not after.id.book.startswith("space/"):
            return
        family, (first, _) = parse_cidr(after.id.range)
        full, was = len(after.entries) >= MAX_ENTRIES, len(before.entries) >= MAX_ENTRIES
        if full != was:
            space = self._catalog.ground.spaces[Family(family)]
            (space.take if full else space.release)(block_subnet(family, first))
