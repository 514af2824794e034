"""The labels of namespaces, by which zones select who may have networks on demand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from provider.api.ipam import Json, Key
from provider.edge.clock import Clock
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import NotFound
from provider.edge.kube.reflector import Reflector
from provider.edge.kube.resources import NAMESPACES


@dataclass(frozen=True, slots=True)
class Namespace:
    """All that is kept of a namespace."""

    version: str
    labels: Mapping[str, str]


class Namespaces:
    """A copy of all namespaces' labels. `changed(name)` is called when they are new or others."""

    def __init__(self, kube: Kube, clock: Clock, changed: Callable[[str], None]) -> None:
        self._kube = kube
        self._changed = changed
        self._copy = Reflector(kube, clock, NAMESPACES, _read, self._on_change, metadata_only=True)

    async def run(self) -> None:
        """Follow the namespaces until cancelled."""
        await self._copy.run()

    async def labels(self, name: str) -> Mapping[str, str]:
        """A namespace's labels; of one that the copy does not have yet read live, none if it is not there.

        The copy may lag: who is not selected any more may get a network for a moment longer, as if it had come earlier.
        """
        known = self._copy.objects.get(("", name))
        if known is None:
            try:
                known = _read(await self._kube.get(NAMESPACES, name))
            except NotFound:
                return {}
        return known.labels

    def _on_change(self, key: Key, old: Namespace | None, new: Namespace | None) -> None:
        if (old.labels if old is not None else None) != (new.labels if new is not None else None):
            self._changed(key[1])


def _read(raw: Json) -> Namespace:
    metadata = raw["metadata"]
    return Namespace(metadata["resourceVersion"], metadata.get("labels") or {})
