"""One bed with capmox, its kinds and its webhooks for all attacks, with a zone and three tenants.

team-a has network blue (VLAN 107), team-b green (VLAN 108), team-c none. Each tenant's user may do everything with
Cluster API's kinds, status included, and edit its own Namespace: more than a platform should give.
"""

import os
from collections.abc import Iterator

import pytest

from e2e.bed.bed import Bed
from e2e.bed.binaries import module_dir
from e2e.bed.manifests import files, without_conversion
from e2e.bed.parts import FULL, LIGHT
from e2e.bed.pxnet import install_pxnet
from tests.api.running import cluster_api_kinds, install, own_kinds, provider
from tests.api.witness import Witness
from tests.attacks.attempts import merged
from tests.attacks.caller import Caller, Json
from tests.attacks.ground import EXEMPT, Ground


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
    """With pxnet and capmox as they are shipped."""
    install_pxnet(bed.kubeconfig, [EXEMPT], replicas=1)
    return Ground.make(caller, "v1alpha2")


@pytest.fixture(scope="session")
def old_ground() -> Iterator[Ground]:
    """Another API server, with capmox's kinds as 0.7 has them: the real ones without their newer version."""
    bases = module_dir("capmox") / "config" / "crd" / "bases"
    with Bed(f"attacks-old-{os.getpid()}", LIGHT) as bed:
        witness, caller = Witness(bed.kubeconfig), Caller(bed.kubeconfig)
        old = [only_first_version(kind) for kind in files(sorted(bases.glob("*.yaml")))]
        install(witness, [*cluster_api_kinds(), *own_kinds(), *old])
        with provider(bed, EXEMPT):
            yield Ground.make(caller, "v1alpha1")
        caller.close()
        witness.close()


def only_first_version(kind: Json) -> Json:
    versions = [item | {"storage": True} for item in kind["spec"]["versions"] if item["name"] == "v1alpha1"]
    return without_conversion(merged(kind, {"spec": {"versions": versions}}))
