"""VLANs as bits, against sets of numbers."""

from hypothesis import given
from hypothesis import strategies as st

from provider.api.zone import ZoneSpec
from provider.core.vlans import ALL, VlanCounts, ZoneMasks, lowest, mask_of, span_mask

vlans = st.integers(1, 4094)


@given(st.sets(vlans, max_size=50), st.sets(vlans, max_size=50))
def test_the_lowest_of_a_difference(offered, taken):
    assert lowest(mask_of(offered) & ~mask_of(taken)) == min(offered - taken, default=None)


@given(vlans, vlans)
def test_ranges(first, last):
    assert span_mask(first, last) == mask_of(range(first, last + 1))


def test_all_and_nothing():
    assert span_mask(1, 4094) == ALL == mask_of(range(-1 + 1, 5000))
    assert (lowest(ALL), lowest(0)) == (1, None)


@given(st.lists(st.tuples(st.sampled_from("ab"), vlans), max_size=40), st.data())
def test_one_that_goes_does_not_free_what_another_one_has(users, data):
    counts, left = VlanCounts(), [*users]
    for user in users:
        counts.enter(*user)
    for user in data.draw(st.permutations(users)) if users else ():
        counts.leave(*user)
        left.remove(user)
        for wire in "ab":
            assert counts.mask(wire) == mask_of(vlan for of, vlan in left if of == wire)
        assert counts.users(*user) == left.count(user)


def test_a_zone():
    spec = ZoneSpec.model_validate(
        {
            "bridge": "vmbr1",
            "vlanRanges": [{"first": 10, "last": 12}, {"first": 20, "last": 20}],
            "reservedVLANs": [11],
            "staticAssignments": [{"namespace": "a", "network": "b", "vlan": 12}],
            "uplink": {"vlans": [10]},
        }
    )
    masks = ZoneMasks.of(spec)
    assert masks.offered == mask_of((10, 11, 12, 20))
    assert (masks.reserved, masks.uplink, masks.assigned) == (1 << 11, 1 << 10, 1 << 12)
    assert masks.assignments == {("a", "b"): 12}
