"""What changed between two looks at the machines, as lines: for places where a table cannot be redrawn."""

from collections.abc import Iterator, Sequence

from e2e.demo.table import Row


def claim_text(row: Row, *, short: bool = False) -> str:
    """The claim's part of a row: its age, and how fast it was answered."""
    if row.claim_age is None:
        return ""
    if not row.answered:
        return f"{row.claim_age} s, waiting"
    if row.answered_ms is None:
        return f"{row.claim_age} s, answered"
    return f"{row.claim_age} s, {'' if short else 'answered '}in {row.answered_ms:.0f} ms"


def changes(before: Sequence[Row], after: Sequence[Row]) -> Iterator[str]:
    """One line for each machine that asked for, got, or finished something."""
    old = {(row.namespace, row.machine): row for row in before}
    for row in after:
        was = old.get((row.namespace, row.machine))
        name = f"{row.namespace}/{row.machine}"
        if row.answered and not (was and was.answered):
            took = "" if row.answered_ms is None else f" in {row.answered_ms:.0f} ms"
            yield f"{name}: claim answered{took}: {', '.join(row.addresses)}"
        if row.ready and not (was and was.ready):
            yield f"{name}: running on {row.node}, {place(row)}"


def place(row: Row) -> str:
    """Where the machine's NIC is."""
    return f"{row.bridge} VLAN {row.vlan}" if row.vlan else f"{row.bridge} untagged"
