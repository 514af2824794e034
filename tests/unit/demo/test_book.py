"""The demo's list of who has what, in the order of addresses and not of their texts."""

from typing import Any

from e2e.demo.book import entries, lines


def block(book: str, first: str, entries: dict[str, str]) -> dict[str, Any]:
    held = {offset: {"state": "Allocated", "holder": holder} for offset, holder in entries.items()}
    return {"spec": {"book": book, "first": first, "entries": held}}


BLOCKS = [
    block("network/team-b/green/IPv6", "fd00:108::", {"32": "c"}),
    block("network/team-a/blue/IPv4", "10.10.1.0", {"0": "d"}),
    block("network/team-a/blue/IPv4", "10.10.0.0", {"100": "b", "20": "a"}),
]


def test_entries_by_book_block_and_offset():
    assert [(entry[0], entry[1], entry[3]) for entry in entries(BLOCKS)] == [
        ("team-a/blue", "10.10.0.20", "a"),
        ("team-a/blue", "10.10.0.100", "b"),
        ("team-a/blue", "10.10.1.0", "d"),
        ("team-b/green", "fd00:108::20", "c"),
    ]


def test_lines_are_in_columns():
    text = lines(BLOCKS)
    assert text[0] == "team-a/blue   10.10.0.20    Allocated  a"
    assert len({line.index("Allocated") for line in text}) == 1


def test_a_block_without_entries_says_nothing():
    assert lines([{"spec": {"book": "network/team-a/blue/IPv4", "first": "10.10.0.0"}}]) == []
