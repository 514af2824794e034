"""Edits of tables by chance strand nobody, and the simulation would notice if they did."""

from dataclasses import replace

import pytest

from provider.controllers import network, seeing
from provider.core.networks import Resolution, Seen, resolve
from tests.flow.simulate import quiet
from tests.flow.tables import play


@pytest.fixture(autouse=True)
def _quiet():
    quiet()


@pytest.mark.parametrize("batch", range(4))
def test_histories_end_well(batch):
    found = {seed: breaches for seed in range(batch * 15, batch * 15 + 15) if (breaches := play(seed)[0])}
    assert not found, "\n".join(f"python -m tests.flow.tables --seed {seed}: {each}" for seed, each in found.items())


def without_holders(seen: Seen) -> Resolution:
    """Deliberately wrong: edits at once, whoever has an address."""
    return resolve(replace(seen, holders={}))


def test_finds_what_an_edit_without_a_look_does(monkeypatch):
    monkeypatch.setattr(network, "resolve", without_holders)
    assert any("moved from" in each for seed in (46, 57, 63, 66) for each in play(seed)[0])


def test_finds_what_a_table_without_neighbours_does(monkeypatch):
    for module in (network, seeing):
        monkeypatch.setattr(module, "contested", lambda *_: ())
    assert any("both have" in each for seed in range(30) for each in play(seed)[0])
