"""Random zones, tables and machines for the comparison of the policies with the oracle."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.attacks.oracle import Nic, Place, Zone

Json = dict[str, Any]

BRIDGES = ("p1", "P2", "p-3", "p_4.x")
FOREIGN = ("free", "P1", "p2", "p1 ", "p1,tag=5", "", "ü1", "p-3\n")
VLANS = (None, 1, 5, 6, 4094)
POOLS = ("n-inet", "n-inet6", "m-inet", "M-inet")
KINDS = ("InClusterIPPool", "InClusterIPPool", "InClusterIPPool", "GlobalInClusterIPPool")
VERSION_GROUP = "infrastructure.cluster.x-k8s.io"


@dataclass(frozen=True, slots=True)
class World:
    zones: tuple[Zone, ...]
    places: tuple[Place, ...]


def zones() -> st.SearchStrategy[Zone]:
    uplinks = st.lists(st.sampled_from(("up0", "Up1")), unique=True, max_size=2).map(tuple)
    vlans = st.lists(st.sampled_from((1, 6)), unique=True, max_size=2).map(tuple)
    return st.builds(Zone, st.sampled_from(BRIDGES), uplinks, vlans)


def places() -> st.SearchStrategy[Place]:
    pools = st.lists(st.sampled_from(POOLS), unique=True, min_size=1, max_size=2).map(tuple)
    return st.builds(Place, st.sampled_from(BRIDGES), st.sampled_from(VLANS), pools)


def worlds() -> st.SearchStrategy[World]:
    """Two zones, perhaps on one bridge, and a namespace with up to 16 networks."""
    return st.builds(World, st.tuples(zones(), zones()), st.lists(places(), max_size=16).map(tuple))


@st.composite
def machines(draw: st.DrawFn, world: World, version: str) -> tuple[tuple[Nic, ...], bool]:
    """NICs, mostly near what the namespace may have, and whether they are a template's."""
    old = version == "v1alpha1"
    found: list[Nic] = []
    for number in range(draw(st.sampled_from((0, 1, 1, 1, 2, 2, 3, 10, 11)))):
        least, most = (1 if number else 0, 2) if old else (0, 3)
        near = draw(st.none() | st.sampled_from(world.places)) if world.places else None
        if near is not None:
            kinds, names = st.just(KINDS[0]), st.sampled_from(near.pools)
        else:
            kinds, names = st.sampled_from(KINDS), st.sampled_from(POOLS)
        pools = tuple(draw(st.lists(st.tuples(kinds, names), min_size=least, max_size=most)))
        if near is not None and draw(st.integers(0, 4)):
            found.append(Nic(near.bridge, near.vlan, pools))
            continue
        names_of_bridges: Sequence[str | None] = (*BRIDGES, *FOREIGN, "up0", "up1", *(() if old else (None,)))
        found.append(Nic(draw(st.sampled_from(names_of_bridges)), draw(st.sampled_from(VLANS)), pools))
    return tuple(found), draw(st.booleans())


def item_of(nics: Sequence[Nic], version: str, namespace: str, *, template: bool) -> Json:
    """The machine or template as it is asked for."""
    spec: Json = {"sourceNode": "pve1", "templateID": 9000, "network": network_of(nics, version)}
    return {
        "apiVersion": f"{VERSION_GROUP}/{version}",
        "kind": "ProxmoxMachineTemplate" if template else "ProxmoxMachine",
        "metadata": {"name": "drawn", "namespace": namespace},
        "spec": {"template": {"spec": spec}} if template else spec,
    }


def network_of(nics: Sequence[Nic], version: str) -> Json:
    devices = [{"name": f"net{number}", **_device(nic, version)} for number, nic in enumerate(nics)]
    if version == "v1alpha2":
        return {"networkDevices": devices}
    if not devices:
        return {}
    first = {key: value for key, value in devices[0].items() if key != "name"}
    return {"default": first, **({"additionalDevices": devices[1:]} if devices[1:] else {})}


def _device(nic: Nic, version: str) -> Json:
    device: Json = {}
    if nic.bridge is not None:
        device["bridge"] = nic.bridge
    if nic.vlan is not None:
        device["vlan"] = nic.vlan
    pools = [{"apiGroup": "ipam.cluster.x-k8s.io", "kind": kind, "name": name} for kind, name in nic.pools]
    if version == "v1alpha2":
        return {**device, "ipPoolRef": pools}
    return {**device, **dict(zip(("ipv4PoolRef", "ipv6PoolRef"), pools, strict=False))}
