"""The table that admission reads: each namespace's networks in force, as an annotation of the Namespace.

A line is there before its network is Ready, and gone before its VLAN and pools can be anybody else's. What is written
is read from the API server right before, so a copy that lags writes nothing old; a leader that lost its lease loses
against the Namespace's resourceVersion.
"""

from typing import Any

import structlog

from provider.api.network import ProxmoxNetwork
from provider.core.admission.table import NETWORKS_ANNOTATION, Line, line, write
from provider.core.names import NetworkKey
from provider.core.offers import Offer, in_force
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import NotFound
from provider.edge.kube.resources import NAMESPACES, NETWORKS

Json = dict[str, Any]

log = structlog.get_logger(__name__)


class Listing:
    """Keeps the namespaces' lines. Every method raises Conflict when somebody else wrote the Namespace meanwhile."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._shown: dict[NetworkKey, Line] = {}
        self._hidden: set[NetworkKey] = set()

    async def show(self, key: NetworkKey, offer: Offer) -> None:
        """Let machines of the namespace use the network. `offer` is what its status, already written, has in force."""
        wanted = line(key, offer)
        if self._shown.get(key) != wanted:
            self._hidden.discard(key)
            await self._settle(key[0])
            self._shown[key] = wanted

    async def hide(self, key: NetworkKey) -> None:
        """Let no new machine use the network, which is on its way out or has nothing in force. Safe to repeat."""
        self._shown.pop(key, None)
        # Remembered: its status goes on saying what is in force, and other lines of the namespace may be written.
        self._hidden.add(key)
        await self._settle(key[0])

    async def drop(self, key: NetworkKey) -> None:
        """The network is gone."""
        await self.hide(key)
        self._hidden.discard(key)

    def forget(self) -> None:
        """Look at the Namespaces again, whatever is known of them."""
        self._shown.clear()

    async def _settle(self, namespace: str) -> None:
        try:
            # Before the networks: what changes after this read makes the write fail.
            home = await self._kube.get(NAMESPACES, namespace)
        except NotFound:
            return  # and with it everything in it
        lines = []
        for raw in await self._kube.list_all(NETWORKS, namespace):
            network = ProxmoxNetwork.model_validate(raw)
            offer = in_force(network.status)
            if offer is not None and (namespace, network.metadata.name) not in self._hidden:
                lines.append(line((namespace, network.metadata.name), offer))
        value = write(lines)
        metadata = home["metadata"]
        if (metadata.get("annotations") or {}).get(NETWORKS_ANNOTATION) == value:
            return
        patch = {"annotations": {NETWORKS_ANNOTATION: value}, "resourceVersion": metadata["resourceVersion"]}
        await self._kube.patch(NAMESPACES, namespace, {"metadata": patch}, metadata_only=True)
        log.info("networks of namespace", namespace=namespace, lines=len(lines))
