"""Two providers at once, moment by moment: what the simulation once found, told on purpose."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from provider.api.ipam import (
    PROTECT_ADDRESS_FINALIZER,
    RELEASE_FINALIZER,
    read_address,
    read_claim,
)
from provider.api.pool import read_pool
from provider.controllers.books import Books
from provider.controllers.claim import ClaimController
from provider.controllers.view import View
from provider.core.addresses import Family
from provider.edge.kube.blocks import BOOK_LABEL, KubeBlocks, block_name, digest
from provider.edge.kube.errors import Conflict
from provider.edge.kube.resources import ADDRESSES, BLOCKS, CLAIMS, POOLS, Resource
from provider.edge.metrics import Metrics
from tests.flow.fake_kube import FakeKube
from tests.flow.faults import Fate, Faults
from tests.flow.simulate import SilentEvents
from tests.flow.simulated_time import SimulatedClock, run
from tests.flow.store import Json, Store

HOME, KEY = "team", ("team", "m")
POOL_REF = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "p"}


class Lagging:
    """A provider whose view is what the test says it is. `meanwhile` runs once, after its next read of an IPAddress."""

    def __init__(self, store: Store) -> None:
        self.store, self.view = store, View()
        self.meanwhile: Callable[[], None] | None = None
        kube, clock, events = FakeKube(store, Fate(random.Random(0), Faults())), SimulatedClock(), SilentEvents()
        read = kube.get

        async def get(resource: Resource, name: str, namespace: str | None = None) -> Json:
            try:
                return await read(resource, name, namespace)
            finally:
                if resource.plural == ADDRESSES.plural and self.meanwhile is not None:
                    act, self.meanwhile = self.meanwhile, None
                    act()

        kube.get = get  # type: ignore[method-assign]
        self.books = Books(
            kube, KubeBlocks(kube, clock), self.view, clock, events, CLAIMS, lambda _: None, drop_in=True,  # type: ignore[arg-type]
        )  # fmt: skip
        self.controller = ClaimController(
            kube, self.view, self.books, clock, events, Metrics(), CLAIMS, drop_in=True,  # type: ignore[arg-type]
            note_claim=lambda *_: None, note_address=lambda *_: None,
        )  # fmt: skip

    def sees_pool(self, pool: Json) -> None:
        self.view.index_pool(None, read_pool(pool))
        self.books.binding(read_pool(pool))

    def sees_claim(self, claim: Json) -> None:
        self.view.claims = {KEY: read_claim(claim)}
        self.view.index_claim(KEY, None, read_claim(claim))

    def sees_address(self, address: Json) -> None:
        self.view.addresses = {KEY: read_address(address)}
        self.view.index_address(KEY, None, read_address(address))


def pool(store: Store) -> Json:
    spec = {"addresses": ["10.0.0.5-10.0.0.6"], "prefix": 24}
    return store.create(POOLS, body(POOLS, "p", spec=spec), HOME)


def claim(store: Store, name: str = "m") -> Json:
    return store.create(CLAIMS, body(CLAIMS, name, spec={"poolRef": POOL_REF}, finalizers=[RELEASE_FINALIZER]), HOME)


def address(store: Store, owner: Json, text: str = "10.0.0.5") -> Json:
    name = owner["metadata"]["name"]
    made = body(ADDRESSES, name, spec={"claimRef": {"name": name}, "poolRef": POOL_REF, "address": text, "prefix": 24})
    made["metadata"] |= {
        "finalizers": [PROTECT_ADDRESS_FINALIZER],
        "ownerReferences": [
            {"apiVersion": "x", "kind": "IPAddressClaim", "name": name, "uid": owner["metadata"]["uid"]}
        ],
    }
    return store.create(ADDRESSES, made, HOME)


def book(store: Store, owner: Json, offset: str = "5") -> None:
    entry = {
        "state": "Allocated", "since": "2030-01-01T00:00:00Z", "uid": owner["metadata"]["uid"],
        "holder": f"IPAddressClaim/team/{owner['metadata']['name']}",
    }  # fmt: skip
    blocks = store.list(BLOCKS, None, None)
    if blocks:
        store.patch(BLOCKS, blocks[0]["metadata"]["name"], {"spec": {"entries": {offset: entry}}}, None, None)
        return
    spec: Json = {"book": "pool/team/p", "family": "IPv4", "first": "10.0.0.0", "entries": {offset: entry}}
    made = body(BLOCKS, block_name(spec["book"], Family.IPv4, 10 << 24), spec=spec)
    made["metadata"]["labels"] = {BOOK_LABEL: digest(spec["book"])}
    store.create(BLOCKS, made, None)


def body(resource: Resource, name: str, **parts: Any) -> Json:
    metadata = {"name": name, "finalizers": parts.pop("finalizers", [])}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **parts}


def entries(store: Store) -> dict[str, str]:
    (block,) = store.list(BLOCKS, None, None)
    return {offset: entry["uid"] for offset, entry in block["spec"].get("entries", {}).items()}


def test_a_late_release_leaves_the_namesakes_address_alone():
    """The claim was deleted, released and made again by others while this provider saw nothing of it."""

    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        late = Lagging(store)
        late.sees_pool(pool(store))
        old = claim(store)
        store.delete(CLAIMS, "m", HOME, None)
        late.sees_claim(store.get(CLAIMS, "m", HOME))
        store.patch(CLAIMS, "m", {"metadata": {"finalizers": []}}, HOME, None)
        new = claim(store)
        assert new["metadata"]["uid"] != old["metadata"]["uid"]
        book(store, new)
        address(store, new)
        await late.controller.reconcile(KEY)
        assert "deletionTimestamp" not in store.get(ADDRESSES, "m", HOME)["metadata"]
        assert store.get(ADDRESSES, "m", HOME)["metadata"]["finalizers"] == [PROTECT_ADDRESS_FINALIZER]
        assert entries(store) == {"5": new["metadata"]["uid"]}

    run(history())


def test_an_answer_that_is_taken_back_cannot_be_handed_over():
    """One provider sees no pool and takes the entry back; another makes the IPAddress at that very moment."""

    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        made = pool(store)
        wanting = claim(store)
        book(store, wanting)
        late = Lagging(store)
        late.sees_pool(made)
        late.sees_claim(wanting)
        await late.books.book(late.books.binding(read_pool(made)).book).opened()  # type: ignore[union-attr]
        late.view.index_pool(read_pool(made), None)
        refused: list[Conflict] = []

        def rival() -> None:
            address(store, wanting)
            version = wanting["metadata"]["resourceVersion"]
            handed = {"metadata": {"resourceVersion": version}, "status": {"addressRef": {"name": "m"}}}
            with pytest.raises(Conflict) as conflict:
                store.patch(CLAIMS, "m", handed, HOME, "status")
            refused.append(conflict.value)

        late.meanwhile = rival
        await late.controller.reconcile(KEY)
        assert refused
        assert entries(store) == {}

    run(history())


def test_an_address_that_was_made_too_late_gives_way():
    """The claim's IPAddress was made with an address that is another claim's by now, and was never handed over."""

    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        provider = Lagging(store)
        provider.sees_pool(pool(store))
        mine, other = claim(store), claim(store, "other")
        book(store, other)
        provider.sees_claim(mine)
        provider.view.index_claim(("team", "other"), None, read_claim(other))
        provider.sees_address(address(store, mine))
        assert await provider.controller.reconcile(KEY) is not None
        assert (ADDRESSES.plural, *KEY) not in store.objects
        provider.view.addresses = {}
        provider.sees_claim(store.get(CLAIMS, "m", HOME))
        await provider.controller.reconcile(KEY)
        assert store.get(ADDRESSES, "m", HOME)["spec"]["address"] == "10.0.0.6"
        assert store.get(CLAIMS, "m", HOME)["status"]["addressRef"] == {"name": "m"}

    run(history())


def test_a_provider_that_lags_takes_no_address_of_a_namesake():
    """It still sees the old claim; the new one of that name was answered by others."""

    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        late = Lagging(store)
        late.sees_pool(pool(store))
        late.sees_claim(claim(store))
        store.patch(CLAIMS, "m", {"metadata": {"finalizers": []}}, HOME, None)
        store.delete(CLAIMS, "m", HOME, None)
        new = claim(store)
        book(store, new)
        late.sees_address(address(store, new))
        await late.controller.reconcile(KEY)
        assert store.get(ADDRESSES, "m", HOME)["metadata"]["ownerReferences"][0]["uid"] == new["metadata"]["uid"]

    run(history())


@pytest.mark.parametrize(("handed", "stays"), [(True, True), (False, False)])
def test_an_address_with_a_dead_owner_is_deleted_only_if_nobody_was_handed_it(handed, stays):
    """The address itself is another claim's: what was handed over is reported, the rest goes."""

    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        provider = Lagging(store)
        made = pool(store)
        provider.sees_pool(made)
        dead, other = claim(store), claim(store, "other")
        book(store, other)
        provider.view.index_claim(("team", "other"), None, read_claim(other))
        provider.sees_address(address(store, dead))
        store.patch(CLAIMS, "m", {"metadata": {"finalizers": []}}, HOME, None)
        store.delete(CLAIMS, "m", HOME, None)
        claim(store)
        if handed:
            store.patch(CLAIMS, "m", {"status": {"addressRef": {"name": "m"}}}, HOME, "status")
        await provider.books.book(provider.books.binding(read_pool(made)).book).opened()  # type: ignore[union-attr]
        assert ((ADDRESSES.plural, *KEY) in store.objects) == stays

    run(history())


