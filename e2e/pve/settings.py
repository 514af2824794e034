"""Changes of a VM's configuration, checked against PVE's schema and brought into the form PVE stores.

Takes a request's parameters and the VM as it is, returns the new configuration; it touches no cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from e2e.pve.errors import ParameterError, ServerError
from e2e.pve.nic import NicError, parse_nic

Settings = dict[str, str | int]

_INTEGERS = {"cores": (1, 1024), "sockets": (1, 64), "memory": (16, 4194304), "onboot": (0, 1), "protection": (0, 1)}
_TEXTS = {"agent", "cicustom", "ciuser", "cpu", "description", "ostype", "scsihw", "serial0", "smbios1", "vga"}
_DISK = re.compile(r"(ide[0-3]|sata[0-5]|scsi([12]?\d|30)|virtio(\d|1[0-5]))")
_NIC = re.compile(r"net([12]?\d|3[01])")
_TAG = re.compile(r"[a-z0-9_][a-z0-9_.+-]*", re.IGNORECASE)
_DNS_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")
_UNKNOWN = "property is not defined in schema and the schema does not allow additional properties"


def check_settings(wanted: Mapping[str, object], new_mac: Callable[[], str]) -> Settings:
    """Turn a request's parameters into settings; raises ParameterError naming every field at fault.

    A network device without a MAC gets a new one, here and not later, as in PVE.
    """
    settings: Settings = {}
    faults: dict[str, str] = {}
    for name, value in wanted.items():
        try:
            settings[name] = _check(name, value, new_mac)
        except ValueError as fault:
            faults[name] = str(fault)
    if faults:
        raise ParameterError(faults)
    return settings


def apply_settings(config: Mapping[str, str | int], changes: Settings) -> Settings:
    """The configuration after the changes (`delete` names settings to drop); raises ServerError as PVE's task would."""
    dropped = [name for name in re.split(r"[,; ]+", str(changes.get("delete", ""))) if name]
    after: Settings = {name: value for name, value in config.items() if name not in dropped}
    after.update({name: value for name, value in changes.items() if name != "delete"})
    for device in _boot_order(str(after.get("boot", ""))):
        if device not in after:
            raise ServerError(f"invalid bootorder: device '{device}' does not exist'")
    return after


def check_name(name: str) -> str:
    if not _DNS_NAME.fullmatch(name):
        raise ParameterError({"name": "invalid format - value does not look like a valid DNS name"})
    return name


def drive_storage(line: str) -> str | None:
    """The storage a drive line draws on: `local` of `local:iso/x.iso,media=cdrom`; None for an empty drive."""
    volume = line.split(",")[0]
    return volume.partition(":")[0] if ":" in volume else None


def is_drive(name: str) -> bool:
    return _DISK.fullmatch(name) is not None


def _check(name: str, value: object, new_mac: Callable[[], str]) -> str | int:
    if name in _INTEGERS:
        return _integer(value, *_INTEGERS[name])
    if not isinstance(value, str):
        raise ValueError(f"type check ('string') failed - got {value!r}")
    if name == "name":
        if not _DNS_NAME.fullmatch(value):
            raise ValueError("invalid format - value does not look like a valid DNS name")
        return value
    if name == "tags":
        return _tags(value)
    if _NIC.fullmatch(name):
        try:
            nic = parse_nic(value)
        except NicError as fault:
            raise ValueError(f"invalid format - format error, {name}.{fault}") from fault
        return str(nic if nic.mac else nic.with_mac(new_mac()))
    if is_drive(name) or name in _TEXTS or name in ("boot", "delete"):
        return value
    raise ValueError(_UNKNOWN)


def _integer(value: object, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not re.fullmatch(r"-?\d+", str(value)):
        raise ValueError(f"type check ('integer') failed - got {value!r}")
    if int(value) < low:
        raise ValueError(f"value must have a minimum value of {low}")
    if int(value) > high:
        raise ValueError(f"value must have a maximum value of {high}")
    return int(value)


def _tags(value: str) -> str:
    """PVE keeps tags in lower case, each once, sorted."""
    tags = [tag for tag in re.split(r"[;, ]+", value) if tag]
    wrong = [tag for tag in tags if not _TAG.fullmatch(tag)]
    if wrong:
        raise ValueError(f"invalid format - invalid characters in tag '{wrong[0]}'")
    return ";".join(sorted({tag.lower() for tag in tags}))


def _boot_order(boot: str) -> list[str]:
    _, equals, order = boot.partition("order=")
    return [device for device in order.split(",")[0].split(";") if device] if equals else []
