"""IPAddress objects: make one for a claim, adopt one that was there before, take one away.

Each is named like its claim, owned by claim and pool, and held by a finalizer until the claim goes.
"""

from collections.abc import Callable

from provider.api.ipam import (
    CLUSTER_LABEL,
    PROTECT_ADDRESS_FINALIZER,
    Address,
    Claim,
    Json,
    Key,
    address_body,
    owner_references,
    read_address,
)
from provider.api.pool import Pool
from provider.core.addresses import AddressError, parse_address
from provider.core.books import BookSpec
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import AlreadyExists, NotFound
from provider.edge.kube.resources import Resource


class AddressObjects:
    """Writes IPAddresses. `note(key, address)` tells the local copy of our own writes."""

    def __init__(self, kube: Kube, addresses: Resource, claims: Resource, note: Callable[[Key, Address], None]) -> None:
        self._kube = kube
        self._addresses = addresses
        self._claims = claims
        self._note = note

    async def find(self, claim: Claim) -> Address | None:
        """The IPAddress of a claim's name, read live."""
        try:
            return read_address(await self._kube.get(self._addresses, claim.name, claim.namespace))
        except NotFound:
            return None

    async def require(self, claim: Claim) -> None:
        """Ask the API server itself whether this very claim is there. Raises NotFound if it is not."""
        found = await self._kube.get(self._claims, claim.name, claim.namespace)
        if found["metadata"]["uid"] != claim.uid:
            raise NotFound(f"IPAddressClaim {claim.namespace}/{claim.name} is another one by now", 404)

    async def make(self, claim: Claim, pool: Pool, book: BookSpec, text: str) -> Address:
        """Create the IPAddress, or return the one that exists: made by another provider, or by us without an answer."""
        owners = owner_references(claim, self._claims.api_version, pool.uid, pool.api_version)
        body = address_body(claim, owners, self._addresses.version, text, book.prefix, book.gateway)
        try:
            raw = await self._kube.create(self._addresses, body, claim.namespace)
        except AlreadyExists:
            raw = await self._kube.get(self._addresses, claim.name, claim.namespace)
        address = read_address(raw)
        self._note(claim.key, address)
        return address

    async def adopt(self, claim: Claim, pool: Pool, existing: Address) -> None:
        """Complete an IPAddress with owners, finalizer and label; other owners stay.

        Raises:
            NotFound: the claim is gone; a provider that lags must not take the IPAddress of its namesake.
        """
        if existing.claim_uid == claim.uid and PROTECT_ADDRESS_FINALIZER in existing.finalizers:
            return
        raw = await self._kube.get(self._addresses, existing.name, existing.namespace)
        # After that read: what a namesake's provider does to the IPAddress later makes our write a conflict.
        await self.require(claim)
        meta = raw["metadata"]
        owners = owner_references(claim, self._claims.api_version, pool.uid, pool.api_version)
        ours = {owner["kind"] for owner in owners}
        others = [owner for owner in meta.get("ownerReferences") or [] if owner["kind"] not in ours]
        metadata: Json = {
            "resourceVersion": meta["resourceVersion"],
            "ownerReferences": [*others, *owners],
            "finalizers": [*dict.fromkeys([*(meta.get("finalizers") or []), PROTECT_ADDRESS_FINALIZER])],
        }
        if claim.cluster_label is not None:
            metadata["labels"] = {CLUSTER_LABEL: claim.cluster_label}
        written = await self._kube.patch(self._addresses, claim.name, {"metadata": metadata}, claim.namespace)
        self._note(claim.key, read_address(written))

    async def remove(self, address: Address) -> None:
        await remove_address(self._kube, self._addresses, address)


async def remove_address(kube: Kube, resource: Resource, address: Address) -> None:
    """Take our finalizer off an IPAddress and delete it; that very object, not a namesake."""
    try:
        finalizers = [name for name in address.finalizers if name != PROTECT_ADDRESS_FINALIZER]
        if len(finalizers) != len(address.finalizers):
            metadata = {"finalizers": finalizers, "resourceVersion": address.version}
            raw = await kube.patch(resource, address.name, {"metadata": metadata}, address.namespace)
            if "deletionTimestamp" in raw["metadata"] and not finalizers:
                return
        await kube.delete(resource, address.name, address.namespace, uid=address.uid)
    except NotFound:
        return


def is_left_behind(address: Address, claim: Claim) -> bool:
    """Whether an IPAddress of the claim's name was another claim's: names are unique, so that claim is gone.

    One without a claim as owner was made by hand, restored or moved, and waits to be adopted. One with a dead owner is
    adopted too while it is whole: after a restore claims have new uids. It is left behind when it is on its way out or
    belongs to another pool.
    """
    if address.claim_uid == claim.uid or (address.claim_uid is None and not address.abandoned):
        return False
    return address.deleted or address.pool_key != claim.pool_key


def number_of(address: Address) -> int | None:
    """The address as a number; None for one that cannot be read, which must not stop its pool."""
    try:
        return parse_address(address.address)[1]
    except AddressError:
        return None
