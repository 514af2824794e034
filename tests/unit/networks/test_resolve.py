"""What becomes of a network when its row, its zone or its use changes."""

from dataclasses import replace

import pytest

from provider.core.addresses import Family
from provider.core.networks import NetworkReason, resolve
from provider.core.ranges import Ranges
from provider.core.spans import Problem
from tests.unit.networks.cases import holders, offer, seen, span

OLD = offer(span("10.0.0.10-10.0.0.20"))
OTHER_VLAN = offer(span("10.0.0.10-10.0.0.20"), vlan=108)
OTHER_GATEWAY = offer(span("10.0.0.10-10.0.0.20", gateway="10.0.0.254"))
OTHER_PREFIX = offer(span("10.0.0.10-10.0.0.20", prefix=23))
OTHER_SUBNET = offer(span("10.0.5.10-10.0.5.20", gateway=None))
NO_IPV4 = offer(span("fd00::10-fd00::20", prefix=64, gateway="fd00::1", family=Family.IPv6))


def test_a_new_network_gets_what_the_row_offers():
    found = resolve(seen(wanted=OLD))
    assert found.offer == OLD
    (book,) = found.books
    assert (book.name, book.allocatable.size, book.gateway, book.prefix) == (
        "network/team-a/blue/IPv4", 11, "10.0.0.1", 24,
    )  # fmt: skip
    assert (found.place, found.pools, found.waiting, found.removable) == (None, None, None, False)


@pytest.mark.parametrize("edit", [OTHER_VLAN, OTHER_GATEWAY, OTHER_PREFIX, OTHER_SUBNET, NO_IPV4])
def test_an_edit_of_an_unused_network_counts_at_once(edit):
    found = resolve(seen(current=OLD, wanted=edit))
    assert (found.offer, found.waiting) == (edit, None)


@pytest.mark.parametrize("edit", [OTHER_VLAN, OTHER_GATEWAY, OTHER_PREFIX, OTHER_SUBNET, NO_IPV4])
def test_an_edit_that_would_change_a_machine_waits_and_names_who_is_in_the_way(edit):
    found = resolve(seen(current=OLD, wanted=edit, holders=holders("10.0.0.10", "10.0.0.11")))
    assert found.offer is not None
    assert (found.offer.segment, found.offer.spans[Family.IPv4]) == (OLD.segment, OLD.spans[Family.IPv4])
    assert found.waiting is not None
    assert found.waiting.reason is NetworkReason.IN_USE
    assert "waits for 2 address(es) to be released: 10.0.0.10 (IPAddressClaim/team-a/m-10)" in found.waiting.message
    assert found.gives
    assert found.books[0].allocatable


def test_a_family_that_is_added_does_not_wait_for_the_other_one():
    both = offer(OLD.spans[Family.IPv4], NO_IPV4.spans[Family.IPv6])
    found = resolve(seen(current=OLD, wanted=both, holders=holders("10.0.0.10")))
    assert (found.offer, found.waiting) == (both, None)


def test_a_shrunk_range_counts_for_new_addresses_and_the_rest_is_reported():
    less = offer(span("10.0.0.15-10.0.0.20"))
    found = resolve(seen(current=OLD, wanted=less, holders=holders("10.0.0.10", "10.0.0.16")))
    assert (found.offer, found.waiting) == (less, None)
    assert found.books[0].allocatable.size == 6
    (note,) = found.notes
    assert "1 IPv4 address(es) in use lie outside" in note
    assert "10.0.0.10 (IPAddressClaim/team-a/m-10)" in note


def test_an_edited_rest_counts_at_once_whoever_holds_addresses():
    longer = replace(OLD, reuse_seconds=300)
    found = resolve(seen(current=OLD, wanted=longer, holders=holders("10.0.0.10")))
    assert (found.offer, found.waiting, found.books[0].reuse_seconds) == (longer, None, 300)
    assert resolve(seen(current=longer, holders=holders("10.0.0.10"))).books[0].reuse_seconds == 300


def test_what_is_held_outside_the_ranges_stays_the_networks_own():
    less = offer(span("10.0.0.15-10.0.0.20"))
    (book,) = resolve(seen(current=OLD, wanted=less, holders=holders("10.0.0.10"))).books
    assert [last - first + 1 for first, last in book.territory.intervals] == [1, 6]


REFUSED = [
    (NetworkReason.ZONE_NOT_FOUND, {"zone_exists": False}),
    (NetworkReason.NAMESPACE_NOT_ALLOWED, {}),
    (NetworkReason.ZONE_INVALID, {"wanted": offer()}),
    (NetworkReason.VLAN_CONFLICT, {"wanted": OTHER_VLAN, "contested": (Problem("addresses", "taken"),)}),
]


def facts(known):
    if known.get("wanted") is not None and not known["wanted"].spans:
        return {"wanted": replace(known["wanted"], problems=(Problem("addresses", "bad"),))}
    return known


@pytest.mark.parametrize(("reason", "known"), REFUSED)
def test_a_refused_row_makes_nothing(reason, known):
    found = resolve(seen(made_by_us=False, **facts(known)))
    assert (found.offer, found.books, found.removable) == (None, (), False)
    assert found.place is not None
    assert found.place.reason is reason


@pytest.mark.parametrize(("reason", "known"), REFUSED[2:])
def test_a_refused_edit_leaves_what_is_in_force(reason, known):
    found = resolve(seen(current=OLD, holders=holders("10.0.0.10"), **facts(known)))
    assert found.offer == OLD
    assert found.books[0].allocatable.size == 11
    assert found.place is not None
    assert found.place.reason is reason


@pytest.mark.parametrize("known", [{"zone_exists": False}, {}])
def test_a_removed_row_gives_nothing_more_and_waits_for_the_last_address(known):
    found = resolve(seen(current=OLD, holders=holders("10.0.0.10"), **known))
    assert found.offer == OLD
    assert not found.books[0].allocatable
    assert (found.gives, found.removable) == (False, False)
    assert found.waiting is not None
    assert found.waiting.reason is NetworkReason.IN_USE
    assert "it goes when 1 address(es) are released" in found.waiting.message


@pytest.mark.parametrize(("ours", "removable"), [(True, True), (False, False)])
def test_only_a_network_of_ours_is_removed_with_its_row(ours, removable):
    assert resolve(seen(current=OLD, made_by_us=ours)).removable is removable


def test_a_deleted_network_waits_for_its_addresses_even_while_its_row_is_there():
    used = resolve(seen(deleting=True, current=OLD, wanted=OLD, holders=holders("10.0.0.10")))
    assert used.waiting is not None
    assert (used.waiting.reason, used.removable, used.gives) == (NetworkReason.TERMINATING, False, False)
    assert not used.books[0].allocatable
    assert resolve(seen(deleting=True, current=OLD, wanted=OLD, made_by_us=False)).removable


def test_what_another_provider_may_give_is_left_to_it_and_told():
    pool = Ranges(((0x0A000010, 0x0A000012),))
    found = resolve(seen(wanted=OLD, overlapped={Family.IPv4: pool}, overlap_messages=("overlap",)))
    assert found.books[0].allocatable.size == 8
    assert found.pools is not None
    assert found.pools.reason is NetworkReason.POOL_OVERLAPS


def test_what_a_neighbour_still_holds_is_not_given():
    held = Ranges(((0x0A00000A, 0x0A00000A),))
    found = resolve(seen(wanted=OLD, elsewhere={Family.IPv4: held}))
    assert found.books[0].allocatable.size == 10
    assert "1 address(es) still held by another network on vmbr7 VLAN 107" in found.notes[0]
