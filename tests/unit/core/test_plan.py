"""Single decisions of an address book, each with its reason. Any history of them is tried by the state machine."""

import pytest

from provider.core.addresses import Family
from provider.core.blocks import Entry, State
from provider.core.books import BookSpec, Exhausted, Return, Taken, plan
from provider.core.ranges import Ranges
from provider.core.usage import usage
from tests.unit.core.book_cases import (
    LATER,
    NOW,
    allocated,
    blocks_of,
    entries_of,
    give_back,
    held_in,
    holder,
    ranges,
    reserved,
    want,
    written,
)

TEN = ranges((10, 19))


@pytest.mark.parametrize(
    ("taken", "allowed", "given", "why"),
    [
        ((), TEN, 10, "an empty book gives its first"),
        ((10, 11), TEN, 12, "the lowest that is free"),
        ((10, 12), TEN, 11, "a hole is filled first"),
        (range(10, 19), TEN, 19, "the last one"),
        (range(10, 20), TEN, None, "none is left"),
        ((), ranges((7, 7)), 7, "a range of one"),
        ((7,), ranges((7, 7)), None, "a range of one, taken"),
        (range(10, 20), ranges((10, 19), (300, 309)), 300, "the second range when the first is full"),
        ((*range(10, 20), *range(300, 310)), ranges((10, 19), (300, 309)), None, "several ranges, all full"),
        (range(250, 256), ranges((250, 260)), 256, "over the border of a block"),
        ((), ranges((1 << 127, (1 << 127) + 9)), 1 << 127, "an IPv6 address is no different"),
        ((5,), TEN, 10, "what is held outside does not matter"),
    ],
)
def test_gives_the_lowest_free_address(taken, allowed: Ranges, given: int | None, why: str) -> None:
    blocks = blocks_of({address: allocated(f"m{address}") for address in taken})
    decided = plan(blocks, held_in(blocks), [want("new", allowed)], NOW)
    if given is None:
        assert isinstance(decided.outcomes[0], Exhausted), why
        assert not decided.changes, why
    else:
        assert decided.outcomes == [given], why
        assert entries_of(written(blocks, decided))[given] == allocated("new"), why


def test_a_batch_is_served_in_its_order() -> None:
    decided = plan({}, {}, [want(name, TEN) for name in ("c", "a", "b")], NOW)
    assert decided.outcomes == [10, 11, 12]


def test_a_batch_of_thousands_shares_the_writes_of_its_blocks() -> None:
    decided = plan({}, {}, [want(f"m{n}", ranges((0, 4095))) for n in range(4097)], NOW)
    assert decided.outcomes[:4096] == [*range(4096)]
    assert isinstance(decided.outcomes[4096], Exhausted)
    assert len(decided.changes) == 16


def test_a_batch_can_give_what_it_takes_back() -> None:
    blocks = blocks_of({7: allocated("old")})
    decided = plan(blocks, held_in(blocks), [want("new", ranges((7, 7))), give_back("old", 7)], NOW)
    assert decided.outcomes == [7, 7]
    assert entries_of(written(blocks, decided)) == {7: allocated("new")}


@pytest.mark.parametrize(
    "entry",
    [
        reserved(),
        Entry(State.QUARANTINED, "probe", NOW),
        Entry(State.HELD, holder("gone"), NOW, "uid-gone", LATER),
        Entry(State.RESERVED, "admin", NOW, until=LATER),
    ],
    ids=lambda entry: f"{entry.state}-{entry.until is not None}",
)
def test_no_state_but_none_is_given(entry: Entry) -> None:
    blocks = blocks_of({7: entry})
    (outcome,) = plan(blocks, {}, [want("new", ranges((7, 7)))], NOW).outcomes
    assert isinstance(outcome, Exhausted)


@pytest.mark.parametrize("state", [State.HELD, State.QUARANTINED, State.RESERVED])
def test_an_entry_ends_at_its_end(state: State) -> None:
    blocks = blocks_of({7: Entry(state, holder("gone"), NOW, "uid-gone", LATER)})
    assert plan(blocks, {}, [want("new", ranges((7, 7)))], LATER).outcomes == [7]
    swept = plan(blocks, {}, [], LATER)
    assert entries_of(written(blocks, swept)) == {}
    assert not plan(blocks, {}, [], NOW).changes


