"""The kinds that the figures need on a control plane with nothing else: ours, Cluster API's, the in-cluster provider's.

Their webhooks stay out for everybody alike: what is compared is the work of answering claims.
"""

import asyncio
import time
from pathlib import Path

import yaml

from e2e.bed.api import Api, ApiError, Object
from e2e.bed.binaries import module_dir
from e2e.bed.manifests import files, without_conversion
from e2e.bed.providers import CAPMOX, IN_CLUSTER, apply_all, objects_of

CRDS = Path(__file__).resolve().parents[2] / "crds"
LISTED_SECONDS = 20.0
CLUSTER_API = (
    "cluster.x-k8s.io_clusters.yaml",
    "ipam.cluster.x-k8s.io_ipaddressclaims.yaml",
    "ipam.cluster.x-k8s.io_ipaddresses.yaml",
)


async def install(kubeconfig: Path, *, capmox: bool = False) -> None:
    """Apply the definitions, with capmox's own where machines are made, and wait until they are served."""
    bases = module_dir("capi-core") / "core" / "config" / "crd" / "bases"
    others: list[Object] = [item for item in objects_of(IN_CLUSTER) if _is_definition(item)]
    if capmox:
        others += [item for item in objects_of(CAPMOX) if _is_definition(item)]
    definitions = [*files(bases / name for name in CLUSTER_API), *map(without_conversion, others), *_own()]
    async with Api.from_kubeconfig(kubeconfig) as api:
        await apply_all(api, definitions)
        for crd in definitions:
            await _listed(api, crd)


async def _listed(api: Api, crd: Object) -> None:
    """A kind that is served already may still answer "storage is (re)initializing" for a moment."""
    spec = crd["spec"]
    deadline = time.monotonic() + LISTED_SECONDS
    for version in spec["versions"]:
        while version["served"]:
            try:
                await api.get(f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}", limit="1")
                break
            except ApiError:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)


def _is_definition(item: Object) -> bool:
    return bool(item["kind"] == "CustomResourceDefinition")


def _own() -> list[Object]:
    return [yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*.yaml"))]
