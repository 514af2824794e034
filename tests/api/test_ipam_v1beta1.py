"""A cluster whose Cluster API serves v1beta1 only: found by the provider, and answered in that version's words."""

import os
from collections.abc import Iterator

import pytest

from e2e.bed.bed import Bed
from e2e.bed.parts import LIGHT
from tests.api.running import cluster_api_kinds, install, own_kinds, provider
from tests.api.tenant import PAUSED, Tenant
from tests.api.witness import ADDRESS, CLAIM, CLUSTER, IPAM, Json, Witness


def at_v1beta1(kind: Json) -> Json:
    """Cluster API's definition as it was before v1beta2: one version is stored, and no newer one is served."""
    versions = [version for version in kind["spec"]["versions"] if version["name"] == "v1beta1"]
    assert len(versions) == 1
    versions[0].update(served=True, storage=True)
    return {**kind, "spec": {**kind["spec"], "versions": versions}}


@pytest.fixture(scope="module")
def older() -> Iterator[Witness]:
    with Bed(f"tests-v1beta1-{os.getpid()}", LIGHT) as bed:
        witness = Witness(bed.kubeconfig, "v1beta1")
        install(witness, [*map(at_v1beta1, cluster_api_kinds()), *own_kinds()])
        with provider(bed):
            yield witness
        witness.close()


@pytest.fixture
def tenant(older: Witness, request: pytest.FixtureRequest) -> Tenant:
    return Tenant.create(older, request.node.originalname.replace("_", "-")[5:55].strip("-"))


def test_claim_gets_address_and_both_kinds_of_conditions(tenant: Tenant) -> None:
    """Old conditions carry no observedGeneration, and a reason only with trouble; new ones are below status.v1beta2."""
    tenant.cluster("blue")
    pool = tenant.pool(["10.0.0.1-10.0.0.9"], gateway="10.0.0.1")
    tenant.claim("one", pool, cluster="blue")
    assert tenant.answered("one") == "10.0.0.2"
    status = tenant.get(CLAIM, "one")["status"]
    (old,) = status["conditions"]
    (new,) = status["v1beta2"]["conditions"]
    assert old.keys() == {"type", "status", "lastTransitionTime"}
    assert (new["type"], new["status"], new["reason"]) == ("Ready", "True", "AddressAllocated")
    assert new["observedGeneration"] == 1
    address = tenant.get(ADDRESS, "one")
    assert address["spec"]["gateway"] == "10.0.0.1"
    assert address["metadata"]["ownerReferences"][0]["apiVersion"] == f"{IPAM}/v1beta1"


def test_claim_that_waits_says_why_in_both(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1"])
    tenant.claim("one", pool)
    tenant.answered("one")
    tenant.claim("two", pool)
    message = tenant.refused("two", "PoolExhausted")
    status = tenant.get(CLAIM, "two")["status"]
    assert status["conditions"][0]["severity"] == "Info"
    assert status["v1beta2"]["conditions"][0]["message"] == message
    tenant.delete(CLAIM, "one")
    tenant.gone(CLAIM, "one")
    assert tenant.answered("two") == "10.0.0.1"


def test_paused_cluster_of_that_version_holds_its_claims(tenant: Tenant) -> None:
    tenant.cluster("blue", annotations=PAUSED)
    tenant.claim("one", tenant.pool(["10.0.0.1"]), cluster="blue")
    tenant.unanswered("one")
    tenant.annotate(CLUSTER, "blue", dict.fromkeys(PAUSED))
    assert tenant.answered("one") == "10.0.0.1"


def test_address_of_that_version_is_adopted(tenant: Tenant) -> None:
    pool = tenant.pool(["fd00::1-fd00::9"], prefix=64)
    tenant.foreign_address("one", pool, "fd00::7", 64)
    tenant.claim("one", pool)
    assert tenant.answered("one") == "fd00::7"
