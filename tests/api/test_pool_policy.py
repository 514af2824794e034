"""The admission policy that takes capmox's pools into a network, as the API server runs it."""

from collections.abc import Iterator

import pytest

from config import admission
from tests.api.tenant import Tenant
from tests.api.test_networks import Table, row
from tests.api.witness import CLAIM, POLICY, POLICY_BINDING, POOL, Json, Witness, until

OWNER = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha2",
    "kind": "ProxmoxCluster",
    "name": "one",
    "uid": "00000000-0000-0000-0000-000000000001",
    "controller": True,
}
PROTECT = "ipam.cluster.x-k8s.io/ProtectPool"


@pytest.fixture(scope="module", autouse=True)
def policy(witness: Witness) -> Iterator[None]:
    for document in admission.documents():
        witness.create(document)
    yield
    for kind in (POLICY_BINDING, POLICY):
        witness.delete(kind, None, admission.NAME)


def make(tenant: Tenant, name: str, *, owner: Json | None = OWNER, **spec: object) -> Json:
    """A pool as capmox makes it; gives what the API server stored."""
    metadata: Json = {"name": name, "namespace": tenant.namespace}
    if owner is not None:
        metadata["ownerReferences"] = [owner]
    known = {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "gateway": "10.0.0.1"}
    return tenant.witness.create({"kind": POOL, "metadata": metadata, "spec": {**known, **spec}})


def marked(pool: Json) -> bool:
    annotations = pool["metadata"].get("annotations", {})
    marks = [annotations.get(mark) for mark in ("cluster.x-k8s.io/paused", "proxmox.cozystack.io/network")]
    return marks == ["true", "blue"] and bool(pool["metadata"].get("finalizers") == [PROTECT])


def in_force(tenant: Tenant) -> Table:
    """A ready network, once the policy has it as its parameter and is in force."""
    table = Table(tenant, row())
    table.network("blue", "True", "Ready")
    numbers = iter(range(1000))

    def works() -> bool:
        name = f"probe-{next(numbers)}"
        made = make(tenant, name)
        tenant.delete(POOL, name)
        return marked(made)

    until(works, "the policy marks capmox's pools")
    return table


def test_two_clusters_of_a_tenant_share_the_networks_book(tenant: Tenant) -> None:
    in_force(tenant)
    for cluster in ("one", "two"):
        assert marked(make(tenant, f"{cluster}-v4-icip"))
        tenant.claim(f"{cluster}-m1", tenant.pool_ref(f"{cluster}-v4-icip"))
    assert {tenant.answered("one-m1"), tenant.answered("two-m1")} == {"10.0.0.10", "10.0.0.11"}
    for cluster in ("one", "two"):
        tenant.delete(POOL, f"{cluster}-v4-icip")
        tenant.delete(CLAIM, f"{cluster}-m1")
        tenant.gone(POOL, f"{cluster}-v4-icip")


def test_other_pools_are_left_alone(tenant: Tenant) -> None:
    in_force(tenant)
    assert not marked(make(tenant, "by-hand", owner=None))
    assert not marked(make(tenant, "elsewhere", addresses=["10.9.0.10-10.9.0.20"], gateway="10.9.0.1"))
    assert not marked(make(tenant, "wider", prefix=23))


def test_a_namespace_without_networks_is_left_alone(tenant: Tenant) -> None:
    in_force(tenant)
    other = Tenant.create(tenant.witness, f"{tenant.namespace}-b")
    assert not marked(make(other, "one-v4-icip"))


def test_an_update_forces_nothing_back(tenant: Tenant) -> None:
    in_force(tenant)
    make(tenant, "one-v4-icip")
    tenant.annotate(POOL, "one-v4-icip", {"cluster.x-k8s.io/paused": None})
    assert "cluster.x-k8s.io/paused" not in tenant.get(POOL, "one-v4-icip")["metadata"]["annotations"]
