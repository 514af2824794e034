"""Networks on demand by chance: no place twice and none lost, and the simulation would notice if there were."""

import pytest

from provider.controllers.demand import Demand
from provider.controllers.places import Places
from provider.edge.kube.network_blocks import NetworkBlocks
from tests.flow.demand import play
from tests.flow.simulate import quiet


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
