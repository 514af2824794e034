"""Whether a book's blocks and the objects around them agree.

They part where somebody makes an IPAddress by hand, after a restore or a move, and where a provider died between two of
its writes. Pure: it tells what does not agree; who calls it asks the API server again before anything is freed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from provider.core.blocks import BLOCK_SIZE, Block, Entry, State, base_of
from provider.core.books import is_holder, namesake


@dataclass(frozen=True, slots=True)
class KnownAddress:
    """An IPAddress object of one of the book's pools.

    Attributes:
        uid: its claim's, None where no claim owns it.
        abandoned: a provider made it for a claim that does not own it any more.
    """

    address: int
    holder: str
    uid: str | None
    abandoned: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """Where blocks and objects disagree.

    Attributes:
        unbooked: objects whose address has no entry: adopt them before anything new is given.
        duplicates: objects whose address the book, or another object, gives to somebody else: only ever reported.
        strays: Allocated entries whose holder is neither a claim nor an object known here: confirm live, then free.
        surplus: entries of a claim whose object has another address: free them.
        orphans: objects that were made for a claim which is gone: confirm live, then delete.
    """

    unbooked: tuple[KnownAddress, ...]
    duplicates: tuple[tuple[KnownAddress, str], ...]
    strays: tuple[tuple[int, Entry], ...]
    surplus: tuple[tuple[int, Entry], ...]
    orphans: tuple[KnownAddress, ...]


def audit(blocks: Mapping[int, Block], addresses: Iterable[KnownAddress], claims: Mapping[str, str]) -> Findings:
    """Compare a book's blocks with the objects of its pools.

    Args:
        addresses: all IPAddress objects of the book's pools.
        claims: uid -> holder of every claim that exists.
    """
    unbooked: list[KnownAddress] = []
    duplicates: list[tuple[KnownAddress, str]] = []
    by_uid: dict[str, int] = {}
    by_name: dict[str, int] = {}
    seen: dict[int, KnownAddress] = {}
    orphans: list[KnownAddress] = []
    for known in addresses:
        if known.uid not in claims if known.uid is not None else known.abandoned:
            orphans.append(known)
        by_name[namesake(known.holder)] = known.address
        if known.uid is not None:
            by_uid[known.uid] = known.address
        first = seen.setdefault(known.address, known)
        block = blocks.get(base_of(known.address))
        entry = block.entries.get(known.address % BLOCK_SIZE) if block else None
        if first is not known:
            duplicates.append((known, first.holder))
        elif entry is None:
            unbooked.append(known)
        elif not is_holder(entry, known.holder, known.uid) and namesake(entry.holder) != namesake(known.holder):
            duplicates.append((known, entry.holder))
    strays: list[tuple[int, Entry]] = []
    surplus: list[tuple[int, Entry]] = []
    for block in blocks.values():
        for offset, entry in block.entries.items():
            address = block.base + offset
            if entry.state is not State.ALLOCATED:
                continue
            elsewhere = by_uid.get(entry.uid) if entry.uid is not None else None
            if elsewhere is not None and elsewhere != address:
                surplus.append((address, entry))
            elif (entry.uid is None or entry.uid not in claims) and by_name.get(namesake(entry.holder)) != address:
                strays.append((address, entry))
    return Findings(tuple(unbooked), tuple(duplicates), tuple(strays), tuple(surplus), tuple(orphans))
