"""Field types of addresses and their ranges, shared by zones and networks.

A CRD can only afford CEL rules where few values are possible; a zone may hold tens of thousands of ranges. So the text
of an address is checked by patterns (exact for IPv4, all but the rare corner for IPv6), and what no pattern can tell,
like a reversed range or a gateway outside the subnet, is found by `core.zones` and reported on the object.
"""

from typing import Annotated

from pydantic import Field

from provider.api.meta import Model, Schema

_V4 = r"((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_V6 = r"[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}"

Ipv4Text = Annotated[str, Schema(pattern=f"^{_V4}$", maxLength=15)]
Ipv6Text = Annotated[str, Schema(pattern=f"^{_V6}$", maxLength=39)]

_ENTRY = "a single address, a range first-last, or a CIDR (all of it; host bits are ignored)"
Ipv4Entry = Annotated[
    str,
    Schema(
        pattern=f"^{_V4}(-{_V4}|/(3[0-2]|[12]?[0-9]))?$",
        maxLength=31,
        description=f"IPv4: {_ENTRY}, for instance 10.0.0.7, 10.0.0.20-10.0.0.99 or 10.0.0.128/25.",
    ),
]
Ipv6Entry = Annotated[
    str,
    Schema(
        pattern=f"^{_V6}(-{_V6}|/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?$",
        maxLength=79,
        description=f"IPv6: {_ENTRY}, for instance fd00::7, fd00::20-fd00::99 or fd00::/64.",
    ),
]

ADDRESSES = (
    "Addresses that machines may get, 1 to 64 entries, in any order: single addresses, ranges first-last, or CIDRs. "
    "All of them lie in one subnet of `prefix` bits. Given are these without excludedAddresses, the gateway, and the "
    "subnet's network and broadcast address (IPv6: its first address); the lowest free one first."
)
EXCLUDED = (
    "Addresses out of `addresses` that are never given, 0 to 64 entries of the same forms: control-plane endpoints, "
    "hand-made VMs. An address that a machine holds already stays with it and is reported."
)
GATEWAY = (
    "The subnet's router, one address inside the subnet; machines get it as their default route. Without it the "
    "network has no default route: capmox starts no machine whose only network has none."
)


class Ipv4Space(Model):
    """The IPv4 addresses of a network."""

    addresses: Annotated[tuple[Ipv4Entry, ...], Schema(minItems=1, maxItems=64)] = Field(description=ADDRESSES)
    prefix: Annotated[int, Schema(minimum=0, maximum=32)] = Field(
        description="Length of the subnet's prefix in bits, 0 to 32, for instance 24. Machines configure it on their "
        "NIC."
    )
    gateway: Ipv4Text | None = Field(default=None, description=GATEWAY)
    excluded_addresses: Annotated[tuple[Ipv4Entry, ...], Schema(maxItems=64)] = Field(default=(), description=EXCLUDED)


class Ipv6Space(Model):
    """The IPv6 addresses of a network."""

    addresses: Annotated[tuple[Ipv6Entry, ...], Schema(minItems=1, maxItems=64)] = Field(description=ADDRESSES)
    prefix: Annotated[int, Schema(minimum=0, maximum=128)] = Field(
        description="Length of the subnet's prefix in bits, 0 to 128, for instance 64. Machines configure it on their "
        "NIC."
    )
    gateway: Ipv6Text | None = Field(default=None, description=GATEWAY)
    excluded_addresses: Annotated[tuple[Ipv6Entry, ...], Schema(maxItems=64)] = Field(default=(), description=EXCLUDED)


Space = Ipv4Space | Ipv6Space

Bridge = Annotated[str, Schema(pattern="^[A-Za-z0-9_]{1,15}$", maxLength=15)]
Vlan = Annotated[int, Schema(minimum=1, maximum=4094)]
Mtu = Annotated[
    int,
    Schema(
        **{
            "minimum": 1,
            "maximum": 65520,
            "x-kubernetes-validations": [
                {
                    "rule": "self == 1 || self >= 576",
                    "message": "must be 1 (the bridge's own MTU) or 576 to 65520 bytes",
                }
            ],
        }
    ),
]
MTU = "in bytes: 576 to 65520, or 1 for the bridge's own MTU. capmox 0.8 and later refuse values from 2 to 1279."
