"""Beside another provider, with --pools=networks: the pools of others are not touched at all."""

from collections.abc import Iterator

import pytest

from e2e.bed.bed import Bed
from tests.api.running import provider as running
from tests.api.tenant import Tenant
from tests.api.witness import ADDRESS, BLOCK, CLAIM, Witness, until

ZONE = "ProxmoxNetworkZone"


@pytest.fixture(scope="module")
def beside(control_plane: Bed, witness: Witness) -> Iterator[None]:
    with running(control_plane, "--pools=networks"):
        yield


@pytest.fixture
def network(place: Tenant, beside: None) -> Iterator[str]:
    """A network of the test's namespace, from a zone's table; once it is ready the provider is surely at work."""
    zone = f"zone-{place.namespace}"
    # A bridge of its own: what an earlier test's network still holds must not be in the way.
    bridge = f"vmbr{place.namespace.partition('-')[0]}"
    row = {"name": "blue", "vlan": 100, "ipv4": {"addresses": ["10.7.0.10-10.7.0.20"], "prefix": 24}}
    place.witness.create(
        {"kind": ZONE, "metadata": {"name": zone}, "spec": {"bridge": bridge, "networks": {place.namespace: [row]}}}
    )
    yield "blue"
    place.witness.delete(ZONE, None, zone)


@pytest.mark.parametrize("everywhere", [False, True], ids=["namespaced", "global"])
def test_foreign_pools_and_claims_stay_as_they_were_made(place: Tenant, network: str, everywhere: bool) -> None:
    pool = place.pool(["10.0.0.1-10.0.0.9"], everywhere=everywhere)
    place.claim("theirs", pool)
    place.claim("nobodys", place.pool_ref("no-such-pool"))
    marker = place.pool(["10.7.0.10-10.7.0.20"], "of-the-network")
    place.claim("ours", marker)
    assert place.answered("ours", timeout=30) == "10.7.0.10"

    assert "finalizers" not in place.witness.get(pool.kind, pool.namespace, pool.name)["metadata"]
    assert place.counts(pool) is None
    for name in ("theirs", "nobodys"):
        claim = place.get(CLAIM, name)
        assert "finalizers" not in claim["metadata"]
        assert "status" not in claim
        assert place.find(ADDRESS, name) is None
    assert pool.book not in {block["spec"]["book"] for block in place.witness.list(BLOCK)}


def test_deletes_of_foreign_objects_are_not_our_business(place: Tenant, network: str) -> None:
    """Another provider's finalizers are on them; ours must neither appear nor take those away."""
    pool = place.pool(["10.0.0.1-10.0.0.9"])
    place.claim("theirs", pool)
    held = {"metadata": {"finalizers": ["ipam.cluster.x-k8s.io/ReleaseAddress"]}}
    place.patch(CLAIM, "theirs", held)
    place.delete(CLAIM, "theirs")
    marker = place.pool(["10.7.0.10-10.7.0.20"], "of-the-network")
    place.claim("ours", marker)
    place.answered("ours", timeout=30)
    assert place.get(CLAIM, "theirs")["metadata"]["finalizers"] == held["metadata"]["finalizers"]
    place.patch(CLAIM, "theirs", {"metadata": {"finalizers": []}})
    until(lambda: place.find(CLAIM, "theirs") is None, "the claim is gone")
