"""What the watches last told of claims, addresses, pools and clusters, with the look-ups that reconciles need.

It may lag. It says which keys to look at and saves reads; what must not be wrong is decided by writes with a version.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from provider.api.ipam import Address, Claim, ClusterState, Key, PoolKey
from provider.api.pool import Pool


class View:
    """Claims, addresses, pools and clusters by key, and claims and addresses by their pool and cluster."""

    def __init__(self) -> None:
        self.claims: Mapping[Key, Claim] = {}
        self.addresses: Mapping[Key, Address] = {}
        self.clusters: Mapping[Key, ClusterState] = {}
        self.pools: dict[PoolKey, Pool] = {}
        self.zoned: dict[PoolKey, Pool] = {}
        """Of these, the few that are marked as sitting on a zone: every network looks through them."""
        self.claims_by_uid: dict[str, str] = {}
        self._claims_of_pool: dict[PoolKey, dict[Key, None]] = defaultdict(dict)
        self._claims_of_cluster: dict[Key, dict[Key, None]] = defaultdict(dict)
        self._addresses_of_pool: dict[PoolKey, dict[Key, None]] = defaultdict(dict)

    def index_claim(self, key: Key, old: Claim | None, new: Claim | None) -> None:
        if old is not None and (new is None or new.uid != old.uid):
            self.claims_by_uid.pop(old.uid, None)
            self._claims_of_pool[old.pool_key].pop(key, None)
            if old.cluster is not None:
                self._claims_of_cluster[old.namespace, old.cluster].pop(key, None)
        if new is not None:
            self.claims_by_uid[new.uid] = new.holder
            self._claims_of_pool[new.pool_key][key] = None
            if new.cluster is not None:
                self._claims_of_cluster[new.namespace, new.cluster][key] = None

    def index_address(self, key: Key, old: Address | None, new: Address | None) -> None:
        if old is not None and (new is None or new.pool_key != old.pool_key):
            self._addresses_of_pool[old.pool_key].pop(key, None)
        if new is not None:
            self._addresses_of_pool[new.pool_key][key] = None

    def index_pool(self, old: Pool | None, new: Pool | None) -> None:
        if new is not None:
            self.pools[new.key] = new
        elif old is not None:
            self.pools.pop(old.key, None)
        if new is not None and new.zone is not None:
            self.zoned[new.key] = new
        elif old is not None:
            self.zoned.pop(old.key, None)

    def claims_of_pool(self, pool: PoolKey) -> list[Key]:
        return [*self._claims_of_pool.get(pool, ())]

    def claims_of_cluster(self, cluster: Key) -> list[Key]:
        return [*self._claims_of_cluster.get(cluster, ())]

    def addresses_of_pool(self, pool: PoolKey) -> Iterator[Address]:
        for key in [*self._addresses_of_pool.get(pool, ())]:
            address = self.addresses.get(key)
            if address is not None:
                yield address
