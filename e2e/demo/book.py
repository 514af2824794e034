"""The books of addresses as people read them: one line an address, from AddressBlocks. Pure."""

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any

Object = dict[str, Any]


def entries(blocks: Iterable[Object]) -> Iterator[tuple[str, str, str, str]]:
    """Namespace/network, address, state and holder of every entry, by book and address."""
    for block in sorted(blocks, key=_order):
        spec = block["spec"]
        first = ipaddress.ip_address(spec["first"])
        network = spec["book"].removeprefix("network/").rpartition("/")[0]
        for offset, entry in sorted(spec.get("entries", {}).items(), key=lambda item: int(item[0])):
            yield network, str(first + int(offset)), entry["state"], entry["holder"]


def lines(blocks: Iterable[Object]) -> list[str]:
    """The entries in columns."""
    found = list(entries(blocks))
    widths = [max((len(entry[column]) for entry in found), default=0) for column in range(3)]
    return ["  ".join(text.ljust(width) for text, width in zip(entry, [*widths, 0], strict=True)) for entry in found]


def _order(block: Object) -> tuple[str, int]:
    return block["spec"]["book"], int(ipaddress.ip_address(block["spec"]["first"]))
