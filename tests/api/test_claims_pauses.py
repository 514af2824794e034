"""Pauses of pool, cluster and claim: nothing is given, nothing is taken back, and all of it happens afterwards."""

import pytest

from tests.api.tenant import CLUSTER_LABEL, PAUSED, Tenant
from tests.api.witness import ADDRESS, CLAIM, CLUSTER

UNPAUSED = dict.fromkeys(PAUSED)


def test_paused_pool_answers_later(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"], annotations=PAUSED)
    tenant.claim("one", pool)
    tenant.unanswered("one")
    tenant.patch_pool(pool, {"metadata": {"annotations": UNPAUSED}})
    assert tenant.answered("one") == "10.0.0.1"


def test_paused_pool_keeps_what_it_gave(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("one", pool)
    tenant.answered("one")
    tenant.patch_pool(pool, {"metadata": {"annotations": PAUSED}})
    tenant.settle()
    tenant.delete(CLAIM, "one")
    tenant.settle()
    assert "deletionTimestamp" in tenant.get(CLAIM, "one")["metadata"]
    assert "deletionTimestamp" not in tenant.get(ADDRESS, "one")["metadata"]
    tenant.counted(pool, total=9, used=1)
    tenant.patch_pool(pool, {"metadata": {"annotations": UNPAUSED}})
    tenant.gone(CLAIM, "one")
    tenant.gone(ADDRESS, "one")


def test_paused_claim_is_left_alone_until_the_mark_is_gone(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("one", pool, annotations=PAUSED)
    claim = tenant.unanswered("one")
    assert "finalizers" not in claim["metadata"]
    # Neither an edit of the pool nor space in it is a reason to touch a paused claim.
    tenant.patch_pool(pool, {"spec": {"addresses": ["10.0.0.1-10.0.0.20"]}})
    tenant.unanswered("one")
    tenant.annotate(CLAIM, "one", UNPAUSED)
    assert tenant.answered("one") == "10.0.0.1"


def test_paused_claim_is_not_released(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("one", pool)
    tenant.answered("one")
    tenant.annotate(CLAIM, "one", PAUSED)
    tenant.delete(CLAIM, "one")
    tenant.settle()
    assert tenant.text_of("one") == "10.0.0.1"
    tenant.annotate(CLAIM, "one", UNPAUSED)
    tenant.gone(CLAIM, "one")


@pytest.mark.parametrize("by", ["spec", "annotation"])
@pytest.mark.parametrize("link", ["field", "label"])
def test_paused_cluster_holds_its_claims(tenant: Tenant, by: str, link: str) -> None:
    tenant.cluster("blue", paused=by == "spec", annotations=PAUSED if by == "annotation" else None)
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    if link == "field":
        tenant.claim("one", pool, cluster="blue")
    else:
        tenant.claim("one", pool, labels={CLUSTER_LABEL: "blue"})
    claim = tenant.unanswered("one")
    assert "finalizers" not in claim["metadata"]
    tenant.patch(CLUSTER, "blue", {"spec": {"paused": False}, "metadata": {"annotations": UNPAUSED}})
    assert tenant.answered("one") == "10.0.0.1"


@pytest.mark.parametrize(
    "patch", [{"spec": {"paused": True}}, {"metadata": {"annotations": PAUSED}}], ids=["spec", "annotation"]
)
def test_cluster_paused_later_holds_what_comes_after(tenant: Tenant, patch: dict[str, object]) -> None:
    tenant.cluster("blue")
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("before", pool, cluster="blue")
    tenant.answered("before")
    tenant.patch(CLUSTER, "blue", patch)
    tenant.settle()
    tenant.claim("after", pool, cluster="blue")
    tenant.unanswered("after")
    tenant.delete(CLAIM, "before")
    tenant.settle()
    assert tenant.text_of("before") == "10.0.0.1"
    tenant.patch(CLUSTER, "blue", {"spec": {"paused": False}, "metadata": {"annotations": UNPAUSED}})
    tenant.answered("after")
    tenant.gone(CLAIM, "before")


def test_a_pause_in_another_namespace_does_not_matter(tenant: Tenant) -> None:
    other = Tenant.create(tenant.witness, f"{tenant.namespace}-b")
    other.cluster("blue", paused=True)
    tenant.cluster("blue")
    tenant.claim("one", tenant.pool(["10.0.0.1"]), cluster="blue")
    assert tenant.answered("one") == "10.0.0.1"


def test_cluster_that_does_not_exist_is_waited_for(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.9"])
    tenant.claim("by-field", pool, cluster="blue")
    tenant.claim("by-label", pool, labels={CLUSTER_LABEL: "blue"})
    for name in ("by-field", "by-label"):
        assert "finalizers" not in tenant.unanswered(name)["metadata"]
    tenant.cluster("blue")
    assert {tenant.answered("by-field"), tenant.answered("by-label")} == {"10.0.0.1", "10.0.0.2"}


def test_claim_is_released_after_its_cluster_is_gone(tenant: Tenant) -> None:
    tenant.cluster("blue")
    tenant.claim("one", tenant.pool(["10.0.0.1"]), cluster="blue")
    tenant.answered("one")
    tenant.delete(CLUSTER, "blue")
    tenant.gone(CLUSTER, "blue")
    tenant.delete(CLAIM, "one")
    tenant.gone(CLAIM, "one")
    tenant.gone(ADDRESS, "one")
