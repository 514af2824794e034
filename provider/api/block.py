"""AddressBlock: who holds which of 256 addresses. The one truth of pxnet about addresses.

There is no status subresource: the counts are written in the very write that changes the entries, so they can never
disagree with them, and one write stays one write.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AwareDatetime, Field

from provider.api.meta import (
    AGE_COLUMN,
    OBSERVED_GENERATION,
    Column,
    Conditions,
    Count,
    CustomResource,
    Kind,
    Model,
    ObservedGeneration,
    Schema,
    cel,
)


class BlockEntry(Model):
    """Who holds one address, and how."""

    state: Annotated[str, Schema(enum=["Allocated", "Reserved", "Held", "Quarantined"])] = Field(
        description="Allocated: a claim holds it. Reserved: set aside on purpose. Held: released, resting until "
        "`until`. Quarantined: something else was found to use it. In each state the address is not given."
    )
    holder: Annotated[str, Schema(minLength=1, maxLength=600)] = Field(
        description="Who: IPAddressClaim/<namespace>/<name>, IPAddress/<namespace>/<name> for an address without a "
        "claim, or free text for a reservation."
    )
    uid: Annotated[str | None, Schema(maxLength=64)] = Field(
        default=None,
        description="The holder's uid: a late release of an old claim must not free its namesake's address.",
    )
    since: AwareDatetime = Field(description="When this state began.")
    until: AwareDatetime | None = Field(
        default=None, description="When the entry ends and the address is free again. Unset: it does not end by itself."
    )
    reason: Annotated[str | None, Schema(maxLength=1024)] = Field(default=None, description="Why, for people.")


class BlockSpec(Model):
    """The addresses and their holders."""

    book: Annotated[
        str,
        Schema(
            **{
                "minLength": 1,
                "maxLength": 600,
                "x-kubernetes-validations": cel(("self == oldSelf", "a block never changes its book")),
            }
        ),
    ] = Field(
        description="The address book that this block is a part of: network/<namespace>/<name>/<family>, "
        "pool/<namespace>/<name> or globalpool/<name>. Cannot change."
    )
    family: Annotated[
        str,
        Schema(
            **{
                "enum": ["IPv4", "IPv6"],
                "x-kubernetes-validations": cel(("self == oldSelf", "a block never changes its family")),
            }
        ),
    ] = Field(description="IPv4 or IPv6. Cannot change.")
    first: Annotated[
        str,
        Schema(
            **{
                "minLength": 2,
                "maxLength": 39,
                "x-kubernetes-validations": cel(
                    ("isIP(self) && ip.isCanonical(self)", "must be an IP address in canonical form"),
                    ("self == oldSelf", "a block never changes its addresses"),
                ),
            }
        ),
    ] = Field(description="First of the 256 addresses, a multiple of 256, in canonical form. Cannot change.")
    entries: Annotated[
        Mapping[str, BlockEntry],
        Schema(
            **{
                "maxProperties": 256,
                "x-kubernetes-validations": cel(
                    (
                        "self.all(offset, offset.matches('^(0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])$'))",
                        "keys must be offsets from 0 to 255",
                    )
                ),
            }
        ),
    ] = Field(default={}, description="Offset from `first`, 0 to 255 -> who holds that address. No entry means free.")


class BlockStatus(Model):
    """Entries by state. Written together with the entries."""

    observed_generation: ObservedGeneration = Field(default=None, description=OBSERVED_GENERATION)
    allocated: Count = Field(default=0, description="Entries in state Allocated, 0 to 256.")
    reserved: Count = Field(default=0, description="Entries in state Reserved, 0 to 256.")
    held: Count = Field(default=0, description="Entries in state Held, 0 to 256.")
    quarantined: Count = Field(default=0, description="Entries in state Quarantined, 0 to 256.")
    free: Count = Field(
        default=0, description="Addresses of the book's ranges in this block that have no entry, 0 to 256."
    )
    conditions: Conditions = Field(default=(), description="What is wrong with the block, for instance a duplicate.")


class AddressBlock(CustomResource):
    """An AddressBlock says who holds each of 256 addresses of one network or pool. Internal to pxnet.

    Look at it, but leave the writing to pxnet: what stands here is what no other machine can get. Removing an entry by
    hand frees an address that a machine may still use.
    """

    KIND: ClassVar[Kind] = Kind(
        kind="AddressBlock",
        plural="addressblocks",
        namespaced=False,
        short_names=("pxblock",),
        status_subresource=False,
        columns=(
            Column("Book", ".spec.book", description="The network or pool whose addresses these are."),
            Column("First", ".spec.first", description="First of the 256 addresses."),
            Column("Allocated", ".status.allocated", "integer", "Addresses that claims hold."),
            Column("Held", ".status.held", "integer", "Released addresses at rest."),
            Column("Reserved", ".status.reserved", "integer", "Addresses set aside."),
            Column("Free", ".status.free", "integer", "Addresses that can be given now."),
            AGE_COLUMN,
        ),
    )

    spec: BlockSpec = Field(description="The addresses and their holders.")
    status: BlockStatus = Field(default=BlockStatus(), description="Entries by state.")
