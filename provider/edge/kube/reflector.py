"""A local copy of all objects of one kind, kept by list and watch.

For the kinds with many objects. It keeps what `read` makes of each and says what changed. After the server forgot our
version (410) it lists again and also tells of the objects that are gone: a copy that only adds would hold their
addresses for ever.
Nothing that decides an allocation may trust this copy: it lags, and after a fail-over it may even step back.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import structlog

from provider.api.ipam import Json, Key
from provider.edge.clock import Clock
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import Gone, KubeError, Unavailable
from provider.edge.kube.resources import Resource

PAGE = 500
"""Objects a list request; pages keep the peak memory of a start flat."""

LONGEST_DELAY = 5.0
"""Seconds between looks at an API server that is away: claims wait for as long after its return."""

SHORTEST_WATCH = 1.0
"""Seconds: a watch that ends sooner and brought nothing is a failure; opened again at once it would be a busy loop."""

log = structlog.get_logger(__name__)


class Versioned(Protocol):
    @property
    def version(self) -> str: ...


T = TypeVar("T", bound=Versioned)
OnChange = Callable[[Key, T | None, T | None], None]


class Reflector(Generic[T]):
    """Objects by (namespace, name). `on_change(key, old, new)` is called for each change, before any await."""

    def __init__(
        self,
        kube: Kube,
        clock: Clock,
        resource: Resource,
        read: Callable[[Json], T],
        on_change: OnChange[T],
        *,
        namespace: str | None = None,
        metadata_only: bool = False,
    ) -> None:
        self._kube = kube
        self._clock = clock
        self.resource = resource
        self._read = read
        self._on_change = on_change
        self._namespace = namespace
        self._metadata_only = metadata_only
        self.objects: dict[Key, T] = {}
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """List and watch until cancelled."""
        version = ""
        failures = 0
        while True:
            try:
                if not version:
                    version = await self._list()
                    self.synced.set()
                begun, seen = self._clock.monotonic(), version
                async for event in self._kube.watch(
                    self.resource, version, self._namespace, metadata_only=self._metadata_only
                ):
                    failures = 0
                    version = self._handle(event)
                if version == seen and self._clock.monotonic() - begun < SHORTEST_WATCH:
                    raise Unavailable("the server ended the watch at once, with nothing in it")
            except Gone:
                version = ""
            except KubeError as error:
                failures += 1
                log.warning("watch failed", kind=self.resource.kind, error=str(error), failures=failures)
                await self._clock.sleep(min(0.2 * 2.0 ** min(failures, 10), LONGEST_DELAY))
                if error.status in (404, 403):
                    version = ""

    def note(self, key: Key, value: T) -> None:
        """Take over the result of our own write at once, so that nothing is decided on what we know to be old.

        Silent: the writer knows. The watch brings the same object later and finds nothing new.
        """
        if _newer(value.version, self.objects.get(key)):
            self._store(key, value, tell=False)

    async def _list(self) -> str:
        token: str | None = None
        found: set[Key] = set()
        while True:
            page = await self._kube.list_page(
                self.resource, self._namespace, limit=PAGE, token=token, metadata_only=self._metadata_only
            )
            for raw in page["items"] or ():
                # List items come without kind and apiVersion.
                raw.setdefault("kind", self.resource.kind)
                raw.setdefault("apiVersion", self.resource.api_version)
                key = _key(raw)
                found.add(key)
                value = self._read(raw)
                if _newer(value.version, self.objects.get(key)):
                    self._store(key, value)
            token = page["metadata"].get("continue")
            if not token:
                break
        for key in [key for key in self.objects if key not in found]:
            self._drop(key)
        version: str = page["metadata"]["resourceVersion"]
        return version

    def _handle(self, event: Json) -> str:
        raw = event["object"]
        version: str = raw["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return version
        key = _key(raw)
        if event["type"] == "DELETED":
            # The write that took the last finalizer answers with the very version of the deletion, and we noted it.
            known = self.objects.get(key)
            if known is not None and (known.version == version or _newer(version, known)):
                self._drop(key)
            return version
        value = self._read(raw)
        if _newer(value.version, self.objects.get(key)):
            self._store(key, value)
        return version

    def _store(self, key: Key, value: T, *, tell: bool = True) -> None:
        old = self.objects.get(key)
        self.objects[key] = value
        if tell:
            self._on_change(key, old, value)

    def _drop(self, key: Key) -> None:
        old = self.objects.pop(key, None)
        if old is not None:
            self._on_change(key, old, None)


def _key(raw: Json) -> Key:
    meta = raw["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _newer(version: str, known: Versioned | None) -> bool:
    """Whether an object is newer than what we have: versions of one kind are ordered numbers."""
    if known is None:
        return True
    try:
        return int(version) > int(known.version)
    except ValueError:
        return version != known.version
