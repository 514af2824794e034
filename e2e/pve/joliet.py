"""Reads the files in the root of an ISO 9660 image through its Joliet tree.

Joliet alone, because that is the tree that carries the long names cloud-init looks for, and because general readers
refuse the Rock Ridge entries that capmox's ISO library writes. Subdirectories are not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

SECTOR = 2048
_FIRST_DESCRIPTOR = 16
_SUPPLEMENTARY, _TERMINATOR = 2, 255
_JOLIET_ESCAPES = (b"%/@", b"%/C", b"%/E")
_DIRECTORY = 0x02


class IsoError(ValueError):
    """The bytes are not an ISO image with a Joliet tree; the text says what is missing."""


def read_files(image: bytes) -> dict[str, bytes]:
    """File name -> content, for every file in the root directory."""
    root = _joliet_root(image)
    _, start, size, _ = _record(root)
    return {
        name.split(";")[0]: _slice(image, first, length)
        for name, first, length, flags in _records(_slice(image, start, size))
        if not flags & _DIRECTORY
    }


def _joliet_root(image: bytes) -> bytes:
    """The directory record of the Joliet root."""
    sector = _FIRST_DESCRIPTOR
    while True:
        descriptor = _slice(image, sector, SECTOR)
        if descriptor[1:6] != b"CD001":
            raise IsoError(f"no volume descriptor in sector {sector}: not an ISO 9660 image")
        if descriptor[0] == _SUPPLEMENTARY and descriptor[88:91] in _JOLIET_ESCAPES:
            return descriptor[156:190]
        if descriptor[0] == _TERMINATOR:
            raise IsoError("no Joliet volume descriptor")
        sector += 1


def _records(directory: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Records never cross a sector border: a zero length byte means "go on with the next sector"."""
    place = 0
    while place < len(directory):
        length = directory[place]
        if length == 0:
            place = (place // SECTOR + 1) * SECTOR
            continue
        yield _record(directory[place : place + length])
        place += length


def _record(record: bytes) -> tuple[str, int, int, int]:
    """One directory record as (name, first sector, size in bytes, flags)."""
    if len(record) < 34 or len(record) < 33 + record[32]:
        raise IsoError("a directory record is cut short")
    (first,) = struct.unpack_from("<I", record, 2)
    (size,) = struct.unpack_from("<I", record, 10)
    name = record[33 : 33 + record[32]]
    return name.decode("utf-16-be") if len(name) > 1 else "", first, size, record[25]


def _slice(image: bytes, sector: int, size: int) -> bytes:
    start = sector * SECTOR
    if start + size > len(image):
        raise IsoError(f"the image ends at byte {len(image)}, before byte {start + size}")
    return image[start : start + size]
