"""What ProxmoxMachines are connected to, read out of the raw objects at either of capmox's API versions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from provider.core.offers import Segment

Json = dict[str, Any]

POOL_KIND = "InClusterIPPool"


@dataclass(frozen=True, slots=True)
class Nic:
    """One NIC, as it is asked for.

    Attributes:
        bridge: None where the Proxmox template's is kept.
        vlan: None for untagged.
        pools: kind and name of the pools that it takes addresses from beside the cluster's own.
    """

    bridge: str | None
    vlan: int | None = None
    pools: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """A ProxmoxMachine. `ending`: it is being deleted, and its VM may be there still."""

    name: str
    nics: tuple[Nic, ...]
    ending: bool = False

    def __str__(self) -> str:
        return f"{self.name} (being deleted)" if self.ending else self.name


@dataclass(frozen=True, slots=True)
class Users:
    """The machines that refer to one network.

    Attributes:
        machines: by name.
        unread: why nobody can tell which; then there may be some.
    """

    machines: tuple[Machine, ...] = ()
    unread: str | None = None

    def __bool__(self) -> bool:
        return bool(self.machines) or self.unread is not None


NOBODY = Users()


def read_machine(raw: Json) -> Machine:
    """Read one object. What has another shape than capmox's CRD allows is left out."""
    metadata = raw["metadata"]
    network = _mapping(_mapping(raw.get("spec")).get("network"))
    # v1alpha2 has one list; v1alpha1 the first NIC by itself and a list of the others.
    devices = [*_items(network.get("networkDevices")), *_items(network.get("additionalDevices"))]
    if isinstance(network.get("default"), dict):
        devices.insert(0, network["default"])
    return Machine(metadata["name"], tuple(map(_read_nic, devices)), "deletionTimestamp" in metadata)


def _read_nic(device: Json) -> Nic:
    bridge, vlan = device.get("bridge"), device.get("vlan")
    return Nic(
        bridge if isinstance(bridge, str) else None,
        vlan if isinstance(vlan, int) else None,
        tuple(_pools(device)),
    )


def _pools(device: Json) -> Iterator[tuple[str, str]]:
    for reference in (*_items(device.get("ipPoolRef")), device.get("ipv4PoolRef"), device.get("ipv6PoolRef")):
        found = _mapping(reference)
        if found.get("kind") and found.get("name"):
            yield str(found["kind"]), str(found["name"])


def _mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def users(machines: Iterable[Machine], segment: Segment, pools: Sequence[str], *, shared: bool) -> tuple[Machine, ...]:
    """The machines of a namespace that refer to a network of it, by name.

    Args:
        segment: where the network is.
        pools: names of its InClusterIPPools.
        shared: another network of the namespace is on this segment and stays. Then being there refers to that one just
            as well, and only the pools tell; or this network could not go before all machines of the other.
    """
    found = [machine for machine in machines if any(_refers(nic, segment, pools, shared) for nic in machine.nics)]
    return tuple(sorted(found, key=lambda machine: machine.name))


def _refers(nic: Nic, segment: Segment, pools: Sequence[str], shared: bool) -> bool:
    if any(kind == POOL_KIND and name in pools for kind, name in nic.pools):
        return True
    return not shared and nic.bridge is not None and Segment(nic.bridge, nic.vlan) == segment
