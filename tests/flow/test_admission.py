"""The policies and the namespaces' lines on the fake API server: made, changed, taken away, and refused."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from provider.api.network import ProxmoxNetwork
from provider.api.zone import ProxmoxNetworkZone
from provider.controllers.admission import AGAIN, MACHINES_CRD, REFUSED, TENANTS, UNKNOWN_VERSION, Admission
from provider.controllers.catalog import Catalog
from provider.controllers.listing import Listing
from provider.core.admission.table import NETWORKS_ANNOTATION
from provider.core.admission.zone_policy import policy_name
from provider.edge.kube.errors import Conflict, Invalid, NotFound
from provider.edge.kube.resources import CRDS, NAMESPACES, NETWORKS, POLICIES, POLICY_BINDINGS, Resource
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.store import Json, Store

LAB = policy_name("lab")
STATUS = {
    "zone": "lab",
    "bridge": "vmbr7",
    "vlan": 107,
    "ipv4": {"addresses": ["10.0.0.10-10.0.0.20"], "prefix": 24, "cidr": "10.0.0.0/24", "pool": "blue-inet"},
}
BLUE = ("team", "blue")
LINE = "lab blue vmbr7 107 blue-inet 10.0.0.0/24"


class Refusing(FakeKube):
    """An API server that takes no policies, as one that is too old to understand them."""

    async def create(self, resource: Resource, body: Json, namespace: str | None = None) -> Json:
        if resource is POLICIES:
            raise Invalid("compilation failed", 422)
        return await super().create(resource, body, namespace)


class Interrupted(FakeKube):
    """Somebody else writes between our read of the networks and our write."""

    def __init__(self, store: Store, fate: Fate, act: Callable[[], Any]) -> None:
        super().__init__(store, fate)
        self._act = act

    async def list_all(
        self, resource: Resource, namespace: str | None = None, *, labels: str | None = None
    ) -> list[Json]:
        found = await super().list_all(resource, namespace, labels=labels)
        self._act()
        return found


@pytest.fixture
def store() -> Store:
    return Store(lambda: 0.0)


@pytest.fixture
def fate() -> Fate:
    return Fate(random.Random(1), Faults())


def catalog(**spec: Any) -> Catalog:
    found = Catalog()
    found.put_zone(
        ProxmoxNetworkZone.model_validate({"metadata": {"name": "lab"}, "spec": {"bridge": "vmbr7", **spec}})
    )
    return found


def network(store: Store, status: Json = STATUS) -> ProxmoxNetwork:
    """In the store with this status in force."""
    raw = store.create(NETWORKS, {"metadata": {"name": "blue"}, "spec": {"zone": "lab"}, "status": status}, "team")
    raw = store.patch(NETWORKS, "blue", {"status": status}, "team", "status")
    return ProxmoxNetwork.model_validate(raw)


def names(store: Store, resource: Resource) -> set[str]:
    return {item["metadata"]["name"] for item in store.list(resource, None, None)}


def keeper(kube: FakeKube, known: Catalog, told: list[str], *, on: bool = True) -> Admission:
    return Admission(kube, known, ("kube-system",), told.append, on=on)


async def test_policies_come_with_a_zone_and_go_with_it(store: Store, fate: Fate) -> None:
    known, told = catalog(), list[str]()
    admission = keeper(FakeKube(store, fate), known, told)
    for key in ("lab", TENANTS):
        assert await admission.reconcile(key) is None
    assert names(store, POLICIES) == names(store, POLICY_BINDINGS) == {LAB, "pxnet-system-tenants"}
    assert await admission.existing() == {"lab", TENANTS}
    ready = admission.statement("lab")
    assert ready is not None
    assert ready.status
    known.drop_zone("lab")
    for key in ("lab", TENANTS):
        await admission.reconcile(key)
    assert names(store, POLICIES) == names(store, POLICY_BINDINGS) == set()


async def test_a_zone_that_is_gone_keeps_its_policy_while_a_network_is_in_force(store: Store, fate: Fate) -> None:
    known = catalog()
    known.put_network(BLUE, network(store))
    known.drop_zone("lab")
    admission = keeper(FakeKube(store, fate), known, [])
    await admission.reconcile("lab")
    assert names(store, POLICIES) == {LAB}
    known.drop_network(BLUE)
    await admission.reconcile("lab")
    assert names(store, POLICIES) == set()


async def test_what_is_as_it_should_be_is_not_written_again(store: Store, fate: Fate) -> None:
    known = catalog()
    await keeper(FakeKube(store, fate), known, []).reconcile("lab")
    version = store.version
    later = keeper(FakeKube(store, fate), known, [])
    await later.reconcile("lab")
    assert store.version == version
    known.put_zone(
        ProxmoxNetworkZone.model_validate(
            {"metadata": {"name": "lab", "resourceVersion": "9"}, "spec": {"bridge": "vmbr9"}}
        )
    )
    await later.reconcile("lab")
    assert "vmbr9" in str(store.get(POLICIES, LAB, None)["spec"])


async def test_an_edit_by_hand_is_undone_at_the_next_look_at_everything(store: Store, fate: Fate) -> None:
    admission = keeper(FakeKube(store, fate), catalog(), [])
    await admission.reconcile("lab")
    store.patch(POLICIES, LAB, {"spec": {"failurePolicy": "Ignore"}}, None, None)
    admission.forget()
    await admission.reconcile("lab")
    assert store.get(POLICIES, LAB, None)["spec"]["failurePolicy"] == "Fail"


async def test_switched_off_there_are_none(store: Store, fate: Fate) -> None:
    known = catalog()
    await keeper(FakeKube(store, fate), known, []).reconcile("lab")
    off = keeper(FakeKube(store, fate), known, [], on=False)
    for key in await off.existing():
        await off.reconcile(key)
    assert names(store, POLICIES) == set()
    assert off.statement("lab") is None


async def test_a_policy_that_is_refused_is_said_on_the_zone_and_tried_again(store: Store, fate: Fate) -> None:
    told: list[str] = []
    admission = keeper(Refusing(store, fate), catalog(), told)
    assert await admission.reconcile("lab") == AGAIN
    said = admission.statement("lab")
    assert said is not None
    assert (said.status, said.reason) == (False, REFUSED)
    assert "compilation failed" in said.message
    assert told == ["lab"]


async def test_the_version_follows_what_capmox_serves(store: Store, fate: Fate) -> None:
    admission = keeper(FakeKube(store, fate), catalog(), [])
    assert not await admission.find_version()

    def serve(*served: str) -> None:
        versions = [{"name": name, "served": True} for name in served]
        body = {"metadata": {"name": MACHINES_CRD}, "spec": {"versions": versions}}
        if MACHINES_CRD in names(store, CRDS):
            store.delete(CRDS, MACHINES_CRD, None, None)
        store.create(CRDS, body, None)

    async def judged() -> list[str]:
        await admission.reconcile("lab")
        rules: list[Json] = store.get(POLICIES, LAB, None)["spec"]["matchConstraints"]["resourceRules"]
        return list(rules[0]["apiVersions"])

    assert await judged() == ["v1alpha2"]
    serve("v1alpha1")
    assert await admission.find_version()
    assert await judged() == ["v1alpha1"]
    serve("v1alpha1", "v1alpha2")
    assert await admission.find_version()
    assert await judged() == ["v1alpha2"]
    serve("v9")
    assert await admission.find_version()
    assert await judged() == ["v1alpha2"]
    said = admission.statement("lab")
    assert said is not None
    assert said.reason == UNKNOWN_VERSION


def line_of(store: Store) -> str | None:
    found: str | None = store.get(NAMESPACES, "team", None)["metadata"].get("annotations", {}).get(NETWORKS_ANNOTATION)
    return found


def shown(store: Store, known: Catalog, listing: Listing) -> Awaitable[None]:
    known.put_network(BLUE, network(store))
    offer = known.current(BLUE)
    assert offer is not None
    return listing.show(BLUE, offer)


async def test_a_line_comes_and_goes(store: Store, fate: Fate) -> None:
    store.create(NAMESPACES, {"metadata": {"name": "team", "annotations": {"note": "mine"}}}, None)
    known, listing = Catalog(), Listing(FakeKube(store, fate))
    await shown(store, known, listing)
    assert line_of(store) == LINE
    version = store.version
    offer = known.current(BLUE)
    assert offer is not None
    await listing.show(BLUE, offer)
    assert store.version == version
    await listing.hide(BLUE)
    assert line_of(store) is None
    assert store.get(NAMESPACES, "team", None)["metadata"]["annotations"] == {"note": "mine"}


async def test_a_line_written_by_hand_goes_at_the_next_look_at_everything(store: Store, fate: Fate) -> None:
    store.create(NAMESPACES, {"metadata": {"name": "team"}}, None)
    known, listing = Catalog(), Listing(FakeKube(store, fate))
    await shown(store, known, listing)
    store.patch(NAMESPACES, "team", {"metadata": {"annotations": {NETWORKS_ANNOTATION: "forged"}}}, None, None)
    listing.forget()
    offer = known.current(BLUE)
    assert offer is not None
    await listing.show(BLUE, offer)
    assert line_of(store) == LINE


async def test_who_reads_before_another_leader_writes_loses(store: Store, fate: Fate) -> None:
    store.create(NAMESPACES, {"metadata": {"name": "team"}}, None)
    act = lambda: store.patch(NAMESPACES, "team", {"metadata": {"labels": {"other": "leader"}}}, None, None)  # noqa: E731
    with pytest.raises(Conflict):
        await shown(store, Catalog(), Listing(Interrupted(store, fate, act)))
    assert line_of(store) is None


async def test_a_namespace_that_is_gone_needs_no_line(store: Store, fate: Fate) -> None:
    listing = Listing(FakeKube(store, fate))
    await listing.hide(BLUE)
    with pytest.raises(NotFound):
        store.get(NAMESPACES, "team", None)
