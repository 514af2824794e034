"""One block as a value: its masks follow its entries, whatever is changed."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from provider.core.blocks import BLOCK_SIZE, Block, Entry, State, Tally, base_of, tally
from tests.unit.core.book_cases import NOW

offsets = st.integers(0, BLOCK_SIZE - 1)
entries = st.builds(
    Entry,
    st.sampled_from(State),
    st.just("IPAddressClaim/team/a"),
    st.just(NOW),
    st.none(),
    st.one_of(st.none(), st.integers(-3, 3).map(lambda seconds: NOW + timedelta(seconds=seconds))),
)
filled = st.dictionaries(offsets, entries, max_size=12)
changes = st.dictionaries(offsets, st.one_of(st.none(), entries), max_size=12)


@given(filled, changes)
def test_a_change_is_a_new_block_and_leaves_the_old_one(
    before: dict[int, Entry], change: dict[int, Entry | None]
) -> None:
    block = Block.of(512, before, "7", 3)
    after = block.changed(change, "8")
    expected = {**before, **{offset: entry for offset, entry in change.items() if entry is not None}}
    for offset in (offset for offset, entry in change.items() if entry is None):
        expected.pop(offset, None)
    assert after == Block.of(512, expected, "8", 4)
    assert block == Block.of(512, before, "7", 3)


@given(filled)
def test_masks_say_what_the_entries_say(have: dict[int, Entry]) -> None:
    block = Block.of(0, have, "1")
    assert {n for n in range(BLOCK_SIZE) if block.used >> n & 1} == set(have)
    assert set(block.ended(NOW)) == {n for n, entry in have.items() if entry.until is not None and entry.until <= NOW}
    assert block.soonest_end() == min((entry.until for entry in have.values() if entry.until), default=None)
    counts = tally(block)
    assert counts.allocated + counts.reserved + counts.held + counts.quarantined == len(have)


@given(filled, st.sets(offsets))
def test_lowest_free_is_the_lowest_allowed_one_without_entry(have: dict[int, Entry], allowed: set[int]) -> None:
    mask = sum(1 << offset for offset in allowed)
    assert Block.of(0, have, "1").lowest_free(mask) == min(allowed - set(have), default=None)


def test_no_address_beyond_the_block_is_free() -> None:
    assert Block(0).lowest_free(1 << BLOCK_SIZE) is None


def test_blocks_are_aligned_on_the_address() -> None:
    assert [base_of(address) for address in (0, 255, 256, (1 << 128) - 1)] == [0, 0, 256, (1 << 128) - 256]


def test_tallies_add_up() -> None:
    assert Tally(1, 2, 3, 4) + Tally(10, 20, 30, 40) == Tally(11, 22, 33, 44)
