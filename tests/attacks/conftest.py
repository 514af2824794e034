"""One bed with capmox, its kinds and its webhooks for all attacks, with a zone and three tenants.

team-a has network blue (VLAN 107), team-b green (VLAN 108), team-c none. Each tenant's user may do everything with
Cluster API's kinds, status included, and edit its own Namespace: more than a platform should give.
"""

import itertools
import os
from collections.abc import Iterator

import pytest

from e2e.bed.bed import Bed
from e2e.bed.parts import FULL
from tests.attacks.caller import Caller
from tests.attacks.ground import Ground

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    with Bed(f"attacks-{os.getpid()}", FULL) as bed:
        yield bed


@pytest.fixture(scope="session")
def caller(bed: Bed) -> Iterator[Caller]:
    caller = Caller(bed.kubeconfig)
    yield caller
    caller.close()


@pytest.fixture(scope="session")
def ground(bed: Bed, caller: Caller) -> Ground:
    return Ground.make(bed, caller)
