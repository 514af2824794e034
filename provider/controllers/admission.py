"""The admission policies on capmox's kinds: one for each zone, and one for what is no zone's affair.

They are made, changed and taken away here, and judged in the API server itself: nothing of ours is asked when a machine
is made. A zone that is gone keeps its policy for as long as networks of it are in force.
"""

from collections.abc import Callable
from typing import Any

import structlog

from provider.controllers.catalog import Catalog
from provider.core.admission.documents import LABELS, Pair, agrees
from provider.core.admission.facts import INFRASTRUCTURE, VERSIONS, Setting
from provider.core.admission.plan import newest_version, wanted_tenants, wanted_zone, zone_facts
from provider.core.admission.tenant_policy import NAME as TENANTS_POLICY
from provider.core.admission.zone_policy import policy_name, zone_of
from provider.core.conditions import Statement
from provider.core.names import MANAGED_BY
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import AlreadyExists, Denied, Invalid, NotFound
from provider.edge.kube.resources import CRDS, POLICIES, POLICY_BINDINGS, Resource

Json = dict[str, Any]

ADMISSION_READY = "AdmissionReady"
IN_FORCE, PENDING, REFUSED = "PoliciesInForce", "PoliciesPending", "PoliciesRefused"
UNKNOWN_VERSION = "UnknownVersion"

TENANTS = ""
"""In place of a zone's name, which is never empty: the tenants' policy."""

AGAIN = 30.0
"""Seconds until a policy that was refused is tried again."""

MACHINES_CRD = f"proxmoxmachines.{INFRASTRUCTURE}"

log = structlog.get_logger(__name__)


class Admission:
    """Keeps the policies. `told(zone)` says that a zone's `statement` is a new one."""

    def __init__(
        self, kube: Kube, catalog: Catalog, exempt: tuple[str, ...], told: Callable[[str], None], *, on: bool
    ) -> None:
        self._kube = kube
        self._catalog = catalog
        self._exempt = exempt
        self._told = told
        self._on = on
        self._version: str | None = VERSIONS[0]
        self._kept: dict[str, Pair | None] = {}
        self._made: set[str] = set()
        self._trouble: dict[str, Statement] = {}

    async def find_version(self) -> bool:
        """Read which versions of capmox's kinds are served; whether it is another one than before."""
        try:
            definition: Json | None = await self._kube.get(CRDS, MACHINES_CRD)
        except NotFound:
            definition = None
        before, self._version = self._version, newest_version(definition, VERSIONS)
        if self._version is None:
            log.warning("capmox serves no version that is known here", known=", ".join(VERSIONS))
        return self._version != before

    async def existing(self) -> set[str]:
        """The keys of the policies that are there, whoever made them of those names."""
        labels = "=".join(MANAGED_BY)
        names = {item["metadata"]["name"] for item in await self._kube.list_all(POLICIES, labels=labels)}
        found = {zone for name in names if (zone := zone_of(name)) is not None}
        return found | ({TENANTS} if TENANTS_POLICY in names else set())

    def forget(self) -> None:
        """Compare with the API server again, whatever is known of it."""
        self._kept.clear()

    def statement(self, zone: str) -> Statement | None:
        """What there is to say on the zone; None where no policies are kept."""
        if not self._on:
            return None
        trouble = self._trouble.get(zone) or self._trouble.get(TENANTS)
        if trouble is None and not {zone, TENANTS} <= self._made:
            return Statement(ADMISSION_READY, False, PENDING, "the policies are being made")
        return trouble or Statement(ADMISSION_READY, True, IN_FORCE)

    async def reconcile(self, key: str) -> float | None:
        """Bring about the policy of a zone, or TENANTS."""
        name = policy_name(key) if key else TENANTS_POLICY
        if self._version is None:
            text = f"capmox serves none of {', '.join(VERSIONS)}: update pxnet; the policies stay as they are"
            self._say(key, Statement(ADMISSION_READY, False, UNKNOWN_VERSION, text))
            return None
        wanted = self._wanted(key, Setting(self._version, self._exempt)) if self._on else None
        if key in self._kept and self._kept[key] == wanted:
            return None
        try:
            if wanted is None:
                await self._remove(name)
            else:
                await self._bring_about(POLICIES, wanted.policy)
                await self._bring_about(POLICY_BINDINGS, wanted.binding)
        except (Denied, Invalid) as error:
            self._say(key, Statement(ADMISSION_READY, False, REFUSED, f"policy {name} was refused: {error}"))
            return AGAIN
        self._kept[key] = wanted
        news = (wanted is not None) != (key in self._made)
        if wanted is not None:
            self._made.add(key)
        else:
            self._made.discard(key)
        self._say(key, None, news=news)
        return None

    def _wanted(self, key: str, setting: Setting) -> Pair | None:
        if key == TENANTS:
            return wanted_tenants(self._catalog.zones, len(self._catalog.networks), setting)
        offers = [offer for of in self._catalog.of_zone(key) if (offer := self._catalog.current(of)) is not None]
        return wanted_zone(zone_facts(key, self._catalog.zones.get(key), offers), setting)

    async def _bring_about(self, resource: Resource, body: Json) -> None:
        name = body["metadata"]["name"]
        try:
            found = await self._kube.get(resource, name)
        except NotFound:
            try:
                await self._kube.create(resource, body)
                log.info("policy made", kind=resource.kind, policy=name)
                return
            except AlreadyExists:
                found = await self._kube.get(resource, name)
        if not agrees(found, body):
            await self._kube.patch(resource, name, {"metadata": {"labels": dict(LABELS)}, "spec": body["spec"]})
            log.info("policy changed", kind=resource.kind, policy=name)

    async def _remove(self, name: str) -> None:
        for resource in (POLICY_BINDINGS, POLICIES):
            try:
                await self._kube.delete(resource, name)
                log.info("policy removed", kind=resource.kind, policy=name)
            except NotFound:
                continue  # gone already, which is what is wanted

    def _say(self, key: str, trouble: Statement | None, *, news: bool = False) -> None:
        if self._trouble.get(key) == trouble and not news:
            return
        if trouble is None:
            self._trouble.pop(key, None)
        else:
            self._trouble[key] = trouble
            log.warning("a policy is missing", policy=key or "tenants", why=trouble.message)
        for zone in [key] if key else [*self._catalog.zones]:
            self._told(zone)
