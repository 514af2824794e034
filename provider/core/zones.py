"""A zone's table as a whole: which networks to make from it, what is wrong with it, and its status.

Each network judges its own row (`networks`); the zone sums up what they found, so the two can never disagree.
"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from provider.api.meta import MAX_COUNT, Condition
from provider.api.network import NETWORK_FINALIZER, ProxmoxNetwork
from provider.api.zone import ProxmoxNetworkZone, ZoneCounts, ZoneNetworkStatus, ZoneStatus, ZoneVlans
from provider.core.conditions import READY, Statement, is_ready, listed
from provider.core.names import MANAGED_BY, ZONE_FINALIZER, NetworkKey
from provider.core.networks import NetworkReason
from provider.core.offers import Offer, row_field
from provider.core.overlaps import ForeignPool, overlapped
from provider.core.spans import Problem

Json = dict[str, Any]


class ZoneReason(enum.StrEnum):
    """Reasons of a zone's Ready condition, the gravest first."""

    TERMINATING = "Terminating"
    INVALID = "ZoneInvalid"
    OVERLAPS = "NetworkOverlaps"
    POOL_OVERLAPS = "PoolOverlaps"
    NAME_TAKEN = "NetworkNameTaken"
    NAMESPACE_MISSING = "NamespaceNotFound"
    IN_USE = "InUse"
    PENDING = "NetworksPending"
    READY = "Ready"


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything about one zone.

    Attributes:
        offers: the table, read.
        contested: row -> why its addresses are somebody else's.
        networks: networks that name this zone, and any other that has a name of the table.
        pools: other providers' pools on this zone's bridge.
        pool_problems: annotations of such pools that cannot be understood.
        missing_namespaces: namespaces of the table that do not exist.
        refused: row -> why its network could not be made; a namespace that is being deleted takes nothing new.
        vlans: what it gives on demand; None where it gives none.
    """

    zone: ProxmoxNetworkZone
    offers: Mapping[NetworkKey, Offer]
    contested: Mapping[NetworkKey, tuple[Problem, ...]] = field(default_factory=dict)
    networks: Mapping[NetworkKey, ProxmoxNetwork] = field(default_factory=dict)
    pools: Sequence[ForeignPool] = ()
    pool_problems: tuple[Problem, ...] = ()
    missing_namespaces: frozenset[str] = frozenset()
    refused: Mapping[NetworkKey, str] = field(default_factory=dict)
    vlans: ZoneVlans | None = None


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """What to bring about.

    Attributes:
        create: networks of the table that are not there.
        add_finalizer, drop_finalizer: of the zone itself; it stays until its networks are gone.
        ready: the zone's one condition.
        waiting: whether somebody must be waited for, so the zone should be looked at again.
    """

    create: tuple[Json, ...]
    add_finalizer: bool
    drop_finalizer: bool
    ready: Statement
    waiting: bool


def network_body(zone: str, key: NetworkKey) -> Json:
    """A network as it is made from a row of the table."""
    return {
        "apiVersion": "proxmox.cozystack.io/v1alpha1",
        "kind": "ProxmoxNetwork",
        "metadata": {
            "namespace": key[0],
            "name": key[1],
            "labels": {MANAGED_BY[0]: MANAGED_BY[1]},
            "finalizers": [NETWORK_FINALIZER],
        },
        "spec": {"zone": zone},
    }


def decide(seen: Seen) -> ZonePlan:
    """Decide about one zone. Never raises, whatever the data."""
    zone = seen.zone
    name = zone.metadata.name
    own = {key: network for key, network in seen.networks.items() if network.spec.zone == name}
    protected = ZONE_FINALIZER in zone.metadata.finalizers
    if zone.metadata.deleting:
        left = listed(["/".join(key) for key in sorted(own)])
        message = f"waits for its networks to go: {left}" if own else "its networks are gone"
        ready = Statement(READY, False, ZoneReason.TERMINATING, message)
        return ZonePlan((), False, protected and not own, ready, bool(own))
    missing = [key for key in seen.offers if key not in seen.networks and key[0] not in seen.missing_namespaces]
    findings = _findings(seen, own)
    if not findings:
        ready = Statement(READY, True, ZoneReason.READY, "")
    else:
        reason = next(reason for reason in ZoneReason if reason in findings)
        ready = Statement(READY, False, reason, "; ".join(listed(texts) for texts in findings.values()))
    return ZonePlan(
        create=tuple(network_body(name, key) for key in sorted(missing)),
        add_finalizer=not protected,
        drop_finalizer=False,
        ready=ready,
        waiting=bool(findings),
    )


def _findings(seen: Seen, own: Mapping[NetworkKey, ProxmoxNetwork]) -> dict[ZoneReason, list[str]]:
    """Everything that keeps the zone from being Ready, by reason, the gravest first."""
    found: dict[ZoneReason, list[str]] = {reason: [] for reason in ZoneReason}
    found[ZoneReason.POOL_OVERLAPS] += [str(problem) for problem in seen.pool_problems]
    for key, offer in sorted(seen.offers.items()):
        network = seen.networks.get(key)
        found[ZoneReason.INVALID] += [str(problem) for problem in offer.problems]
        if network is not None and network.spec.zone != offer.zone:
            text = f"namespace {key[0]} already has a network {key[1]!r} of zone {network.spec.zone}; use another name"
            found[ZoneReason.NAME_TAKEN].append(f"{row_field(key)}: {text}")
            continue
        if not offer.problems:
            found[ZoneReason.OVERLAPS] += [str(problem) for problem in seen.contested.get(key, ())]
        found[ZoneReason.POOL_OVERLAPS] += [f"{row_field(key)}: {text}" for text in overlapped([offer], seen.pools)[1]]
        if network is None and key[0] in seen.missing_namespaces:
            text = "there is no such namespace yet; its networks are made when there is"
            found[ZoneReason.NAMESPACE_MISSING].append(f"spec.networks[{key[0]}]: {text}")
        elif network is None and key in seen.refused:
            found[ZoneReason.PENDING].append(f"network {'/'.join(key)} cannot be made: {seen.refused[key]}")
        elif network is None or not is_ready(network.status.conditions):
            found[ZoneReason.PENDING] += _pending(key, network)
    for key, network in sorted(own.items()):
        ready = next((item for item in network.status.conditions if item.type == READY), None)
        if ready is not None and ready.reason in (NetworkReason.IN_USE, NetworkReason.TERMINATING):
            found[ZoneReason.IN_USE].append(f"network {'/'.join(key)}: {ready.message}")
    return {reason: texts for reason, texts in found.items() if texts}


_TOLD_ELSEWHERE = {
    NetworkReason.ZONE_INVALID,
    NetworkReason.VLAN_CONFLICT,
    NetworkReason.POOL_OVERLAPS,
    NetworkReason.IN_USE,
    NetworkReason.TERMINATING,
    # A full network is its tenant's affair: the zone is in order.
    NetworkReason.POOL_EXHAUSTED,
}


def _pending(key: NetworkKey, network: ProxmoxNetwork | None) -> list[str]:
    conditions = network.status.conditions if network is not None else ()
    ready = next((item for item in conditions if item.type == READY), None)
    if ready is None:
        return [f"network {'/'.join(key)} is being made"]
    return [] if ready.reason in _TOLD_ELSEWHERE else [f"network {'/'.join(key)}: {ready.message}"]


NOT_READY_SHOWN = 20
"""Networks in a zone's status: it must not grow with the tenants."""


