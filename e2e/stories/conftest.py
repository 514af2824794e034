"""What stories share: one whole bed on which pxnet, as it is shipped, answers all claims instead of its peer."""

import os
from collections.abc import Iterator

import pytest

from e2e.bed.bed import Bed
from e2e.bed.parts import FULL
from e2e.bed.pxnet import install_pxnet


@pytest.fixture(scope="session")
def drop_in() -> Iterator[Bed]:
    """The bed with the shipped Deployment of config/default."""
    with Bed(f"stories-{os.getpid()}", FULL) as bed:
        install_pxnet(bed.kubeconfig)
        yield bed
