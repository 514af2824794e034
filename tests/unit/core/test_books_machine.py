"""An address book under any history of requests, beside the plainest book that could be right: one dictionary.

The machine gives, gives back, comes late, adopts, reserves and lets time pass; batches of one and of many. After each
batch the real book must have answered as the plain one, and hold the same entries.
"""

from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from provider.core.blocks import Block, Entry, State
from provider.core.books import Exhausted, Request, Return, Taken, Want, plan
from provider.core.ranges import Ranges
from provider.core.usage import count_free
from tests.unit.core.book_cases import NOW, entries_of, held_in, holder, reserved, written

WHOLE = Ranges.of([(250, 262)])
"""Thirteen addresses across the border of two blocks."""
EXCLUDED = {251, 255}
OFFERS = [WHOLE.difference(Ranges.of((n, n) for n in EXCLUDED)), Ranges.of([(252, 254)]), Ranges.of([(256, 257)])]

NAMES = st.sampled_from(["a", "b", "c", "d", "e", "f", "g"])
LIVES = st.integers(1, 2)
"""A claim of one name can be deleted and made again: another uid each time."""


def uid(name: str, life: int) -> str:
    return f"{name}-{life}"


wants = st.builds(
    lambda name, life, allowed: Want(holder(name), uid(name, life), allowed), NAMES, LIVES, st.sampled_from(OFFERS)
)
adoptions = st.builds(
    lambda name, life, address: Want(holder(name), uid(name, life), Ranges(), address),
    NAMES, LIVES, st.integers(250, 262),
)  # fmt: skip
returns = st.builds(
    lambda name, life, address, rest: (name, life, address, rest),
    NAMES, LIVES, st.integers(250, 262), st.sampled_from([None, 0, 5]),
)  # fmt: skip


def word(outcome: int | Taken | Exhausted) -> int | str:
    match outcome:
        case Taken():
            return "taken"
        case Exhausted():
            return "exhausted"
    return outcome


