"""Histories of trouble end well, and the simulation would notice if they did not."""

from collections.abc import Mapping

import pytest

from provider.core.addresses import Family
from provider.core.blocks import Block, Entry
from provider.edge.clock import Clock
from provider.edge.kube.blocks import KubeBlocks, block_name
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import AlreadyExists
from provider.edge.kube.resources import BLOCKS
from tests.flow.simulate import play, quiet


@pytest.fixture(autouse=True)
def _quiet():
    quiet()


@pytest.mark.parametrize("batch", range(8))
def test_histories_end_well(batch):
    broken = [outcome for seed in range(batch * 20, batch * 20 + 20) if (outcome := play(seed)).breaches]
    assert not broken, "\n".join(f"python -m tests.flow.simulate --seed {one.seed}: {one.breaches}" for one in broken)


class BlocksThatTrustTheirCache(KubeBlocks):
    """Deliberately wrong: writes a block whatever version it has by now, as a provider does that trusts its lease."""

    def __init__(self, kube: Kube, clock: Clock) -> None:
        super().__init__(kube, clock)
        self._unsafe = kube

    async def write(self, book: str, family: Family, block: Block, changes: Mapping[int, Entry | None]) -> Block:
        try:
            if block.version:
                found = await self._unsafe.get(BLOCKS, block_name(book, family, block.base))
                block = Block.of(block.base, block.entries, found["metadata"]["resourceVersion"], block.generation)
            return await super().write(book, family, block, changes)
        except AlreadyExists:
            found = await self._unsafe.get(BLOCKS, block_name(book, family, block.base))
            block = Block.of(block.base, block.entries, found["metadata"]["resourceVersion"], block.generation)
            return await super().write(book, family, block, changes)


def test_finds_the_duplicates_of_a_provider_that_trusts_its_cache():
    histories = (play(seed, BlocksThatTrustTheirCache) for seed in range(150))
    assert any("both have" in breach for outcome in histories for breach in outcome.breaches)


def test_a_seed_is_one_history():
    assert play(7) == play(7)
