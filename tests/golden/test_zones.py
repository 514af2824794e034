"""Zones, networks, pools and holders in; what is made of them out. One folder a case: `given.yaml` and `made.yaml`.

After a wanted change: PXNET_REGENERATE=1 pytest tests/golden, then read the diff as a reviewer would.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from provider.api.meta import Condition
from provider.api.network import ProxmoxNetwork
from provider.api.pool import read_pool
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.catalog import Catalog
from provider.controllers.seeing import see_network, see_zone
from provider.core import zones
from provider.core.addresses import format_interval, parse_address
from provider.core.blocks import Block, Entry, State, base_of
from provider.core.books import BookSpec
from provider.core.conditions import conditions
from provider.core.network_pools import plan_pools
from provider.core.network_status import network_status, obstacle, statements
from provider.core.networks import Holders, resolve
from provider.core.usage import usage

CASES = sorted(path.parent for path in (Path(__file__).parent / "zones").glob("*/given.yaml"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def holders_of(given: dict[str, Any], key: tuple[str, str]) -> Holders:
    found: dict[Any, list[tuple[int, Entry]]] = {}
    for text, holder in given.get("holders", {}).get("/".join(key), {}).items():
        family, address = parse_address(text)
        found.setdefault(family, []).append((address, Entry(State.ALLOCATED, holder, NOW, holder)))
    return found


def counted(book: BookSpec, held: Holders) -> Any:
    blocks: dict[int, Block] = {}
    for address, entry in held.get(book.family, ()):
        base = base_of(address)
        blocks[base] = blocks.get(base, Block(base)).changed({address - base: entry}, "1")
    return usage(book, blocks)


def said(found: tuple[Condition, ...]) -> dict[str, str]:
    return {each.type: f"{each.status} {each.reason}: {each.message}".removesuffix(": ") for each in found}


def made_of(given: dict[str, Any]) -> dict[str, Any]:
    catalog = Catalog()
    for raw in given["zones"]:
        catalog.put_zone(ProxmoxNetworkZone.model_validate(raw))
    pools = given.get("pools", [])
    seen_pools = [read_pool(raw) for raw in pools]
    networks = {}
    for raw in given.get("networks", []):
        network = ProxmoxNetwork.model_validate(raw)
        networks[network.metadata.namespace or "", network.metadata.name] = (network, raw)
    for key, (network, _) in networks.items():
        catalog.put_network(key, network)
    made: dict[str, Any] = {"networks": {}, "zones": {}}
    for key, (network, _) in sorted(networks.items()):
        held = holders_of(given, key)
        found = resolve(see_network(catalog, seen_pools, key, network, held, {}))
        numbers = {book.family: counted(book, held) for book in found.books}
        plan = plan_pools(
            key,
            None if found.removable else found.offer,
            [raw for raw in pools if raw["metadata"]["namespace"] == key[0]],
        )
        written = conditions(network.status.conditions, statements(found, obstacle(plan), numbers), 1, NOW)
        status = network_status(key, found.offer, numbers, written, 1).to_json()
        status.pop("conditions", None)
        made["networks"]["/".join(key)] = {
            "conditions": said(written),
            "removable": found.removable,
            "status": status,
            "books": {
                book.name: [format_interval(book.family, interval) for interval in book.allocatable.intervals]
                for book in found.books
            },
            "pools": {
                "create": [*plan.create],
                "patch": dict(plan.patch),
                "delete": [*plan.delete],
                "conflicts": [*plan.conflicts],
            },
        }
    for name, zone in sorted(catalog.zones.items()):
        seen = see_zone(catalog, seen_pools, zone)
        decided = zones.decide(seen)
        written = conditions((), [decided.ready], 1, NOW)
        made["zones"][name] = {
            "conditions": said(written),
            "create": ["/".join((body["metadata"]["namespace"], body["metadata"]["name"])) for body in decided.create],
            "finalizer": "add" if decided.add_finalizer else "drop" if decided.drop_finalizer else "keep",
            "counts": zones.zone_status(seen, written).to_json()["counts"],
        }
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_zone(case: Path) -> None:
    given = yaml.safe_load((case / "given.yaml").read_text())
    text = yaml.safe_dump(made_of(given), sort_keys=True, width=110, allow_unicode=True)
    golden = case / "made.yaml"
    if os.environ.get("PXNET_REGENERATE"):
        golden.write_text(text)
    assert golden.read_text() == text, "if this change is wanted: PXNET_REGENERATE=1 pytest tests/golden"


def test_there_are_cases() -> None:
    assert len(CASES) >= 8
