"""The objects of the fake API server, and the rules of their lives.

Objects are never changed in place: a write puts a new one, so what was handed out stays as it was.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from provider.api.times import format_time
from provider.edge.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from provider.edge.kube.resources import ADDRESSES, BLOCKS, CLAIMS, NETWORK_BLOCKS, Resource

Json = dict[str, Any]
Id = tuple[str, str, str]
"""Plural, namespace, name."""

START = datetime(2030, 1, 1, tzinfo=UTC)
WITHOUT_STATUS = {BLOCKS.plural, NETWORK_BLOCKS.plural}
"""Kinds whose status is written with the rest."""
IMMUTABLE = {CLAIMS.plural, ADDRESSES.plural}
"""Kinds whose spec Cluster API's webhooks let nobody change."""


def merged(value: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for key, part in patch.items():
        if part is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), part)
    return result


class Store:
    """All objects, the journal of each kind that watches read, and who wants to know of changes."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self.objects: dict[Id, Json] = {}
        self.journal: dict[str, list[tuple[int, str, Json]]] = defaultdict(list)
        self.listeners: list[Callable[[str, str, Json], None]] = []
        self._versions = itertools.count(1)
        self._uids = itertools.count(1)
        self.version = 0

    def now(self) -> str:
        return format_time(START + timedelta(seconds=self._time()))

    def get(self, resource: Resource, name: str, namespace: str | None) -> Json:
        found = self.objects.get(_id(resource, name, namespace))
        if found is None:
            raise NotFound(f"{resource.kind} {namespace}/{name} not found", 404)
        return {**found}

    def list(self, resource: Resource, namespace: str | None, labels: str | None) -> list[Json]:
        key, _, value = (labels or "").partition("=")
        return [
            {**item}
            for (plural, home, _), item in self.objects.items()
            if plural == resource.plural
            and (namespace is None or home == namespace)
            and (not key or (item["metadata"].get("labels") or {}).get(key) == value)
        ]

    def create(self, resource: Resource, body: Json, namespace: str | None) -> Json:
        name = body["metadata"]["name"]
        identity = _id(resource, name, namespace)
        if identity in self.objects:
            raise AlreadyExists(f"{resource.kind} {name} already exists", 409)
        if resource.plural == ADDRESSES.plural:
            self._check_address(body, namespace)
        metadata = {
            **body["metadata"],
            "uid": f"uid-{next(self._uids)}",
            "creationTimestamp": self.now(),
            "generation": 1,
        }
        if resource.namespaced:
            metadata["namespace"] = namespace
        kept = body if resource.plural in WITHOUT_STATUS else {k: v for k, v in body.items() if k != "status"}
        return {**self._put(identity, {**kept, "metadata": metadata}, "ADDED")}

    def patch(self, resource: Resource, name: str, patch: Json, namespace: str | None, subresource: str | None) -> Json:
        old = self.get(resource, name, namespace)
        meta = patch.get("metadata") or {}
        if meta.get("resourceVersion", old["metadata"]["resourceVersion"]) != old["metadata"]["resourceVersion"]:
            raise Conflict(f"{resource.kind} {name}: the object has been modified", 409)
        if meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise Conflict(f"{resource.kind} {name}: uid does not match", 409)
        if subresource == "status":
            patch = {"status": patch.get("status")}
        elif resource.plural not in WITHOUT_STATUS:
            patch = {key: value for key, value in patch.items() if key != "status"}
        new = merged(old, patch)
        if new == old:
            return old
        if new.get("spec") != old.get("spec") and resource.plural in IMMUTABLE:
            raise Invalid(f"{resource.kind} {name}: spec is immutable", 422)
        deleted = "deletionTimestamp" in old["metadata"]
        added = set(new["metadata"].get("finalizers") or ()) - set(old["metadata"].get("finalizers") or ())
        if deleted and added:
            raise Invalid(
                f"{resource.kind} {name}: no new finalizers can be added to an object that is being deleted", 422
            )
        counted = [key for key in new if key not in ("metadata", "status")]
        if resource.plural in WITHOUT_STATUS:
            counted.append("status")
        if any(new.get(key) != old.get(key) for key in counted):
            new["metadata"] = {**new["metadata"], "generation": old["metadata"]["generation"] + 1}
        identity = _id(resource, name, namespace)
        if deleted and not new["metadata"].get("finalizers"):
            return self._remove(identity, new)
        return {**self._put(identity, new, "MODIFIED")}

    def delete(
        self, resource: Resource, name: str, namespace: str | None, uid: str | None, version: str | None = None
    ) -> None:
        old = self.get(resource, name, namespace)
        if version is not None and old["metadata"]["resourceVersion"] != version:
            raise Conflict(f"{resource.kind} {name}: the object has been modified", 409)
        if uid is not None and old["metadata"]["uid"] != uid:
            raise Conflict(f"{resource.kind} {name}: uid does not match", 409)
        self._delete(_id(resource, name, namespace), old)

    def _delete(self, identity: Id, old: Json) -> None:
        if not old["metadata"].get("finalizers"):
            self._remove(identity, old)
        elif "deletionTimestamp" not in old["metadata"]:
            self._put(identity, {**old, "metadata": {**old["metadata"], "deletionTimestamp": self.now()}}, "MODIFIED")

    def collect_garbage(self) -> None:
        """Delete what had owners and has none left, and strike owners that are gone from what still has others."""
        living = {item["metadata"]["uid"] for item in self.objects.values()}
        for identity, item in [*self.objects.items()]:
            owners = item["metadata"].get("ownerReferences") or []
            left = [owner for owner in owners if owner["uid"] in living]
            if owners and not left:
                self._delete(identity, item)
            elif len(left) < len(owners):
                self._put(identity, {**item, "metadata": {**item["metadata"], "ownerReferences": left}}, "MODIFIED")

    def _check_address(self, body: Json, namespace: str | None) -> None:
        """Cluster API's webhook: the claim of this name, if it exists, must name the same pool."""
        claim = self.objects.get((CLAIMS.plural, namespace or "", body["spec"]["claimRef"]["name"]))
        if claim is not None and claim["spec"]["poolRef"] != body["spec"]["poolRef"]:
            raise Invalid(f"IPAddress {body['metadata']['name']}: poolRef must be the claim's", 422)

    def _put(self, identity: Id, item: Json, event: str) -> Json:
        self.version = next(self._versions)
        item = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        self.objects[identity] = item
        self._tell(identity[0], event, item)
        return item

    def _remove(self, identity: Id, item: Json) -> Json:
        self.version = next(self._versions)
        item = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        self.objects.pop(identity, None)
        self._tell(identity[0], "DELETED", item)
        return item

    def _tell(self, plural: str, event: str, item: Json) -> None:
        self.journal[plural].append((self.version, event, item))
        for listener in self.listeners:
            listener(plural, event, item)


def _id(resource: Resource, name: str, namespace: str | None) -> Id:
    return resource.plural, (namespace or "") if resource.namespaced else "", name
