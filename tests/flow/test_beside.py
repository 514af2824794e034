"""Beside another provider: pools of no network are left alone, with all that is theirs."""

import asyncio
import random

from provider.edge.kube.resources import ADDRESSES, BLOCKS, POOLS
from provider.edge.metrics import Metrics
from provider.leading import Leading, Options
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.simulate import OneNetwork, SilentEvents
from tests.flow.simulated_time import SimulatedClock, run
from tests.flow.store import Store
from tests.flow.world import HOME, World


def test_leaves_foreign_pools_and_their_addresses_alone():
    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        World(store, random.Random(1))
        kube = FakeKube(store, Fate(random.Random(1), Faults()))
        leading = Leading(
            kube, SimulatedClock(), SilentEvents(), Metrics(), Options(drop_in=False), OneNetwork,  # type: ignore[arg-type]
        )  # fmt: skip
        task = asyncio.create_task(leading.run())
        await asyncio.sleep(1)
        spec = {
            "claimRef": {"name": "theirs"}, "address": "10.9.0.2", "prefix": 24,
            "poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "plain"},
        }  # fmt: skip
        owners = [
            {"apiVersion": "x", "kind": "IPAddressClaim", "name": "theirs", "uid": "of a claim that we do not see"}
        ]
        made = {"apiVersion": ADDRESSES.api_version, "kind": ADDRESSES.kind, "spec": spec}
        before = store.create(ADDRESSES, {**made, "metadata": {"name": "theirs", "ownerReferences": owners}}, HOME)
        await asyncio.sleep(700)
        assert store.get(ADDRESSES, "theirs", HOME) == before
        assert store.get(POOLS, "plain", HOME)["metadata"].get("finalizers") is None
        assert "status" not in store.get(POOLS, "plain", HOME)
        assert store.list(BLOCKS, None, None) == []
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(history())
