"""Whether the kinds of our names are ours. Somebody else's are never written to, and never replaced."""

from collections.abc import Iterable

from provider.edge.kube.client import Json, Kube
from provider.edge.kube.resources import BLOCKS, CRDS, NETWORKS, ZONES

MARK = ("app.kubernetes.io/name", "pxnet")
"""Label of the CRDs that we ship."""


class ForeignKind(Exception):
    """A kind of one of our names belongs to somebody else; the message says which, and what to do."""


def foreign_kinds(definitions: Iterable[Json]) -> tuple[str, ...]:
    """Names of CRDs that do not carry our label."""
    return tuple(
        sorted(
            definition["metadata"]["name"]
            for definition in definitions
            if (definition["metadata"].get("labels") or {}).get(MARK[0]) != MARK[1]
        )
    )


async def require_own_kinds(kube: Kube) -> None:
    """Raises ForeignKind, or NotFound when one of our kinds is not installed at all."""
    names = [f"{resource.plural}.{resource.group}" for resource in (ZONES, NETWORKS, BLOCKS)]
    foreign = foreign_kinds([await kube.get(CRDS, name) for name in names])
    if foreign:
        raise ForeignKind(
            f"{', '.join(foreign)} was installed by somebody else (no label {MARK[0]}={MARK[1]}); pxnet does not touch "
            "such kinds: remove the other installation, or label the CRDs if they are pxnet's own"
        )
