"""What the tests on a real API server share: one light bed with all kinds, and a provider for each test file."""

import itertools
from collections.abc import Iterator

import pytest

from e2e.bed.bed import Bed
from e2e.bed.processes import Process
from e2e.bed.pytest_plugin import bed, control_plane
from tests.api.running import cluster_api_kinds, install, own_kinds, start_provider
from tests.api.tenant import Tenant
from tests.api.witness import Witness

__all__ = ["bed", "control_plane"]

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def witness(control_plane: Bed) -> Iterator[Witness]:
    """The API server with Cluster API's kinds and ours, at v1beta2, and nobody's webhooks."""
    witness = Witness(control_plane.kubeconfig)
    install(witness, [*cluster_api_kinds(), *own_kinds()])
    yield witness
    witness.close()


@pytest.fixture(scope="module")
def provider(control_plane: Bed, witness: Witness) -> Iterator[Process]:
    """One provider with default flags that answers all pools; no other runs at the same time."""
    process = start_provider(control_plane)
    yield process
    alive = process.alive
    process.stop()
    assert alive, f"the provider ended by itself\n{process.log_tail(40)}"


@pytest.fixture
def place(witness: Witness, request: pytest.FixtureRequest) -> Tenant:
    """A namespace of the test's own; nobody answers there unless the test has a provider."""
    return Tenant.create(witness, f"t{next(_numbers)}-{request.node.originalname.replace('_', '-')[5:50].strip('-')}")


@pytest.fixture
def tenant(place: Tenant, provider: Process) -> Tenant:
    """A namespace of the test's own, with the module's provider at work."""
    return place
