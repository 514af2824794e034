"""What a zone gives on demand: VLANs out of ranges, CIDRs out of its address space, and to which namespaces."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from provider.api.addressing import Bridge, Vlan
from provider.api.meta import Model, Schema, cel, keyed, validated

_LABEL_VALUE = Annotated[str, Schema(pattern="^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$", maxLength=63)]
_LABEL_KEY = Annotated[
    str,
    Schema(
        pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
        minLength=1,
        maxLength=317,
    ),
]


class VlanRange(Model):
    """VLANs that stand next to each other."""

    model_config = validated(
        ("self.first <= self.last", "the range is reversed: first must not be greater than last"),
    )

    first: Vlan = Field(description="First VLAN of the range, 1 to 4094.")
    last: Vlan = Field(description="Last VLAN of the range, itself included, 1 to 4094.")


VlanRanges = Annotated[
    tuple[VlanRange, ...],
    Schema(
        **{
            "maxItems": 64,
            "x-kubernetes-validations": cel(
                (
                    "self.all(one, self.exists_one(other, other.first <= one.last && one.first <= other.last))",
                    "ranges must not overlap: join them",
                )
            ),
        }
    ),
]


def _vlan_set(limit: int) -> Schema:
    return Schema(**{"maxItems": limit, "x-kubernetes-list-type": "set"})


ReservedVlans = Annotated[tuple[Vlan, ...], _vlan_set(4094)]


class StaticAssignment(Model):
    """A network on demand that gets one VLAN and no other."""

    namespace: Annotated[str, Schema(minLength=1, maxLength=63)] = Field(description="Namespace of the network.")
    network: Annotated[str, Schema(minLength=1, maxLength=40)] = Field(description="Name of the network.")
    vlan: Vlan = Field(
        description="Its VLAN, 1 to 4094. It may lie outside vlanRanges and among reservedVLANs, but not in "
        "uplink.vlans."
    )


StaticAssignments = Annotated[
    tuple[StaticAssignment, ...],
    keyed(
        "namespace",
        "network",
        limit=256,
        **{
            "x-kubernetes-validations": cel(
                (
                    "self.all(one, self.exists_one(other, other.vlan == one.vlan))",
                    "two networks cannot have one VLAN: give each its own",
                )
            )
        },
    ),
]


class LabelRequirement(Model):
    """A label that a namespace must have, or must not have."""

    model_config = validated(
        (
            "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 "
            ": !has(self.values) || size(self.values) == 0",
            "In and NotIn need values; Exists and DoesNotExist take none",
        ),
    )

    key: _LABEL_KEY = Field(description="Key of the label.")
    operator: Annotated[str, Schema(enum=["In", "NotIn", "Exists", "DoesNotExist"])] = Field(
        description="In: the label has one of `values`. NotIn: it has none of them, or is missing. Exists, "
        "DoesNotExist: whether there is such a label."
    )
    values: Annotated[tuple[_LABEL_VALUE, ...], Schema(maxItems=64)] = Field(
        default=(), description="Values for In and NotIn, 1 to 64."
    )


class LabelSelector(Model):
    """Labels of namespaces; all that is said here must hold. An empty selector selects every namespace."""

    match_labels: Annotated[Mapping[str, _LABEL_VALUE], Schema(maxProperties=64)] = Field(
        default={}, description="Labels that the namespace must have with these very values."
    )
    match_expressions: Annotated[tuple[LabelRequirement, ...], Schema(maxItems=64)] = Field(
        default=(), description="Further requirements on its labels."
    )


def _space_rules(version: int, width: int) -> tuple[tuple[str, str], ...]:
    apart = "!cidr(other).containsIP(cidr(one).ip()) && !cidr(one).containsIP(cidr(other).ip())"
    return (
        (
            f"self.cidrs.all(one, isCIDR(one) && cidr(one).ip().family() == {version} && "
            "cidr(one) == cidr(one).masked())",
            f"cidrs must be IPv{version} CIDRs without host bits",
        ),
        (
            "self.cidrs.all(one, !isCIDR(one) || cidr(one).prefixLength() <= self.networkPrefix)",
            "networkPrefix does not fit: every one of cidrs must have room for a network of that prefix",
        ),
        (
            f"self.cidrs.all(one, !isCIDR(one) || self.cidrs.exists_one(other, isCIDR(other) && !({apart})))",
            "cidrs must not overlap",
        ),
        (
            # A shift in a language without shifts; only small networks can be too small.
            f"self.networkPrefix < {width - 10} || self.reserve + 4 <= [1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1]"
            f"[self.networkPrefix - {width - 10}]",
            "reserve leaves no address to machines in a network of networkPrefix",
        ),
    )


_RESERVE = (
    "How many addresses after the gateway no machine ever gets, 0 to 1000: room for control-plane endpoints and the "
    "like. Applies to networks made from now on."
)
_CIDRS = (
    "Where networks are cut from, 1 to 32 CIDRs, the lowest free place first. Zones may share them: no two networks of "
    "any zone get one address. Ranges of the static tables are left out. A network keeps what it has when a CIDR goes."
)


class Ipv4AddressSpace(Model):
    """IPv4 addresses for networks on demand."""

    model_config = validated(*_space_rules(4, 32))

    cidrs: Annotated[tuple[Annotated[str, Schema(maxLength=18)], ...], Schema(minItems=1, maxItems=32)] = Field(
        description=_CIDRS
    )
    network_prefix: Annotated[int, Schema(minimum=16, maximum=29)] = Field(
        default=24, description="Prefix of a network that asks for no size, 16 to 29 bits."
    )
    reserve: Annotated[int, Schema(minimum=0, maximum=1000)] = Field(default=4, description=_RESERVE)


class Ipv6AddressSpace(Model):
    """IPv6 addresses for networks on demand."""

    model_config = validated(*_space_rules(6, 128))

    cidrs: Annotated[tuple[Annotated[str, Schema(maxLength=43)], ...], Schema(minItems=1, maxItems=32)] = Field(
        description=_CIDRS
    )
    network_prefix: Annotated[int, Schema(minimum=56, maximum=124)] = Field(
        default=64, description="Prefix of a network that asks for no size, 56 to 124 bits."
    )
    reserve: Annotated[int, Schema(minimum=0, maximum=1000)] = Field(default=4, description=_RESERVE)


class AddressSpace(Model):
    """Addresses that networks on demand are cut from. A network that names no family gets one of each."""

    ipv4: Ipv4AddressSpace | None = Field(default=None, description="IPv4 addresses; unset: none are given on demand.")
    ipv6: Ipv6AddressSpace | None = Field(default=None, description="IPv6 addresses; unset: none are given on demand.")


class Uplink(Model):
    """What carries the platform itself."""

    bridges: Annotated[tuple[Bridge, ...], Schema(**{"maxItems": 64, "x-kubernetes-list-type": "set"})] = Field(
        default=(), description="Bridges that no tenant's machine may ever be on, whatever a table says."
    )
    vlans: Annotated[tuple[Vlan, ...], _vlan_set(256)] = Field(
        default=(), description="VLANs of the zone's bridge that no tenant's machine may ever be on."
    )
