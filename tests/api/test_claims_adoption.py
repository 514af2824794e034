"""IPAddresses that exist before their claim, or without one: taken over, counted as used, never given again."""

import pytest

from tests.api.tenant import CLUSTER_LABEL, Tenant
from tests.api.witness import ADDRESS, BLOCK, CLAIM, POOL, until

FINALIZER = "ipam.cluster.x-k8s.io/ProtectAddress"


def test_address_made_for_a_claim_to_come_is_its_answer(tenant: Tenant) -> None:
    tenant.cluster("blue")
    pool = tenant.pool(["10.0.0.1-10.0.0.99"])
    before = tenant.foreign_address("pinned", pool, "10.0.0.42")
    uid = tenant.claim("pinned", pool, labels={CLUSTER_LABEL: "blue"})
    assert tenant.answered("pinned") == "10.0.0.42"
    after = tenant.get(ADDRESS, "pinned")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["finalizers"] == [FINALIZER]
    assert after["metadata"]["labels"] == {CLUSTER_LABEL: "blue"}
    assert [owner["kind"] for owner in after["metadata"]["ownerReferences"]] == [CLAIM, POOL]
    assert after["metadata"]["ownerReferences"][0]["uid"] == uid


def test_other_owners_of_an_adopted_address_are_kept_first(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.99"])
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": tenant.namespace, "uid": _namespace_uid(tenant)}
    tenant.foreign_address("pinned", pool, "10.0.0.42", ownerReferences=[owner])
    tenant.claim("pinned", pool)
    tenant.answered("pinned")
    owners = tenant.get(ADDRESS, "pinned")["metadata"]["ownerReferences"]
    assert [item["kind"] for item in owners] == ["Namespace", CLAIM, POOL]
    assert [item.get("controller", False) for item in owners] == [False, True, False]


def test_an_address_without_a_claim_is_not_given(tenant: Tenant) -> None:
    """Whoever made it, something may use it."""
    pool = tenant.pool(["10.0.0.1-10.0.0.99"])
    tenant.foreign_address("by-hand", pool, "10.0.0.1")
    tenant.settle()
    tenant.claim("one", pool)
    assert tenant.answered("one") == "10.0.0.2"
    tenant.counted(pool, total=99, used=2)
    tenant.delete(ADDRESS, "by-hand")
    tenant.gone(ADDRESS, "by-hand")
    tenant.settle()
    tenant.claim("two", pool)
    assert tenant.answered("two") == "10.0.0.1"


def test_an_address_made_while_the_pool_is_in_use_is_not_given(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.99"])
    tenant.claim("one", pool)
    assert tenant.answered("one") == "10.0.0.1"
    tenant.foreign_address("by-hand", pool, "10.0.0.2")
    until(lambda: _holder(tenant, "10.0.0.0", 2), "an entry for the address")
    tenant.claim("two", pool)
    assert tenant.answered("two") == "10.0.0.3"


def test_an_address_in_another_notation_is_the_same_address(tenant: Tenant) -> None:
    pool = tenant.pool(["fd00::1-fd00::9"], prefix=64)
    tenant.foreign_address("by-hand", pool, "FD00:0:0::0001", 64)
    tenant.settle()
    tenant.claim("one", pool)
    assert tenant.answered("one") == "fd00::2"


@pytest.mark.parametrize("text", ["no address at all", "10.0.0.300", "010.0.0.1", "10.0.0.1/24"])
def test_one_unreadable_address_does_not_stop_its_pool(tenant: Tenant, text: str) -> None:
    """It can stand there where Cluster API's webhook was away; the status still counts it."""
    pool = tenant.pool(["10.0.0.1-10.0.0.99"])
    tenant.foreign_address("bad", pool, text)
    tenant.settle()
    tenant.claim("one", pool)
    assert tenant.answered("one") == "10.0.0.1"
    tenant.counted(pool, total=99, used=2)


def test_a_claim_named_like_an_unreadable_address_says_so(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.99"])
    tenant.foreign_address("bad", pool, "no address at all")
    tenant.settle()
    tenant.claim("bad", pool)
    message = until(lambda: str(tenant.ready("bad").get("message", "")), "the claim says what is wrong")
    assert tenant.ready("bad")["reason"] == "AllocationFailed"
    assert "no address at all" in message
    tenant.delete(ADDRESS, "bad")
    assert tenant.answered("bad") == "10.0.0.1"


def test_a_claim_named_like_an_address_of_another_pool_says_so(tenant: Tenant) -> None:
    """An IPAddress cannot change its pool, so the claim waits until that one is gone, and then gets its own."""
    theirs, ours = tenant.pool(["10.1.0.0/24"], "theirs"), tenant.pool(["10.0.0.1-10.0.0.99"], "ours")
    tenant.foreign_address("same", theirs, "10.1.0.7")
    tenant.settle()
    tenant.claim("same", ours)
    message = until(lambda: str(tenant.ready("same").get("message", "")), "the claim says what is wrong")
    assert tenant.ready("same")["status"] == "False"
    assert "theirs" in message
    tenant.delete(ADDRESS, "same")
    assert tenant.answered("same") == "10.0.0.1"


def test_an_address_made_twice_is_reported_and_left_alone(tenant: Tenant) -> None:
    pool = tenant.pool(["10.0.0.1-10.0.0.99"])
    tenant.foreign_address("a", pool, "10.0.0.1")
    tenant.foreign_address("b", pool, "10.0.0.1")
    tenant.settle()
    tenant.claim("one", pool)
    assert tenant.answered("one") == "10.0.0.2"
    assert tenant.text_of("a") == tenant.text_of("b") == "10.0.0.1"

    def reported() -> list[str]:
        events = tenant.witness.list("Event", tenant.namespace)
        return [event["message"] for event in events if event["reason"] == "DuplicateAddress"]

    assert "10.0.0.1" in until(reported, "an Event about the duplicate")[0]


def _namespace_uid(tenant: Tenant) -> str:
    return str(tenant.witness.get("Namespace", None, tenant.namespace)["metadata"]["uid"])


def _holder(tenant: Tenant, first: str, offset: int) -> str | None:
    for block in tenant.witness.list(BLOCK):
        if block["spec"]["first"] == first and block["spec"]["book"] == tenant.pool_ref("pool").book:
            entry = block["spec"].get("entries", {}).get(str(offset))
            return str(entry["holder"]) if entry else None
    return None