@pytest.mark.parametrize("finalizers", [[PROTECT_ADDRESS_FINALIZER], []])
def test_an_address_that_lost_its_claim_while_nobody_looked_is_deleted(finalizers):
    """The garbage collector strikes the claim from its owners, and it looks as if somebody had made it by hand."""

    async def history() -> None:
        store = Store(asyncio.get_running_loop().time)
        provider = Lagging(store)
        made = pool(store)
        provider.sees_pool(made)
        dead = claim(store)
        book(store, dead)
        address(store, dead)
        owned = store.get(ADDRESSES, "m", HOME)["metadata"]["ownerReferences"]
        owned = [*owned, {"apiVersion": "x", "kind": "InClusterIPPool", "name": "p", "uid": made["metadata"]["uid"]}]
        patch = {"metadata": {"ownerReferences": owned, "finalizers": finalizers}}
        store.patch(ADDRESSES, "m", patch, HOME, None)
        store.patch(CLAIMS, "m", {"metadata": {"finalizers": []}}, HOME, None)
        store.delete(CLAIMS, "m", HOME, None)
        store.collect_garbage()
        provider.sees_address(store.get(ADDRESSES, "m", HOME))
        await provider.books.book(provider.books.binding(read_pool(made)).book).opened()  # type: ignore[union-attr]
        assert (ADDRESSES.plural, *KEY) not in store.objects
        assert entries(store) == {}

    run(history())
