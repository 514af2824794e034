"""The pools of a network in the API: read, created, changed and deleted as planned."""

from typing import Any

from provider.controllers.view import View
from provider.core.names import NetworkKey, pool_names
from provider.core.network_pools import PoolPlan
from provider.core.network_status import obstacle
from provider.core.networks import Finding, NetworkReason
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import AlreadyExists, Conflict, Denied, Invalid, NotFound
from provider.edge.kube.resources import POOLS

Json = dict[str, Any]


class NetworkPools:
    """Carries out what `core.network_pools` plans."""

    def __init__(self, kube: Kube, view: View) -> None:
        self._kube = kube
        self._view = view

    async def read(self, key: NetworkKey) -> list[Json]:
        namespace, name = key
        found: list[Json] = []
        for pool in pool_names(name):
            # The copy tells which are worth a request; a pool that it does not show yet is found when it is created.
            if ("InClusterIPPool", namespace, pool) in self._view.pools:
                try:
                    found.append(await self._kube.get(POOLS, pool, namespace))
                except NotFound:
                    continue  # gone meanwhile, which is as good as never there
        return found

    async def change(self, key: NetworkKey, plan: PoolPlan) -> Finding | None:
        """Create, patch and delete pools. What the API server refuses is said on the network, and tried again."""
        trouble: Finding | None = None
        for body in plan.create:
            try:
                await self._kube.create(POOLS, body, key[0])
            except AlreadyExists:
                raise Conflict(f"pool {body['metadata']['name']} exists already", 409) from None
            except (Invalid, Denied) as error:
                trouble = Finding(NetworkReason.POOL_REFUSED, f"pool {body['metadata']['name']} was refused: {error}")
        for name, patch in plan.patch.items():
            try:
                await self._kube.patch(POOLS, name, patch, key[0])
            except (Invalid, Denied) as error:
                trouble = Finding(NetworkReason.POOL_REFUSED, f"the change of pool {name} was refused: {error}")
        for name in plan.delete:
            try:
                await self._kube.delete(POOLS, name, key[0])
            except (Invalid, Denied) as error:
                trouble = Finding(NetworkReason.POOL_REFUSED, f"the deletion of pool {name} was refused: {error}")
        return obstacle(plan) or trouble
