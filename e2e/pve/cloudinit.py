"""What a guest would read from its cloud-init ISO: user-data, meta-data, and the network configuration as typed values.

Reads netplan version 2 as capmox writes it for cloud-init. Under Ignition capmox writes an empty version 1, which reads
as no interfaces. Anything else is refused, so a test cannot pass on a configuration nobody understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
    ip_network,
)
from typing import Any

import yaml

from e2e.pve.joliet import read_files

Address = IPv4Address | IPv6Address


class CloudInitError(ValueError):
    """The ISO is not one a guest could boot with; the text names the file and what is wrong in it."""


@dataclass(frozen=True, slots=True)
class Route:
    to: IPv4Network | IPv6Network
    via: Address
    metric: int | None = None
    table: int | None = None

    @property
    def default(self) -> bool:
        return self.to.prefixlen == 0


@dataclass(frozen=True, slots=True)
class Interface:
    """One network card of the guest, found by its MAC (upper case). `mtu` is in bytes."""

    name: str
    mac: str
    addresses: tuple[IPv4Interface | IPv6Interface, ...]
    routes: tuple[Route, ...]
    nameservers: tuple[Address, ...]
    dhcp4: bool = False
    dhcp6: bool = False
    mtu: int | None = None


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    interfaces: tuple[Interface, ...]

    def interface(self, name: str) -> Interface:
        found = next((one for one in self.interfaces if one.name == name), None)
        if found is None:
            names = ", ".join(one.name for one in self.interfaces) or "none"
            raise CloudInitError(f"network-config: no interface {name}, only {names}")
        return found


@dataclass(frozen=True, slots=True)
class CloudInit:
    user_data: str
    meta_data: Mapping[str, str]
    network_config: NetworkConfig


def read_cloud_init(image: bytes) -> CloudInit:
    """Read a cloud-init ISO; raises IsoError or CloudInitError."""
    files = read_files(image)
    texts: dict[str, str] = {}
    for name in ("user-data", "meta-data", "network-config"):
        if name not in files:
            raise CloudInitError(f"{name}: not on the ISO, which holds {', '.join(sorted(files)) or 'nothing'}")
        texts[name] = files[name].decode()
    meta = _mapping("meta-data", _yaml("meta-data", texts["meta-data"]))
    return CloudInit(
        user_data=texts["user-data"],
        meta_data={str(name): str(value) for name, value in meta.items()},
        network_config=parse_network_config(texts["network-config"]),
    )


def parse_network_config(text: str) -> NetworkConfig:
    """Read a network-config; raises CloudInitError naming the interface and the value."""
    whole = _mapping("network-config", _yaml("network-config", text))
    if whole.get("version") == "1" and whole.get("config") == []:
        return NetworkConfig(())
    network = _mapping("network-config: network", whole.get("network"))
    if network.get("version") != "2":
        raise CloudInitError(f"network-config: version {network.get('version')!r} is not 2")
    ethernets = _mapping("network-config: ethernets", network.get("ethernets"))
    interfaces = []
    for name, settings in ethernets.items():
        try:
            interfaces.append(_interface(name, _mapping(f"network-config: {name}", settings)))
        except (KeyError, TypeError, ValueError) as fault:
            raise CloudInitError(f"network-config: {name}: {fault}") from fault
    return NetworkConfig(tuple(interfaces))


def _interface(name: str, settings: Mapping[str, Any]) -> Interface:
    return Interface(
        name=name,
        mac=str(settings["match"]["macaddress"]).upper(),
        addresses=tuple(ip_interface(text) for text in settings.get("addresses", [])),
        routes=tuple(_route(route) for route in settings.get("routes", [])),
        nameservers=tuple(ip_address(text) for text in settings.get("nameservers", {}).get("addresses", [])),
        dhcp4=settings.get("dhcp4") == "true",
        dhcp6=settings.get("dhcp6") == "true",
        mtu=int(settings["mtu"]) if "mtu" in settings else None,
    )


def _route(route: Mapping[str, str]) -> Route:
    via = ip_address(route["via"])
    to = route["to"]
    if to == "default":
        to = "0.0.0.0/0" if via.version == 4 else "::/0"
    return Route(
        to=ip_network(to),
        via=via,
        metric=int(route["metric"]) if "metric" in route else None,
        table=int(route["table"]) if "table" in route else None,
    )


def _yaml(name: str, text: str) -> object:
    """Every scalar stays text: YAML 1.1 would turn an unquoted MAC of digits alone into a number."""
    try:
        return yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as fault:
        raise CloudInitError(f"{name}: not YAML: {fault}") from fault


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CloudInitError(f"{name}: must be a mapping, got {value!r}")
    return value
