"""NetworkBlock: which network holds which VLAN or subnet. The one truth of pxnet about places given on demand.

As in an AddressBlock there is no status subresource: the count rides in the write that changes the entries.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AwareDatetime, Field

from provider.api.meta import AGE_COLUMN, Column, Count, CustomResource, Kind, Model, Schema, cel

MAX_ENTRIES = 4096
"""Entries of one block: what fits into one object."""


class NetworkBlockEntry(Model):
    """Who holds a VLAN or a subnet."""

    holder: Annotated[str, Schema(pattern="^ProxmoxNetwork/[^/]+/[^/]+$", maxLength=600)] = Field(
        description="ProxmoxNetwork/<namespace>/<name>."
    )
    uid: Annotated[str, Schema(minLength=1, maxLength=64)] = Field(
        description="The network's uid: a late return of an old network must not take its namesake's place."
    )
    since: AwareDatetime = Field(description="When the place was given.")


class NetworkBlockSpec(Model):
    """The places and their holders."""

    book: Annotated[
        str,
        Schema(
            **{
                "pattern": "^(vlan/[A-Za-z0-9_]{1,15}|space/IPv[46])$",
                "maxLength": 20,
                "x-kubernetes-validations": cel(("self == oldSelf", "a block never changes its book")),
            }
        ),
    ] = Field(
        description="vlan/<bridge>: the keys of entries are VLANs of that bridge. space/IPv4 and space/IPv6: they are "
        "CIDRs, whichever zone gave them. Cannot change."
    )
    range: Annotated[
        str,
        Schema(
            **{
                "minLength": 3,
                "maxLength": 43,
                "x-kubernetes-validations": cel(("self == oldSelf", "a block never changes its range")),
            }
        ),
    ] = Field(
        description="What the block is about: 256 VLANs (for instance 256-511), a /16 of IPv4 or a /56 of IPv6. "
        "Cannot change."
    )
    # Atomic only to the bookkeeping of who applied which field: with a line for each entry a write cost half as much
    # again. Merge patches still change single entries.
    entries: Annotated[
        Mapping[str, NetworkBlockEntry],
        Schema(**{"maxProperties": MAX_ENTRIES, "x-kubernetes-map-type": "atomic"}),
    ] = Field(
        default={},
        description="VLAN (for instance 105) or CIDR (for instance 10.1.4.0/24) -> the network that holds it. No entry "
        "means free.",
    )


class NetworkBlockStatus(Model):
    """Written together with the entries."""

    given: Count = Field(default=0, description="How many entries there are.")


class NetworkBlock(CustomResource):
    """A NetworkBlock says which network holds which VLAN or subnet that was given on demand. Internal to pxnet.

    Look at it, but leave the writing to pxnet: what stands here is what no other network can get. Removing an entry by
    hand gives a network's VLAN to somebody else.
    """

    KIND: ClassVar[Kind] = Kind(
        kind="NetworkBlock",
        plural="networkblocks",
        namespaced=False,
        short_names=("pxnetblock",),
        status_subresource=False,
        columns=(
            Column("Book", ".spec.book", description="The bridge or the address family."),
            Column("Range", ".spec.range", description="The VLANs or addresses that the block is about."),
            Column("Given", ".status.given", "integer", "Entries that networks hold."),
            AGE_COLUMN,
        ),
    )

    spec: NetworkBlockSpec = Field(description="The places and their holders.")
    status: NetworkBlockStatus = Field(default=NetworkBlockStatus(), description="How many there are.")
