"""The network device line of a VM, `virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=107`, read and written as PVE does.

PVE accepts the options in any order, invents a MAC where none is given, and prints model and MAC first and the other
options by name in alphabetical order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MODELS = ("e1000", "rtl8139", "virtio", "vmxnet3")
MAX_DEVICES = 32

_MAC = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}")
_BRIDGE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_NUMBERS = {"mtu": (1, 65520), "queues": (0, 64), "tag": (1, 4094)}
_FLAGS = ("firewall", "link_down")


class NicError(ValueError):
    """The line is not a network device; the text says which option is wrong."""


@dataclass(frozen=True, slots=True)
class Nic:
    """`tag` is the VLAN (1..4094); `mtu` is in bytes, where 1 means "the bridge's own"."""

    model: str
    bridge: str
    mac: str | None = None
    tag: int | None = None
    mtu: int | None = None
    queues: int | None = None
    firewall: bool = False
    link_down: bool = False

    def __str__(self) -> str:
        options = {
            "bridge": self.bridge,
            "firewall": 1 if self.firewall else None,
            "link_down": 1 if self.link_down else None,
            "mtu": self.mtu,
            "queues": self.queues,
            "tag": self.tag,
        }
        head = self.model if self.mac is None else f"{self.model}={self.mac}"
        return ",".join([head, *(f"{name}={value}" for name, value in options.items() if value is not None)])

    def with_mac(self, mac: str) -> Nic:
        return replace(self, mac=mac)


def parse_nic(line: str) -> Nic:
    """Read one line; raises NicError naming the option at fault."""
    model: str | None = None
    mac: str | None = None
    bridge: str | None = None
    numbers: dict[str, int] = {}
    flags: dict[str, bool] = {}
    for part in line.split(","):
        name, equals, value = part.partition("=")
        if name in MODELS or (name == "model" and value in MODELS):
            if model is not None:
                raise NicError(f"model: given twice ({model}, {part})")
            model = value if name == "model" else name
            mac = _mac(value) if equals and name != "model" else mac
        elif name == "macaddr":
            mac = _mac(value)
        elif name == "bridge":
            if not _BRIDGE.fullmatch(value):
                raise NicError(f"bridge: invalid format - {value!r} is no interface name")
            bridge = value
        elif name in _NUMBERS:
            numbers[name] = _number(name, value)
        elif name in _FLAGS:
            flags[name] = _number(name, value, (0, 1)) == 1
        else:
            raise NicError(f"{name}: property is not defined in schema")
    if model is None:
        raise NicError("model: property is missing and it is not optional")
    if bridge is None:
        raise NicError("bridge: property is missing and it is not optional")
    return Nic(
        model=model,
        bridge=bridge,
        mac=mac,
        tag=numbers.get("tag"),
        mtu=numbers.get("mtu"),
        queues=numbers.get("queues"),
        firewall=flags.get("firewall", False),
        link_down=flags.get("link_down", False),
    )


def invent_mac(serial: int) -> str:
    """A MAC in Proxmox's own prefix, different for each serial (0..2^24-1)."""
    return "BC:24:11:" + ":".join(f"{byte:02X}" for byte in serial.to_bytes(3, "big"))


def _mac(value: str) -> str:
    if not _MAC.fullmatch(value) or int(value[:2], 16) & 1:
        raise NicError(f"macaddr: {value!r} is no unicast MAC address")
    return value.upper()


def _number(name: str, value: str, allowed: tuple[int, int] | None = None) -> int:
    low, high = allowed or _NUMBERS[name]
    if not value.isascii() or not value.isdigit():
        raise NicError(f"{name}: type check ('integer') failed - got {value!r}")
    number = int(value)
    if number < low:
        raise NicError(f"{name}: value must have a minimum value of {low}")
    if number > high:
        raise NicError(f"{name}: value must have a maximum value of {high}")
    return number