def test_a_released_address_rests_until_its_end() -> None:
    blocks = blocks_of({7: allocated("old")})
    decided = plan(blocks, held_in(blocks), [give_back("old", 7, until=LATER)], NOW)
    (entry,) = entries_of(written(blocks, decided)).values()
    assert (entry.state, entry.uid, entry.until) == (State.HELD, "uid-old", LATER)


@pytest.mark.parametrize(
    ("entry", "back"),
    [
        (allocated("m", uid="second"), give_back("m", 7, uid="first")),
        (allocated("other"), give_back("m", 7)),
        (reserved(), give_back("m", 7)),
        (Entry(State.HELD, holder("m"), NOW, "uid-m", LATER), give_back("m", 7)),
    ],
    ids=["an older claim of the name", "another holder", "a reservation", "what rests already"],
)
def test_a_late_release_frees_nothing_of_somebody_else(entry: Entry, back: Return) -> None:
    blocks = blocks_of({7: entry})
    assert not plan(blocks, held_in(blocks), [back], NOW).changes


def test_an_object_without_a_claim_gives_back_by_its_name() -> None:
    blocks = blocks_of({7: Entry(State.ALLOCATED, "IPAddress/team/vm", NOW)})
    decided = plan(blocks, {}, [Return(7, "IPAddress/team/vm", None)], NOW)
    assert entries_of(written(blocks, decided)) == {}


def test_an_existing_object_keeps_its_address_also_outside_of_the_ranges() -> None:
    decided = plan({}, {}, [want("m", Ranges(), address=99)], NOW)
    assert decided.outcomes == [99]
    assert entries_of(written({}, decided)) == {99: allocated("m")}


def test_an_existing_object_whose_address_is_somebody_elses_is_told_whose() -> None:
    blocks = blocks_of({7: allocated("first")})
    decided = plan(blocks, held_in(blocks), [want("second", Ranges(), address=7)], NOW)
    assert decided.outcomes == [Taken("Allocated for IPAddressClaim/team/first")]
    assert not decided.changes


def test_a_claim_takes_over_the_object_that_waited_for_it() -> None:
    """Made by hand under the future claim's name, or restored: names are unique, so it is the same holder."""
    blocks = blocks_of({7: Entry(State.ALLOCATED, "IPAddress/team/m", NOW)})
    decided = plan(blocks, {}, [want("m", Ranges(), address=7)], LATER)
    assert decided.outcomes == [7]
    assert entries_of(written(blocks, decided))[7].uid == "uid-m"


def test_a_claim_that_holds_an_address_gets_that_one_though_the_ranges_moved() -> None:
    blocks = blocks_of({7: allocated("m")})
    decided = plan(blocks, held_in(blocks), [want("m", TEN)], NOW)
    assert decided.outcomes == [7]
    assert not decided.changes


def test_a_memory_that_is_wrong_gives_nothing_away() -> None:
    """`held` says one thing, the block another: the block decides."""
    blocks = blocks_of({7: allocated("other")})
    decided = plan(blocks, {"uid-m": 7}, [want("m", TEN)], NOW)
    assert decided.outcomes == [10]


def test_plans_change_nothing_they_were_given() -> None:
    blocks = blocks_of({7: allocated("old"), 300: reserved()})
    before = entries_of(blocks)
    plan(blocks, held_in(blocks), [give_back("old", 7), *(want(f"m{n}", ranges((0, 400))) for n in range(9))], NOW)
    assert entries_of(blocks) == before


def test_usage_counts_each_state_and_what_is_free() -> None:
    entries = {
        10: allocated("a"),
        11: reserved(),
        12: Entry(State.HELD, holder("b"), NOW, "uid-b", LATER),
        13: Entry(State.QUARANTINED, "probe", NOW),
        300: allocated("outside"),
    }
    counted = usage(BookSpec("pool/team/p", Family.IPv4, TEN, 24), blocks_of(entries))
    assert (counted.total, counted.free) == (10, 6)
    tally = counted.tally
    assert (tally.allocated, tally.reserved, tally.held, tally.quarantined) == (2, 1, 1, 1)
