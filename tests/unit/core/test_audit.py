"""Blocks beside objects: what the audit finds, and that it finds nothing where nothing is wrong."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from provider.core.audit import Findings, KnownAddress, audit
from provider.core.blocks import Entry, State
from provider.core.books import Request, Return, Want, plan
from provider.core.ranges import Ranges
from tests.unit.core.book_cases import LATER, NOW, allocated, blocks_of, entries_of, held_in, holder, reserved, written

NOTHING_WRONG = Findings((), (), (), (), ())


def known(name: str, address: int, uid: str | None = "") -> KnownAddress:
    """The IPAddress of a claim; with uid None one that nobody owns."""
    if uid is None:
        return KnownAddress(address, f"IPAddress/team/{name}", None)
    return KnownAddress(address, holder(name), uid or f"uid-{name}")


def living(*names: str) -> dict[str, str]:
    return {f"uid-{name}": holder(name) for name in names}


def test_nothing_is_wrong_with_entries_and_objects_that_agree() -> None:
    blocks = blocks_of({7: allocated("a"), 300: allocated("b"), 8: reserved()})
    assert audit(blocks, [known("a", 7), known("b", 300)], living("a", "b")) == NOTHING_WRONG


def test_a_claim_that_is_being_answered_has_an_entry_and_no_object_yet() -> None:
    assert audit(blocks_of({7: allocated("a")}), [], living("a")) == NOTHING_WRONG


def test_an_object_without_entry_is_adopted() -> None:
    hand_made = known("vm", 7, None)
    assert audit({}, [hand_made], {}) == replace(NOTHING_WRONG, unbooked=(hand_made,))


def test_an_entry_without_claim_and_object_is_a_stray() -> None:
    found = audit(blocks_of({7: allocated("gone")}), [], {})
    assert found == replace(NOTHING_WRONG, strays=((7, allocated("gone")),))


def test_an_entry_of_an_older_claim_of_the_name_is_a_stray() -> None:
    old = allocated("m", uid="first")
    assert audit(blocks_of({7: old}), [], living("m")).strays == ((7, old),)


def test_an_object_made_by_hand_holds_its_entry() -> None:
    entry = Entry(State.ALLOCATED, "IPAddress/team/vm", NOW)
    assert audit(blocks_of({7: entry}), [known("vm", 7, None)], {}) == NOTHING_WRONG


def test_an_object_whose_claim_is_gone_is_an_orphan_and_keeps_its_entry() -> None:
    """Until the API server confirms it: the address may still be on a machine."""
    orphan = known("gone", 7)
    assert audit(blocks_of({7: allocated("gone")}), [orphan], {}) == replace(NOTHING_WRONG, orphans=(orphan,))


def test_an_object_that_lost_its_owner_to_the_garbage_collector_is_an_orphan() -> None:
    abandoned = replace(known("gone", 7, None), abandoned=True)
    assert audit(blocks_of({7: allocated("gone")}), [abandoned], {}) == replace(NOTHING_WRONG, orphans=(abandoned,))


def test_an_object_whose_address_is_another_claims_is_a_duplicate() -> None:
    late = known("b", 7)
    found = audit(blocks_of({7: allocated("a")}), [known("a", 7), late], living("a", "b"))
    assert found == replace(NOTHING_WRONG, duplicates=((late, holder("a")),))


def test_an_object_on_a_reserved_address_is_reported_not_booked() -> None:
    squatter = known("vm", 7, None)
    assert audit(blocks_of({7: reserved()}), [squatter], {}) == replace(
        NOTHING_WRONG, duplicates=((squatter, "admin"),)
    )


def test_two_objects_without_entries_on_one_address_book_the_first() -> None:
    first, second = known("a", 7), known("b", 7)
    found = audit({}, [first, second], living("a", "b"))
    assert (found.unbooked, found.duplicates) == ((first,), ((second, holder("a")),))


def test_a_second_entry_of_a_claim_is_surplus() -> None:
    found = audit(blocks_of({7: allocated("a"), 8: allocated("a")}), [known("a", 8)], living("a"))
    assert found == replace(NOTHING_WRONG, surplus=((7, allocated("a")),))


def test_what_rests_or_is_reserved_needs_no_object() -> None:
    blocks = blocks_of({7: Entry(State.HELD, holder("gone"), NOW, "uid-gone", LATER), 8: reserved()})
    assert audit(blocks, [], {}) == NOTHING_WRONG


NAMES = ("a", "b", "c", "d")
objects = st.dictionaries(st.sampled_from(NAMES), st.tuples(st.integers(0, 5), st.sampled_from([None, ""])))
entries = st.dictionaries(
    st.integers(0, 5), st.one_of(st.sampled_from(NAMES).map(allocated), st.just(reserved())), max_size=6
)


@given(entries, objects, st.sets(st.sampled_from(NAMES)))
def test_repairs_leave_every_address_with_one_holder(have, found, claims) -> None:
    """Whatever is met: three looks leave nothing to repair, and no reservation and no living claim loses anything.

    Three, since an object that shares its address with an orphan is adopted only after the orphan's entry is gone.
    """
    addresses = [known(name, address, uid) for name, (address, uid) in found.items()]
    claims = living(*claims)
    blocks = blocks_of(have)
    for _ in range(3):
        findings = audit(blocks, addresses, claims)
        addresses = [each for each in addresses if each not in findings.orphans]
        repairs: list[Request] = [Want(each.holder, each.uid, Ranges(), each.address) for each in findings.unbooked]
        repairs += [Return(address, each.holder, each.uid) for address, each in (*findings.surplus, *findings.strays)]
        blocks = written(blocks, plan(blocks, held_in(blocks), repairs, NOW))
    findings = audit(blocks, addresses, claims)
    assert (findings.unbooked, findings.surplus, findings.strays, findings.orphans) == ((), (), (), ())
    after = entries_of(blocks)
    assert all(after[each.address] for each in addresses)
    assert {a: e for a, e in have.items() if e.state is State.RESERVED}.items() <= after.items()
    honest = {a: e for a, e in have.items() if e.uid in claims and (e.holder.rpartition("/")[2] not in found)}
    assert honest.items() <= after.items(), "a living claim lost what it holds"
