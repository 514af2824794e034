"""Beds for tests: import the fixtures you need into a conftest.py. One bed of a kind serves the whole session.

Tests always get a bed of their own: a KUBECONFIG of the caller is never used. Logs stay under build/beds.
"""

import os
from collections.abc import Iterator

import pytest

from e2e.bed.bed import Bed
from e2e.bed.parts import FULL, LIGHT


@pytest.fixture(scope="session")
def control_plane() -> Iterator[Bed]:
    """A light bed: etcd, API server, controllers. Tests make namespaces of their own in it."""
    with Bed(f"tests-light-{os.getpid()}", LIGHT) as bed:
        yield bed


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """The whole bed: also a node, simulated PVE, Cluster API and capmox."""
    with Bed(f"tests-{os.getpid()}", FULL) as bed:
        yield bed
