"""Which machines refer to a network, asked of the API server itself: only for one that is on its way out."""

from provider.controllers.admission import MACHINES_CRD
from provider.controllers.catalog import Catalog
from provider.core.admission.facts import VERSIONS
from provider.core.admission.plan import newest_version
from provider.core.admission.table import line
from provider.core.machines import NOBODY, Machine, Users, read_machine, users
from provider.core.names import NetworkKey
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import KubeError, NotFound
from provider.edge.kube.resources import CRDS, PROXMOX_MACHINES

PAGE = 500
"""Machines in one answer: a namespace may have thousands, of several KB each."""


class Machines:
    """Reads the ProxmoxMachines of a namespace. No copy is kept: they are many, and hardly ever asked for."""

    def __init__(self, kube: Kube, catalog: Catalog) -> None:
        self._kube = kube
        self._catalog = catalog

    async def of(self, key: NetworkKey) -> Users:
        """The machines that refer to what the network has in force. Without capmox's kinds there are none."""
        offer = self._catalog.current(key)
        if offer is None:
            return NOBODY
        try:
            machines = await self._read(key[0])
        except KubeError as error:
            return Users(unread=str(error))
        if machines is None:
            return Users(unread=f"capmox serves none of {', '.join(VERSIONS)}: update pxnet")
        shared = any(self._stays(other) for other in self._catalog.on(offer.segment) - {key} if other[0] == key[0])
        return Users(users(machines, offer.segment, line(key, offer).pools, shared=shared))

    def _stays(self, key: NetworkKey) -> bool:
        """Whether a network in force is there to stay where it is."""
        network, current = self._catalog.networks.get(key), self._catalog.current(key)
        if network is None or network.metadata.deleting or current is None:
            return False
        zone = self._catalog.zones.get(network.spec.zone)
        wanted = self._catalog.wanted(network.spec.zone, key) if zone and not zone.metadata.deleting else None
        return wanted is not None and wanted.segment == current.segment

    async def _read(self, namespace: str) -> list[Machine] | None:
        """All machines of a namespace; None where they cannot be read at any version that is known here."""
        try:
            # Not a list that answers 404: that would also be one at a version that is not served any more.
            definition = await self._kube.get(CRDS, MACHINES_CRD)
        except NotFound:
            return []
        version = newest_version(definition, VERSIONS)
        if version is None:
            return None
        found: list[Machine] = []
        token: str | None = None
        while True:
            page = await self._kube.list_page(PROXMOX_MACHINES.at(version), namespace, limit=PAGE, token=token)
            found += map(read_machine, page["items"] or ())
            token = page["metadata"].get("continue")
            if not token:
                return found
