"""VLANs that belong to Kube-OVN's Vlans, whoever made them: where Kube-OVN is, no network is put on one of these.

Kube-OVN may come and go while we run, so whether its Vlans are served is looked at again and again. They are followed
by a watch: a list at each grant would cost the more the more there are. A Vlan that is made at the very moment of a
grant may have the same VLAN; that one cannot be prevented, and the network says so.
"""

import asyncio
from collections.abc import Callable

import structlog

from provider.api.ipam import Json, Key
from provider.api.kube_ovn import UNTAGGED, Vlan, read_vlan
from provider.controllers.catalog import Catalog
from provider.core.admission.plan import newest_version
from provider.core.vlans import mask_of
from provider.edge.clock import Clock
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import KubeError, NotFound
from provider.edge.kube.reflector import Reflector
from provider.edge.kube.resources import CRDS, VLANS

LOOK_AGAIN = 10.0
"""Seconds between looks at whether Kube-OVN's Vlans are served."""

VLANS_CRD = f"{VLANS.plural}.{VLANS.group}"

log = structlog.get_logger(__name__)


class KubeOvnVlans:
    """Keeps the catalog's VLANs of Kube-OVN. `changed(bridge, vlan)` is called when one is taken or left there."""

    def __init__(self, kube: Kube, catalog: Catalog, clock: Clock, changed: Callable[[str, int], None]) -> None:
        self._kube = kube
        self._catalog = catalog
        self._clock = clock
        self._changed = changed
        self._copy: Reflector[Vlan] | None = None

    async def find(self) -> None:
        """See whether Vlans are served: once before `run`, which sees again."""
        served = await self._is_served()
        if served and self._copy is None:
            self._copy = Reflector(self._kube, self._clock, VLANS, read_vlan, self._on_change)
            log.info("VLANs of Kube-OVN's Vlans are left out")
        elif not served and self._copy is not None:
            before, self._copy = self._copy, None
            for key, vlan in before.objects.items():
                self._on_change(key, vlan, None)
            log.info("Kube-OVN's Vlans are not served any more")

    async def run(self) -> None:
        """Follow them, whenever there are any, until cancelled."""
        while True:
            copy = self._copy
            async with asyncio.TaskGroup() as group:
                following = group.create_task(copy.run()) if copy is not None else None
                while self._copy is copy:
                    await self._clock.sleep(LOOK_AGAIN)
                    try:
                        await self.find()
                    except KubeError as error:
                        log.info("whether Kube-OVN is there is looked at again later", error=str(error))
                if following is not None:
                    following.cancel()

    async def on(self, bridge: str) -> int:
        """The VLANs of a bridge that belong to Vlans, as bits.

        Raises:
            KubeError: they are served and cannot be read.
        """
        providers = self._catalog.bars.provider_networks.get(bridge)
        if not providers or self._copy is None:
            return 0
        if self._copy.synced.is_set():
            return self._catalog.foreign(bridge)
        # Right after the start, or after Kube-OVN's: what is not known yet must not be given.
        try:
            found = map(read_vlan, await self._kube.list_all(VLANS))
        except NotFound:
            return 0  # Kube-OVN is being taken away at this moment
        return mask_of(each.vlan for each in found if each.provider in providers)

    async def _is_served(self) -> bool:
        try:
            definition = await self._kube.get(CRDS, VLANS_CRD)
        except NotFound:
            return False
        return _is_established(definition) and newest_version(definition, (VLANS.version,)) is not None

    def _on_change(self, _: Key, old: Vlan | None, new: Vlan | None) -> None:
        if old is not None and new is not None and (old.provider, old.vlan) == (new.provider, new.vlan):
            return  # its status, which is no matter of ours
        for vlan, count in ((old, self._catalog.kube_ovn.leave), (new, self._catalog.kube_ovn.enter)):
            if vlan is not None and vlan.vlan != UNTAGGED:
                count(vlan.provider, vlan.vlan)
                for bridge, providers in self._catalog.bars.provider_networks.items():
                    if vlan.provider in providers:
                        self._changed(bridge, vlan.vlan)


def _is_established(definition: Json) -> bool:
    """Whether the API server took a definition: one whose names clash with another's is never served."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
