"""Networks on demand by chance: no place twice and none lost, and the simulation would notice if there were."""

import asyncio
import random

import pytest

from provider.api.network import ProxmoxNetwork
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.catalog import Catalog
from provider.controllers.demand import Demand
from provider.controllers.places import Places
from provider.core.granting import Grant
from provider.core.networks import Finding
from provider.edge.kube.network_blocks import NetworkBlocks
from tests.flow.demand import play, written
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.simulate import quiet
from tests.flow.simulated_time import SimulatedClock, run
from tests.flow.store import Store


@pytest.fixture(autouse=True)
def _quiet():
    quiet()


@pytest.mark.parametrize("batch", range(4))
def test_histories_end_well(batch):
    found = {seed: breaches for seed in range(batch * 15, batch * 15 + 15) if (breaches := play(seed)[0])}
    assert not found, "\n".join(f"python -m tests.flow.demand --seed {seed}: {each}" for seed, each in found.items())


def broken(seeds, text):
    return any(text in each for seed in seeds for each in play(seed)[0])


def test_finds_what_a_write_over_others_does(monkeypatch):
    write = NetworkBlocks.write

    async def blindly(self, block, changes):
        """Deliberately wrong: with the newest version, whatever was read."""
        newest = await self.read(block.id)
        return await write(self, newest if newest.version else block, changes)

    monkeypatch.setattr(NetworkBlocks, "write", blindly)
    assert broken(range(40), "in force")


def test_finds_what_nobody_returns(monkeypatch):
    async def nothing(*_):
        """Deliberately wrong."""

    monkeypatch.setattr(Places, "_return", nothing)
    assert broken(range(10), "is lost to")


@pytest.mark.parametrize("swept", [True, False])
def test_what_a_crash_leaves_is_swept_up(monkeypatch, swept):
    async def nothing(*_):
        """As if every process died right before it returns a place."""

    monkeypatch.setattr(Demand, "give_back", nothing)
    if not swept:
        monkeypatch.setattr(Places, "sweep", nothing)
    assert broken(range(6), "is lost to") is not swept


def test_all_vlans_of_a_bridge_are_given_and_returned():
    """Lowest first, none twice, and then there is none."""

    async def all_of_them() -> None:
        store = Store(asyncio.get_running_loop().time)
        zone = {
            "metadata": {"name": "z"},
            "spec": {
                "bridge": "vmbr0", "vlanRanges": [{"first": 1, "last": 4094}],
                "addressSpace": {"ipv4": {"cidrs": ["10.0.0.0/8"]}, "ipv6": {"cidrs": ["fd00::/40"]}},
            },
        }  # fmt: skip
        catalog = Catalog()
        catalog.put_zone(ProxmoxNetworkZone.model_validate(zone))
        kube = FakeKube(store, Fate(random.Random(0), Faults()))
        places = Places(NetworkBlocks(kube), catalog, SimulatedClock(), lambda _: None)

        async def grant(number: int) -> Grant | Finding:
            raw = {"metadata": {"namespace": "t", "name": f"n{number}", "uid": f"u{number}"}, "spec": {"zone": "z"}}
            network = ProxmoxNetwork.model_validate(raw)
            return await places.grant(("t", f"n{number}"), network, catalog.zones["z"], selected=True)

        for number in range(1, 4095):
            found = await grant(number)
            assert isinstance(found, Grant)
            assert found.offer.segment.vlan == number
        assert len(written(store)) == 4094 * 3
        refused = await grant(4095)
        assert isinstance(refused, Finding)
        assert refused.reason == "ZoneExhausted"
        for number in range(1, 4095):
            await places.give_back(("t", f"n{number}"), f"u{number}")
        assert written(store) == {}

    run(all_of_them())
