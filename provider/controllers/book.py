"""One address book at work: requests that come at the same moment share one write of each block they touch.

The blocks in memory are only as good as the last read or write; the write against that version is what decides. After a
conflict, or a write whose answer was lost, the blocks are loaded again and the requests planned anew: a claim that
already has an entry gets that one.
"""

import asyncio
import contextvars
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from provider.api.ipam import Key
from provider.core import audit, books, usage
from provider.core.audit import Findings, KnownAddress
from provider.core.blocks import BLOCK_SIZE, Block, Entry, State, base_of
from provider.core.books import BookSpec, Exhausted, Request, Return, Taken, Want
from provider.core.ranges import Ranges
from provider.edge.clock import Clock
from provider.edge.kube.blocks import BlockStore
from provider.edge.kube.errors import AlreadyExists, Conflict, KubeError, NotFound, Unavailable

GATHERING = 0.1
"""Seconds from the end of one commit to the next: what arrives in between shares it. A block grows to 30 KB, so in a
storm a write a claim would cost more than all its other writes. Requests that come one by one do not wait."""

SWEEP_DELAY = 5.0
"""Seconds by which ended entries may stay in an idle book, so that many that end together share a write."""

FIRST_RETRY = 0.2
LONGEST_RETRY = 5.0
"""Seconds until a book that could not be opened is tried again, doubling: claims that wait do not ask again."""

MOVED = (Conflict, AlreadyExists, NotFound)
"""Somebody else changed the block: load it and plan again."""

log = structlog.get_logger(__name__)


class Witness(Protocol):
    """What a book must know of the objects around it when it opens."""

    def survey(self, book: str) -> tuple[Sequence[KnownAddress], Mapping[str, str]]:
        """The IPAddress objects of the book's pools, and uid -> holder of all claims."""
        ...

    async def is_gone(self, entry: Entry, address: int, book: str) -> bool:
        """Ask the API server itself whether an entry's holder does not exist any more."""
        ...

    async def bury(self, orphan: KnownAddress, *, duplicate: bool) -> bool:
        """Delete an IPAddress whose claim is gone, if the API server itself says so. False: it stays."""
        ...

    def report(self, book: str, findings: Findings) -> None:
        """Tell of duplicates; they are never mended silently."""
        ...


@dataclass(slots=True)
class _Pending:
    request: Request
    done: "asyncio.Future[int | Taken | Exhausted]"
    key: Key | None


