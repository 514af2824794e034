"""Conditions keep their time while their status holds; what is new is worth an Event."""

from datetime import UTC, datetime, timedelta

from provider.core.conditions import MAX_MESSAGE, Statement, conditions, listed, transitions
from provider.core.patches import merge_patch

NOW = datetime(2026, 1, 1, 12, 0, 0, 999999, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def test_time_and_generation():
    first = conditions((), [Statement("Ready", False, "InUse", "busy")], 1, NOW)
    same = conditions(first, [Statement("Ready", False, "Other", "busy")], 2, LATER)
    after = conditions(same, [Statement("Ready", True, "Ready")], 2, LATER)
    assert [found[0].last_transition_time for found in (first, same, after)] == [
        NOW.replace(microsecond=0), NOW.replace(microsecond=0), LATER.replace(microsecond=0),
    ]  # fmt: skip
    assert [found[0].observed_generation for found in (first, same, after)] == [1, 2, 2]
    assert [len(transitions(*pair)) for pair in (((), first), (first, first), (first, same), (same, after))] == [
        1, 0, 1, 1,
    ]  # fmt: skip


def test_a_message_that_nobody_would_read_to_its_end_is_cut():
    (found,) = conditions((), [Statement("Ready", False, "InUse", "x" * 99_999)], 1, NOW)
    assert len(found.message) == MAX_MESSAGE
    assert found.message.endswith(" ...")


def test_lists_show_a_few_and_count_the_rest():
    assert listed(["a", "b"]) == "a, b"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert listed(["a", "b", "c"], total=9) == "a, b, c and 6 more"


def test_the_smallest_patch():
    before = {"a": 1, "b": {"c": 2, "d": [1]}, "gone": 1}
    after = {"a": 1, "b": {"c": 3, "d": [1]}, "new": {"x": 1}}
    assert merge_patch(before, after) == {"b": {"c": 3}, "gone": None, "new": {"x": 1}}
    assert merge_patch(after, after) == {}
