"""What the API server serves: which versions of the peers' kinds, and whether ours are there."""

from provider.api.ipam import IPAM_GROUP
from provider.edge.kube.client import Client, Json
from provider.edge.kube.errors import NotFound
from provider.edge.kube.resources import (
    BLOCKS,
    CAPI_GROUP,
    CLAIMS,
    CLUSTERS,
    GLOBAL_POOLS,
    NETWORKS,
    POOLS,
    ZONES,
    Resource,
)

KNOWN_VERSIONS = ("v1beta2", "v1beta1")
"""Of Cluster API's kinds, best first."""


class MissingKind(Exception):
    """A kind that pxnet cannot work without is not served; the message says what to install."""


async def served_version(kube: Client, group: str, plural: str) -> str | None:
    """The best version of a Cluster API kind that is served, None if it is not."""
    for version in KNOWN_VERSIONS:
        if plural in await _plurals(kube, group, version):
            return version
    return None


async def find_versions(kube: Client) -> tuple[str, str]:
    """The versions of IPAM and of Cluster that are served.

    Raises:
        MissingKind: one of the kinds that pxnet reads or writes is not there.
    """
    ipam = await served_version(kube, IPAM_GROUP, CLAIMS.plural)
    cluster = await served_version(kube, CAPI_GROUP, CLUSTERS.plural)
    if ipam is None or cluster is None:
        missing = CLAIMS if ipam is None else CLUSTERS
        raise MissingKind(
            f"{missing.kind} ({missing.group}) is not served at {' or '.join(KNOWN_VERSIONS)}: install Cluster API "
            "first (clusterctl init)"
        )
    for resource in (POOLS, GLOBAL_POOLS):
        await _require(kube, resource, "install pxnet's pool CRDs (crds/pools) or those of the in-cluster provider")
    for resource in (ZONES, NETWORKS, BLOCKS):
        await _require(kube, resource, "install pxnet's CRDs (crds)")
    return ipam, cluster


async def _require(kube: Client, resource: Resource, remedy: str) -> None:
    if resource.plural not in await _plurals(kube, resource.group, resource.version):
        raise MissingKind(f"{resource.kind} ({resource.api_version}) is not served: {remedy}")


async def _plurals(kube: Client, group: str, version: str) -> set[str]:
    try:
        answer: Json = await kube.request("GET", f"/apis/{group}/{version}")
    except NotFound:
        return set()
    return {item["name"] for item in answer["resources"]}