class Book:
    """The book of one network and family, or of one plain pool. `wake(key)` is called for waiting claims."""

    def __init__(
        self, spec: BookSpec, store: BlockStore, witness: Witness, clock: Clock, wake: Callable[[Key], None]
    ) -> None:
        self.spec = spec
        self._store = store
        self._witness = witness
        self._clock = clock
        self._wake_claim = wake
        self._blocks: dict[int, Block] = {}
        self._held: dict[str, int] = {}
        self._loaded = False
        self._reopened = 0
        self._failures = 0
        self._retry: asyncio.Task[None] | None = None
        self._closed = False
        self._foreign: dict[int, int] = {}
        self._pending: list[_Pending] = []
        self._last_commit = clock.monotonic() - GATHERING
        self._last_size = 0
        self._committer: asyncio.Task[None] | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._waiting: dict[Key, Ranges] = {}
        self._woken: set[Key] = set()
        self._frozen = False

    async def ask(self, request: Request, key: Key | None = None) -> int | Taken | Exhausted:
        """Have a request served. A claim (`key`) that gets Exhausted is woken when there is space for it.

        Raises:
            KubeError: nothing is known to have changed; ask again.
        """
        if key is not None:
            self._waiting.pop(key, None)
        if isinstance(request, Want) and request.uid is not None and self._loaded and request.address is None:
            # Most re-runs of a claim ask for what it has.
            has = self._held.get(request.uid)
            if has is not None:
                return has
        done: asyncio.Future[int | Taken | Exhausted] = asyncio.get_running_loop().create_future()
        self._pending.append(_Pending(request, done, key))
        self._start()
        return await done

    def publish(self, spec: BookSpec) -> None:
        """Take over a new spec; what is allocated stays."""
        changed = spec != self.spec or self._frozen
        self.spec = spec
        self._frozen = False
        if changed:
            for key in [*self._waiting]:
                self._wake_claim(key)
            self._waiting.clear()

    async def freeze(self) -> list[tuple[int, Entry]]:
        """Give nothing new until the next `publish`, finish what is on its way, and read anew who holds what.

        So an edit that must not happen under a machine can look first: nobody gets an address between look and edit.
        """
        self._frozen = True
        self.reopen()
        return (await self.opened()).holders()

    def reopen(self) -> None:
        """Load and compare with the objects again before the next change (new pools, foreign writes, now and then)."""
        self._loaded = False
        self._reopened += 1
        self._start()

    def seen(self, base: int, version: int) -> None:
        """The watch saw a version of a block. If it is not our own write, somebody else changed it."""
        self._foreign[base] = version
        if self._committer is None:
            self._check_foreign()

    def settled(self, key: Key) -> None:
        """A woken claim had its turn; if it did not take the space it was woken for, the next one may."""
        if key in self._woken:
            self._woken.discard(key)
            self._wake()

    def forget(self, key: Key) -> None:
        self._waiting.pop(key, None)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def opened(self) -> "Book":
        """Wait until the book agrees with the API server."""
        while not self._loaded:
            self._start()
            committer = self._committer
            assert committer is not None
            await asyncio.shield(committer)
            if not self._loaded:
                await self._clock.sleep(0.2)
        return self

    def usage(self) -> usage.Usage:
        return usage.usage(self.spec, self._blocks)

    def holders(self) -> list[tuple[int, Entry]]:
        """Allocated addresses and who has them, lowest first."""
        return [
            (block.base + offset, block.entries[offset])
            for _, block in sorted(self._blocks.items())
            for offset in sorted(block.entries)
            if block.entries[offset].state is State.ALLOCATED
        ]

    def address_of(self, uid: str) -> int | None:
        return self._held.get(uid)

    def has_entry(self, address: int) -> bool:
        block = self._blocks.get(base_of(address))
        return block is not None and address % BLOCK_SIZE in block.entries

    def close(self) -> None:
        """Serve nothing more. Who still waits is told that nothing is known of its request."""
        self._closed = True
        for task in (self._committer, self._sweeper, self._retry):
            if task is not None:
                task.cancel()

    def _start(self) -> None:
        # A context of its own: it works for many claims, and must not log as the one that began it.
        if self._committer is None:
            self._committer = asyncio.create_task(self._commit_all(), context=contextvars.Context())

    async def _commit_all(self) -> None:
        try:
            await asyncio.sleep(0)  # let what became ready at the same moment join
            while self._pending or not self._loaded:
                rest = self._last_commit + GATHERING - self._clock.monotonic()
                if rest > 0 and max(self._last_size, len(self._pending)) > 1:
                    await self._clock.sleep(rest)
                batch, self._pending = self._pending, []
                self._last_size = len(batch)
                try:
                    await self._commit(batch)
                except KubeError as error:
                    _fail(batch, error)
                    break
                except BaseException as error:
                    _fail([*batch, *self._pending], error)
                    self._pending = []
                    raise
        finally:
            self._committer = None
        self._check_foreign()
        if self._pending:
            self._start()
        if self._loaded:
            self._wake()
        else:
            self._start_later()
        self._plan_sweep()

    def _start_later(self) -> None:
        delay = min(FIRST_RETRY * 2.0 ** min(self._failures, 10), LONGEST_RETRY)
        self._failures += 1

        async def start() -> None:
            await self._clock.sleep(delay)
            self._retry = None
            self._start()

        if self._retry is None and not self._closed:
            self._retry = asyncio.create_task(start(), context=contextvars.Context())

    async def _commit(self, batch: list[_Pending]) -> None:
        try:
            extra = [] if self._loaded else await self._open()
        except KubeError as error:
            _fail(batch, error)
            raise
        requests = [*extra, *(self._within(item.request) for item in batch)]
        plan = books.plan(self._blocks, self._held, requests, self._clock.now())
        failures = await self._write(plan.changes)
        if plan.changes:
            self._last_commit = self._clock.monotonic()
        stale = bool(extra and failures) or any(
            isinstance(failure, (*MOVED, Unavailable)) for failure in failures.values()
        )
        if stale:
            self._loaded = False
        for item, outcome in zip(batch, plan.outcomes[len(extra) :], strict=True):
            base = base_of(outcome) if isinstance(outcome, int) else None
            failure = failures.get(base) if base is not None else None
            if item.done.done():
                continue
            if failure is None and not (stale and base is None):
                if isinstance(outcome, Exhausted) and item.key is not None and isinstance(item.request, Want):
                    self._waiting[item.key] = item.request.allowed
                item.done.set_result(outcome)
            elif failure is not None and not isinstance(failure, MOVED):
                item.done.set_exception(failure)
            else:
                self._pending.append(item)

    def _within(self, request: Request) -> Request:
        """A request as the present spec allows it: its claim may have looked at an older one."""
        if not isinstance(request, Want) or request.address is not None:
            return request
        allowed = Ranges() if self._frozen else request.allowed.intersection(self.spec.allocatable)
        return replace(request, allowed=allowed)

    async def _write(self, changes: Mapping[int, Mapping[int, Entry | None]]) -> dict[int, KubeError]:
        """Write all blocks of a plan at once; says which failed and why."""
        failures: dict[int, KubeError] = {}

        async def write(base: int, entries: Mapping[int, Entry | None]) -> None:
            block = self._blocks.get(base) or Block(base)
            try:
                after = await self._store.write(self.spec.name, self.spec.family, block, entries)
            except KubeError as error:
                failures[base] = error
                return
            self._take(after, entries)

        if len(changes) == 1:
            ((base, entries),) = changes.items()
            await write(base, entries)
        else:
            await asyncio.gather(*(write(base, entries) for base, entries in changes.items()))
        return failures

    def _take(self, block: Block, entries: Mapping[int, Entry | None]) -> None:
        before = self._blocks.get(block.base)
        self._blocks[block.base] = block
        for offset, entry in entries.items():
            old = before.entries.get(offset) if before else None
            address = block.base + offset
            if old is not None and old.uid is not None and self._held.get(old.uid) == address:
                del self._held[old.uid]
            if entry is not None and entry.uid is not None and entry.state is State.ALLOCATED:
                self._held[entry.uid] = address

    async def _open(self) -> list[Request]:
        """Load the blocks, and say what must be written so that they agree with the objects."""
        reopened = self._reopened
        blocks = await self._store.load(self.spec.name)
        self._blocks = blocks
        self._held = {
            entry.uid: block.base + offset
            for block in blocks.values()
            for offset, entry in block.entries.items()
            if entry.uid is not None and entry.state is State.ALLOCATED
        }
        addresses, claims = self._witness.survey(self.spec.name)
        findings = audit.audit(blocks, addresses, claims)
        twice = {known for known, _ in findings.duplicates}
        buried = {each for each in findings.orphans if await self._witness.bury(each, duplicate=each in twice)}
        if buried:
            findings = audit.audit(blocks, [known for known in addresses if known not in buried], claims)
        self._witness.report(self.spec.name, findings)
        repairs: list[Request] = [Want(known.holder, known.uid, Ranges(), known.address) for known in findings.unbooked]
        for address, entry in findings.surplus:
            repairs.append(Return(address, entry.holder, entry.uid))
        for address, entry in findings.strays:
            if await self._witness.is_gone(entry, address, self.spec.name):
                repairs.append(Return(address, entry.holder, entry.uid))
        self._foreign.clear()
        # What made somebody reopen it meanwhile may have come after our look at it.
        self._loaded = reopened == self._reopened
        self._failures = 0
        return repairs

    def _check_foreign(self) -> None:
        for base, version in [*self._foreign.items()]:
            known = self._blocks.get(base)
            if known is None or not known.version.isdigit() or version > int(known.version):
                self.reopen()
        self._foreign.clear()

    def _wake(self) -> None:
        """Wake as many waiting claims, oldest first, as there is space that nobody was woken for yet."""
        if not self._waiting or self._frozen:
            return
        now = self._clock.now()
        for allowed in {*self._waiting.values()}:
            keys = [key for key, wanted in self._waiting.items() if wanted == allowed]
            space = usage.count_free(self._blocks, allowed, now, len(keys) + len(self._woken)) - len(self._woken)
            for key in keys[: max(space, 0)]:
                del self._waiting[key]
                self._woken.add(key)
                self._wake_claim(key)

    def _plan_sweep(self) -> None:
        ends = [end for block in self._blocks.values() if (end := block.soonest_end()) is not None]
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        if ends:
            delay = (min(ends) - self._clock.now()).total_seconds()
            delay = max(delay, 0.0) + (0.01 if self._waiting else SWEEP_DELAY)
            self._sweeper = asyncio.create_task(self._sweep(delay), context=contextvars.Context())

    async def _sweep(self, delay: float) -> None:
        await self._clock.sleep(delay)
        self._sweeper = None
        if self._waiting:
            self._wake()
        elif self._committer is None:
            # An empty batch: the plan removes what has ended.
            self._committer = asyncio.create_task(self._sweep_now(), context=contextvars.Context())

    async def _sweep_now(self) -> None:
        try:
            await self._commit([])
        except KubeError as error:
            log.info("could not clear ended entries", book=self.spec.name, error=str(error))
        finally:
            self._committer = None
        if self._pending:
            self._start()
        elif not self._loaded:
            self._start_later()
        self._plan_sweep()


def _fail(batch: Sequence[_Pending], error: BaseException) -> None:
    # A closed book must not cancel the worker that asked: that would end the worker, not its question.
    closed = isinstance(error, asyncio.CancelledError)
    for item in batch:
        if not item.done.done():
            item.done.set_exception(Unavailable("the book was closed") if closed else error)