class PlainBook:
    """Address -> entry, and nothing clever."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}

    def serve(self, requests: list[Request], now: datetime) -> list[int | str]:
        self.entries = {a: entry for a, entry in self.entries.items() if entry.until is None or entry.until > now}
        answers: dict[int, int | str] = {}
        for number, request in enumerate(requests):
            if isinstance(request, Return):
                answers[number] = self._give_back(request, now)
        for number, request in enumerate(requests):
            if isinstance(request, Want):
                answers[number] = self._give(request, now)
        return [answers[number] for number in range(len(requests))]

    def _give_back(self, request: Return, now: datetime) -> int:
        entry = self.entries.get(request.address)
        if entry is not None and entry.state is State.ALLOCATED and entry.uid == request.uid:
            del self.entries[request.address]
            if request.until is not None and request.until > now:
                held = Entry(State.HELD, request.holder, now, request.uid, request.until, "Released")
                self.entries[request.address] = held
        return request.address

    def _give(self, request: Want, now: datetime) -> int | str:
        mine = [a for a, entry in self.entries.items() if entry.state is State.ALLOCATED and entry.uid == request.uid]
        if request.address is None:
            if mine:
                return mine[-1]
            free = [
                a for first, last in request.allowed.intervals for a in range(first, last + 1) if a not in self.entries
            ]
            if not free:
                return "exhausted"
            address = min(free)
        else:
            address = request.address
            entry = self.entries.get(address)
            if entry is not None and entry.holder != request.holder:
                return "taken"
            if address in mine:
                return address
        # Put last, so that the newest of a claim's addresses is the one it is told.
        self.entries.pop(address, None)
        self.entries[address] = Entry(State.ALLOCATED, request.holder, now, request.uid)
        return address


class Books(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.blocks: dict[int, Block] = {}
        self.held: dict[str, int] = {}
        self.plain = PlainBook()
        self.adopted: set[tuple[int, str | None]] = set()

    def serve(self, requests: list[Request]) -> list[int | str]:
        before = entries_of(self.blocks)
        decided = plan(self.blocks, self.held, requests, self.now)
        self.blocks = written(self.blocks, decided)
        self._follow(requests, decided.outcomes)
        said = [
            "taken" if isinstance(o, Taken) else "exhausted" if isinstance(o, Exhausted) else o
            for o in decided.outcomes
        ]
        assert said == self.plain.serve(requests, self.now)
        untouched = {base + offset for base, changes in decided.changes.items() for offset in changes}
        assert {a: e for a, e in before.items() if a not in untouched} == {
            a: e for a, e in entries_of(self.blocks).items() if a not in untouched
        }
        return said

    def _follow(self, requests: list[Request], outcomes: object) -> None:
        """Keep uid -> address as the caller of a plan does: by what was written."""
        by_address = entries_of(self.blocks)
        for known, address in [*self.held.items()]:
            entry = by_address.get(address)
            if entry is None or entry.uid != known or entry.state is not State.ALLOCATED:
                del self.held[known]
        assert isinstance(outcomes, list)
        for request, outcome in zip(requests, outcomes, strict=True):
            if isinstance(request, Want) and isinstance(outcome, int) and request.uid is not None:
                self.held[request.uid] = outcome

    @rule(want=wants)
    def give(self, want: Want) -> None:
        first = self.serve([want])
        assert self.serve([want]) == first, "asking again gives the same answer"

    @rule(batch=st.lists(wants, min_size=2, max_size=9))
    def give_many(self, batch: list[Want]) -> None:
        self.serve([*batch])

    @rule(
        names=st.lists(st.tuples(NAMES, LIVES), max_size=4),
        rest=st.sampled_from([None, 0, 5]),
        batch=st.lists(wants, max_size=5),
    )
    def give_back_and_give(self, names: list[tuple[str, int]], rest: int | None, batch: list[Want]) -> None:
        """What a batch frees can serve the same batch."""
        until = self.now + timedelta(seconds=rest) if rest is not None else None
        back = [
            Return(self.held[uid(*who)], holder(who[0]), uid(*who), until) for who in {*names} if uid(*who) in self.held
        ]
        self.serve([*batch, *back])

    @rule(which=returns)
    def give_back_late(self, which: tuple[str, int, int, int | None]) -> None:
        """A release that comes twice, or of an address that is somebody else's by now, changes nothing of theirs."""
        name, life, address, rest = which
        before = entries_of(self.blocks).get(address)
        until = self.now + timedelta(seconds=rest) if rest is not None else None
        back = Return(address, holder(name), uid(name, life), until)
        self.serve([back])
        after = entries_of(self.blocks).get(address)
        if before is not None and not before.ended(self.now) and before.uid != uid(name, life):
            assert after == before
        state = entries_of(self.blocks)
        self.serve([back])
        assert entries_of(self.blocks) == state, "a release is done once"

    @rule(want=adoptions)
    def adopt(self, want: Want) -> None:
        """An IPAddress with this address exists."""
        if want.uid in self.held and self.held[want.uid] != want.address:
            return  # the caller returns the surplus first; a claim with two addresses is the audit's business
        before = entries_of(self.blocks).get(want.address or 0)
        (outcome,) = self.serve([want])
        if outcome == want.address:
            self.adopted.add((outcome, want.uid))
        if before is not None and before.holder != want.holder and not before.ended(self.now):
            assert outcome == "taken"
            assert entries_of(self.blocks)[want.address or 0] == before, "the first holder keeps it"

    @rule(address=st.integers(250, 262), timed=st.booleans())
    def reserve(self, address: int, timed: bool) -> None:
        """An admin's entry, written into the block by hand."""
        if address in entries_of(self.blocks):
            return
        entry = reserved()
        if timed:
            entry = Entry(State.QUARANTINED, "probe", self.now, None, self.now + timedelta(seconds=4))
        block = self.blocks.get(address - address % 256) or Block(address - address % 256)
        self.blocks[block.base] = block.changed({address % 256: entry}, "0")
        self.plain.entries[address] = entry

    @rule(seconds=st.sampled_from([1, 5, 60]))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @invariant()
    def holds_what_the_plain_book_holds(self) -> None:
        assert entries_of(self.blocks) == self.plain.entries
        assert self.held == held_in(self.blocks)

    @invariant()
    def never_gives_what_is_excluded(self) -> None:
        """An excluded address is held only where an object with it existed already."""
        for address, entry in entries_of(self.blocks).items():
            if address in EXCLUDED and entry.state is State.ALLOCATED:
                assert (address, entry.uid) in self.adopted

    @invariant()
    def masks_agree_with_entries(self) -> None:
        for block in self.blocks.values():
            assert block == Block.of(block.base, block.entries, block.version, block.generation)

    @invariant()
    def counts_what_is_free(self) -> None:
        taken = {a for a, entry in self.plain.entries.items() if not entry.ended(self.now)}
        for allowed in OFFERS:
            free = sum(1 for first, last in allowed.intervals for a in range(first, last + 1) if a not in taken)
            assert count_free(self.blocks, allowed, self.now, 100) == free
            assert count_free(self.blocks, allowed, self.now, 2) == min(free, 2)


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
