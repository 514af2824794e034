"""A network's status: what is in force, in the words of the API."""

from collections.abc import Mapping

from provider.api.meta import MAX_COUNT, Condition
from provider.api.network import FamilyStatus, NetworkStatus
from provider.api.network import Usage as UsageStatus
from provider.core.addresses import Family
from provider.core.conditions import READY, Statement
from provider.core.names import NetworkKey, pool_name
from provider.core.network_pools import PoolPlan
from provider.core.networks import Finding, NetworkReason, Resolution
from provider.core.offers import Offer
from provider.core.usage import Usage

VLAN_ALLOCATED = "VLANAllocated"
POOL_READY = "IPPoolReady"


def statements(resolution: Resolution, pools: Finding | None, usage: Mapping[Family, Usage]) -> tuple[Statement, ...]:
    """The three conditions.

    Args:
        resolution: the decision.
        pools: what went wrong while it was carried out; it comes before what the decision found.
        usage: of the books in force.
    """
    return (_place(resolution), _pools(resolution, pools, usage), _ready(resolution, pools, usage))


def obstacle(plan: PoolPlan) -> Finding | None:
    """What stands in the way of a network's pools."""
    if plan.conflicts:
        text = f"pool {', '.join(plan.conflicts)} was made by somebody else; delete it or rename the network"
        return Finding(NetworkReason.POOL_CONFLICT, text)
    if plan.ending:
        text = f"pool {', '.join(plan.ending)} is being deleted; it is made again when it is gone"
        return Finding(NetworkReason.POOLS_PENDING, text)
    return None


def _place(resolution: Resolution) -> Statement:
    if resolution.place is not None:
        return Statement(VLAN_ALLOCATED, False, resolution.place.reason, resolution.place.message)
    if resolution.offer is None:
        return Statement(VLAN_ALLOCATED, False, NetworkReason.WAITING_FOR_VLAN, "nothing is in force yet")
    return Statement(VLAN_ALLOCATED, True, NetworkReason.ALLOCATED, f"on {resolution.offer.segment}")


def _trouble(resolution: Resolution, pools: Finding | None, usage: Mapping[Family, Usage]) -> Finding | None:
    """What is wrong with the pools, the worst first."""
    if resolution.offer is None:
        return Finding(NetworkReason.WAITING_FOR_VLAN, "there is no pool before the network has its place")
    if not resolution.gives and resolution.waiting is not None:
        return Finding(resolution.waiting.reason, "nothing new is given: " + resolution.waiting.message)
    if pools is not None:
        return pools
    if resolution.pools is not None:
        return resolution.pools
    full = [family for family, numbers in usage.items() if numbers.free <= 0]
    if full:
        families = " and ".join(full)
        text = f"no {families} address is free; release some or extend the range in the zone's table"
        return Finding(NetworkReason.POOL_EXHAUSTED, text)
    return None


def _pools(resolution: Resolution, pools: Finding | None, usage: Mapping[Family, Usage]) -> Statement:
    trouble = _trouble(resolution, pools, usage)
    if trouble is not None:
        return Statement(POOL_READY, False, trouble.reason, trouble.message)
    return Statement(POOL_READY, True, NetworkReason.POOLS_READY, "; ".join(resolution.notes))


def _ready(resolution: Resolution, pools: Finding | None, usage: Mapping[Family, Usage]) -> Statement:
    trouble = resolution.waiting or resolution.place or _trouble(resolution, pools, usage)
    if trouble is not None:
        return Statement(READY, False, trouble.reason, trouble.message)
    return Statement(READY, True, NetworkReason.READY, "; ".join(resolution.notes))


def network_status(
    key: NetworkKey,
    offer: Offer | None,
    usage: Mapping[Family, Usage],
    written: tuple[Condition, ...],
    generation: int,
) -> NetworkStatus:
    """The whole status."""
    if offer is None:
        return NetworkStatus(observed_generation=generation, conditions=written)
    sides = {family: _side(key, offer, family, usage.get(family)) for family in offer.spans}
    return NetworkStatus(
        observed_generation=generation,
        zone=offer.zone,
        bridge=offer.segment.bridge,
        vlan=offer.segment.vlan,
        mtu=offer.mtu,
        route_metric=offer.metric,
        address_reuse_seconds=offer.reuse_seconds,
        cidr=", ".join(side.cidr for side in sides.values()),
        free=min((side.usage.free for side in sides.values() if side.usage is not None), default=None),
        ipv4=sides.get(Family.IPv4),
        ipv6=sides.get(Family.IPv6),
        conditions=written,
    )


def _side(key: NetworkKey, offer: Offer, family: Family, usage: Usage | None) -> FamilyStatus:
    span = offer.spans[family]
    return FamilyStatus(
        addresses=span.entries,
        excluded_addresses=span.excluded_entries,
        gateway=span.gateway,
        prefix=span.prefix,
        cidr=span.cidr,
        pool=pool_name(key[1], family, dual=len(offer.spans) > 1),
        usage=None if usage is None else _numbers(usage),
    )


def _numbers(usage: Usage) -> UsageStatus:
    return UsageStatus(
        total=min(usage.total, MAX_COUNT),
        allocated=usage.tally.allocated,
        reserved=usage.tally.reserved,
        held=usage.tally.held,
        quarantined=usage.tally.quarantined,
        free=max(min(usage.free, MAX_COUNT), 0),
    )
