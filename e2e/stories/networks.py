"""The admin's side of a story: a zone with its tenants' networks, and the address books behind them.

Reads through kubectl, never through the provider's code.
"""

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from e2e.bed.bed import Bed
from e2e.bed.errors import BedError
from e2e.stories.objects import Family

Object = dict[str, Any]
NETWORK_SECONDS = 60.0
POLL_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Network:
    """One row of a zone's table. `vlan` 1..4094."""

    namespace: str
    name: str
    vlan: int
    ipv4: Family | None = None
    ipv6: Family | None = None

    def row(self) -> Object:
        families = {"ipv4": self.ipv4, "ipv6": self.ipv6}
        given = {key: family.spec() for key, family in families.items() if family is not None}
        return {"name": self.name, "vlan": self.vlan, **given}

    def book(self, family: str) -> str:
        """Name of the address book of a family, "IPv4" or "IPv6"."""
        return f"network/{self.namespace}/{self.name}/{family}"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a book says of one address: state, and the claim that holds or held it as <namespace>/<name>."""

    state: str
    claim: str


def zone(name: str, bridge: str, networks: Iterable[Network], reuse_seconds: int = 60) -> Object:
    """The ProxmoxNetworkZone of these networks; a released address rests for `reuse_seconds`."""
    table: dict[str, list[Object]] = {}
    for network in networks:
        table.setdefault(network.namespace, []).append(network.row())
    spec = {"bridge": bridge, "addressReuseSeconds": reuse_seconds, "networks": table}
    version = "proxmox.cozystack.io/v1alpha1"
    return {"apiVersion": version, "kind": "ProxmoxNetworkZone", "metadata": {"name": name}, "spec": spec}


def wait_ready(bed: Bed, networks: Iterable[Network], timeout: float = NETWORK_SECONDS) -> None:
    """Until each of them is Ready. Raises BedError with what the network says instead."""
    for network in networks:
        deadline = time.monotonic() + timeout
        while (said := _said(bed, network)) != "True":
            if time.monotonic() > deadline:
                raise BedError(f"network {network.namespace}/{network.name} is not Ready: {said or 'not made'}")
            time.sleep(POLL_SECONDS)


def read_book(bed: Bed, book: str) -> Mapping[str, Entry]:
    """Address -> entry, over all blocks of the book."""
    found: dict[str, Entry] = {}
    for block in json.loads(bed.kubectl("get", "addressblocks", "--output", "json"))["items"]:
        spec = block["spec"]
        if spec["book"] != book:
            continue
        for offset, entry in spec.get("entries", {}).items():
            address = str(ip_address(spec["first"]) + int(offset))
            found[address] = Entry(entry["state"], entry["holder"].removeprefix("IPAddressClaim/"))
    return found


def wait_book(bed: Bed, book: str, wanted: Mapping[str, Entry], timeout: float = 30.0) -> None:
    """Until the book says exactly this. Raises BedError with what it says instead."""
    deadline = time.monotonic() + timeout
    while (found := read_book(bed, book)) != wanted:
        if time.monotonic() > deadline:
            raise BedError(f"book {book} does not become {dict(wanted)}: it is {dict(found)}")
        time.sleep(POLL_SECONDS)


def addresses(bed: Bed, tenant: str) -> Mapping[str, str]:
    """The namespace's IPAddress objects: name -> address."""
    kind = "ipaddresses.ipam.cluster.x-k8s.io"
    items = json.loads(bed.kubectl("get", kind, "--namespace", tenant, "--output", "json"))["items"]
    return {item["metadata"]["name"]: item["spec"]["address"] for item in items}


def _said(bed: Bed, network: Network) -> str:
    """Status of the Ready condition, with its reason where it is not True; "" while there is none."""
    where = ("--namespace", network.namespace, "--ignore-not-found", "--output", "json")
    text = bed.kubectl("get", "proxmoxnetworks", network.name, *where)
    conditions = json.loads(text).get("status", {}).get("conditions", ()) if text else ()
    ready = next((each for each in conditions if each["type"] == "Ready"), None)
    if ready is None:
        return ""
    return "True" if ready["status"] == "True" else f"{ready['reason']} {ready.get('message', '')}"
