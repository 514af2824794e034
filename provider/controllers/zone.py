"""Zones: the table's networks are made, and what became of all of them is summed up in one status."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import structlog

from provider.api.meta import Condition
from provider.api.network import ProxmoxNetwork
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.catalog import Catalog
from provider.controllers.seeing import see_zone
from provider.controllers.view import View
from provider.core import zones
from provider.core.conditions import Statement, conditions, transitions
from provider.core.names import ZONE_FINALIZER, NetworkKey
from provider.core.patches import merge_patch
from provider.core.zones import Seen, ZonePlan
from provider.edge.clock import Clock
from provider.edge.events import Events
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import AlreadyExists, Conflict, Denied, Invalid, NotFound
from provider.edge.kube.resources import NAMESPACES, NETWORKS, ZONES

Json = dict[str, Any]

SOON = 0.05
WAITING = 15.0
"""Seconds between looks at a zone that waits for something no event tells of, like a namespace."""

FEW = 8
"""Namespaces found missing one by one; with more all are listed: a table may be written long before its tenants."""

log = structlog.get_logger(__name__)


class ZoneController:
    """Reconciles ProxmoxNetworkZones. `look(key)` has a network looked at, `guarded(zone)` tells of its policies."""

    def __init__(
        self,
        kube: Kube,
        view: View,
        catalog: Catalog,
        clock: Clock,
        events: Events,
        look: Callable[[NetworkKey], None],
        guarded: Callable[[str], Statement | None],
    ) -> None:
        self._kube = kube
        self._view = view
        self._catalog = catalog
        self._clock = clock
        self._events = events
        self._look = look
        self._guarded = guarded

    async def reconcile(self, name: str) -> float | None:
        try:
            raw = await self._kube.get(ZONES, name)
        except NotFound:
            self._look_at(self._catalog.drop_zone(name))
            return None
        zone = ProxmoxNetworkZone.model_validate(raw)
        self._look_at(self._catalog.put_zone(zone))
        seen = see_zone(self._catalog, self._view.zoned.values(), zone)
        plan = zones.decide(seen)
        try:
            return await self._apply(raw, seen, plan)
        except (Conflict, NotFound):
            return SOON

    def _look_at(self, keys: set[NetworkKey]) -> None:
        for key in keys:
            if key in self._catalog.networks:
                self._look(key)

    async def _apply(self, raw: Json, seen: Seen, plan: ZonePlan) -> float | None:
        zone = seen.zone
        name = zone.metadata.name
        if plan.add_finalizer:
            raw = await self._set_finalizers(zone, [*zone.metadata.finalizers, ZONE_FINALIZER])
            zone = ProxmoxNetworkZone.model_validate(raw)
        if plan.drop_finalizer:
            rest = [finalizer for finalizer in zone.metadata.finalizers if finalizer != ZONE_FINALIZER]
            await self._set_finalizers(zone, rest)
            return None
        missing, refused = await self._create(plan)
        if missing or refused:
            seen = replace(seen, missing_namespaces=missing, refused=refused)
            plan = replace(zones.decide(seen), add_finalizer=False)
        guard = self._guarded(name)
        found = [plan.ready, *([guard] if guard is not None else ())]
        said = conditions(zone.status.conditions, found, zone.metadata.generation, self._clock.now())
        status = zones.zone_status(replace(seen, zone=zone), said).to_json()
        patch = merge_patch(raw.get("status") or {}, status)
        if patch:
            body = {"status": patch, "metadata": {"resourceVersion": zone.metadata.resource_version}}
            after = await self._kube.patch(ZONES, name, body, subresource="status")
            self._catalog.put_zone(ProxmoxNetworkZone.model_validate(after))
            for condition in transitions(zone.status.conditions, said):
                self._tell(zone, condition)
        return WAITING if plan.waiting else None

    async def _set_finalizers(self, zone: ProxmoxNetworkZone, finalizers: list[str]) -> Json:
        metadata = {"finalizers": finalizers, "resourceVersion": zone.metadata.resource_version}
        return await self._kube.patch(ZONES, zone.metadata.name, {"metadata": metadata})

    async def _create(self, plan: ZonePlan) -> tuple[frozenset[str], dict[NetworkKey, str]]:
        """Make the networks that are missing. Returns the namespaces that are not there, and what was refused."""
        missing: set[str] = set()
        refused: dict[NetworkKey, str] = {}
        existing: set[str] | None = None
        for body in plan.create:
            namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
            if namespace in missing:
                continue
            if existing is not None and namespace not in existing:
                missing.add(namespace)
                continue
            try:
                made = await self._kube.create(NETWORKS, body, namespace)
            except NotFound:
                missing.add(namespace)
                if existing is None and len(missing) >= FEW:
                    existing = await self._namespaces()
                continue
            except AlreadyExists:
                made = await self._kube.get(NETWORKS, name, namespace)
            except (Denied, Invalid) as error:
                # One tenant's affair, like a namespace that is being deleted; the rows of the others count.
                refused[namespace, name] = str(error)
                continue
            self._catalog.put_network((namespace, name), ProxmoxNetwork.model_validate(made))
            self._look((namespace, name))
        return frozenset(missing), refused

    async def _namespaces(self) -> set[str]:
        page = await self._kube.list_page(NAMESPACES, metadata_only=True)
        return {item["metadata"]["name"] for item in page["items"] or ()}

    def _tell(self, zone: ProxmoxNetworkZone, condition: Condition) -> None:
        record = self._events.note if condition.status == "True" else self._events.warn
        record(
            ZONES.api_version,
            ZONES.kind,
            "",
            zone.metadata.name,
            zone.metadata.uid,
            condition.reason,
            condition.message or "the whole table is in force",
        )