def zone_status(seen: Seen, written: tuple[Condition, ...]) -> ZoneStatus:
    """The whole status, from the networks' own."""
    name = seen.zone.metadata.name
    own = {key: network for key, network in seen.networks.items() if network.spec.zone == name}
    states = {key: _state(key, own.get(key), seen.networks.get(key)) for key in sorted({*seen.offers, *own})}
    lacking = [state for state in states.values() if state is not None]
    return ZoneStatus(
        observed_generation=seen.zone.metadata.generation,
        conditions=written,
        not_ready=tuple(lacking[:NOT_READY_SHOWN]),
        counts=ZoneCounts(
            networks=len(states),
            on_demand=sum(key not in seen.offers for key in states),
            ready=len(states) - len(lacking),
            namespaces=len({key[0] for key in states}),
            allocated=min(sum(map(_allocated, own.values())), MAX_COUNT),
        ),
        vlans=seen.vlans,
    )


def _state(key: NetworkKey, own: ProxmoxNetwork | None, any_zones: ProxmoxNetwork | None) -> ZoneNetworkStatus | None:
    """What is said of one network, None when it is ready. `any_zones`: the one of that name, of whichever zone."""
    if own is not None and is_ready(own.status.conditions):
        return None
    if own is None:
        reason: str = ZoneReason.NAME_TAKEN if any_zones is not None else ZoneReason.PENDING
    else:
        ready = next((item for item in own.status.conditions if item.type == READY), None)
        reason = ready.reason if ready is not None else ZoneReason.PENDING
    return ZoneNetworkStatus(namespace=key[0], name=key[1], reason=reason)


def _allocated(network: ProxmoxNetwork) -> int:
    sides = (network.status.ipv4, network.status.ipv6)
    return sum(side.usage.allocated for side in sides if side is not None and side.usage is not None)
