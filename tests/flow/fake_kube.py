"""A fake API server that speaks the provider's `Kube`: one store, a view of it for each client, with its own faults."""

import asyncio
from bisect import bisect_right
from collections.abc import AsyncIterator
from typing import Any

from provider.edge.kube.resources import Resource
from tests.flow.faults import Fate
from tests.flow.store import Json, Store


class FakeKube:
    """One client's connection."""

    def __init__(self, store: Store, fate: Fate) -> None:
        self.store = store
        self.fate = fate
        self._news = asyncio.Event()
        store.listeners.append(lambda *_: self._news.set())

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Json:
        await self.fate.before(write=False)
        found = self.store.get(resource, name, namespace)
        await self.fate.after()
        return found

    async def list_page(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        limit: int | None = None,
        token: str | None = None,
        metadata_only: bool = False,
    ) -> Json:
        await self.fate.before(write=False)
        items = self.store.list(resource, namespace, labels)
        start = int(token or 0)
        version = str(self.store.version)
        await self.fate.after()
        metadata: dict[str, Any] = {"resourceVersion": version}
        if limit and start + limit < len(items):
            metadata["continue"] = str(start + limit)
        return {"metadata": metadata, "items": items[start : start + limit] if limit else items}

    async def list_all(
        self, resource: Resource, namespace: str | None = None, *, labels: str | None = None
    ) -> list[Json]:
        page = await self.list_page(resource, namespace, labels=labels)
        items: list[Json] = page["items"]
        return items

    async def create(self, resource: Resource, body: Json, namespace: str | None = None) -> Json:
        await self.fate.before(write=True)
        made = self.store.create(resource, body, namespace)
        await self.fate.after()
        return made

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Json,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        metadata_only: bool = False,
    ) -> Json:
        await self.fate.before(write=True)
        changed = self.store.patch(resource, name, patch, namespace, subresource)
        await self.fate.after()
        return {"metadata": changed["metadata"]} if metadata_only else changed

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        version: str | None = None,
    ) -> None:
        await self.fate.before(write=True)
        self.store.delete(resource, name, namespace, uid, version)
        await self.fate.after()

    async def watch(
        self, resource: Resource, version: str, namespace: str | None = None, *, metadata_only: bool = False
    ) -> AsyncIterator[Json]:
        """Events of one kind, with repetitions but in their order; kinds overtake each other by their delays."""
        journal = self.store.journal[resource.plural]
        position = bisect_right(journal, int(version), key=lambda event: event[0])
        while True:
            while position < len(journal):
                _, event, item = journal[position]
                position += 1
                home = item["metadata"].get("namespace")
                if namespace is None or home == namespace:
                    back = await self.fate.event()
                    yield {"type": event, "object": {"metadata": item["metadata"]} if metadata_only else {**item}}
                    position = max(position - back, 0)
            if self.fate.bookmark():
                yield {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(self.store.version)}}}
            self._news.clear()
            await self._news.wait()
