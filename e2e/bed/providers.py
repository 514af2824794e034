"""Install Cluster API, its kubeadm providers, capmox, the in-cluster IPAM provider, each from its own manifests.

Everything is applied at once by server-side apply and then waited for: Deployments available, webhooks answering.
Certificates come from the cert-manager stand-in, pods from the process kubelet; both must run.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from e2e.bed.api import Api, ApiError
from e2e.bed.binaries import binary, module_dir
from e2e.bed.errors import BedError
from e2e.bed.manifests import kustomize, substitute, without_conversion

Object = dict[str, Any]
POLL_SECONDS = 0.2
INSTALL_SECONDS = 120.0
POOL_KINDS = ("InClusterIPPool", "GlobalInClusterIPPool")
FEATURES = {"CLUSTER_TOPOLOGY": "true", "EXP_RUNTIME_SDK": "true", "ClusterTopology": "true"}


@dataclass(frozen=True, slots=True)
class Provider:
    """`tool` names its program in the bed, `base` the kustomization in its module, `probe` is for its webhook."""

    tool: str
    base: str = "config/default"
    probe: Object = field(default_factory=dict)


def _probe(version: str, kind: str, spec: Object) -> Object:
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "webhook-probe", "namespace": "default"},
        "spec": spec,
    }


CLUSTER_API = (
    Provider(
        "capi-core",
        "core/config/default",
        _probe("cluster.x-k8s.io/v1beta2", "Cluster", {"clusterNetwork": {"serviceDomain": "cluster.local"}}),
    ),
    Provider(
        "capi-kubeadm-bootstrap",
        "bootstrap/kubeadm/config/default",
        _probe("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfig", {"format": "cloud-config"}),
    ),
    Provider(
        "capi-kubeadm-control-plane",
        "controlplane/kubeadm/config/default",
        _probe(
            "controlplane.cluster.x-k8s.io/v1beta2",
            "KubeadmControlPlaneTemplate",
            {"template": {"spec": {"kubeadmConfigSpec": {"format": "cloud-config"}}}},
        ),
    ),
)
CAPMOX = Provider(
    "capmox",
    probe=_probe(
        "infrastructure.cluster.x-k8s.io/v1alpha2",
        "ProxmoxMachine",
        {"sourceNode": "pve1", "templateID": 100, "network": {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}},
    ),
)
IN_CLUSTER = Provider(
    "ipam-in-cluster",
    probe=_probe(
        "ipam.cluster.x-k8s.io/v1alpha2",
        "InClusterIPPool",
        {"addresses": ["10.255.255.10-10.255.255.20"], "prefix": 24, "gateway": "10.255.255.1"},
    ),
)


def objects_of(provider: Provider) -> list[Object]:
    """The provider's manifests with their variables still in them."""
    return kustomize(binary("kubectl"), module_dir(provider.tool) / provider.base)


def pool_crds() -> list[Object]:
    """The in-cluster provider's pool kinds without it: capmox reads and writes them whoever answers the claims."""
    definitions = (item for item in objects_of(IN_CLUSTER) if item["kind"] == "CustomResourceDefinition")
    return [without_conversion(crd) for crd in definitions if crd["spec"]["names"]["kind"] in POOL_KINDS]


async def install(api: Api, providers: Sequence[Provider], variables: Mapping[str, str]) -> None:
    """Apply all of them at once and wait until each answers. Raises BedError naming what did not come."""
    filled = [substitute(item, {**FEATURES, **variables}) for each in providers for item in objects_of(each)]
    await apply_all(api, filled)
    await wait_available(api, [item for item in filled if item["kind"] == "Deployment"])
    await asyncio.gather(*(_webhook_answers(api, each.probe) for each in providers))


async def apply_all(api: Api, items: Iterable[Object]) -> None:
    """Apply in three waves, each in parallel: namespaces, definitions (until they are served), the rest."""
    waves: tuple[list[Object], list[Object], list[Object]] = ([], [], [])
    for item in items:
        wave = {"Namespace": 0, "CustomResourceDefinition": 1}.get(item["kind"], 2)
        waves[wave].append(item)
    for wave_items in waves:
        async with asyncio.TaskGroup() as group:
            for item in wave_items:
                group.create_task(_apply_soon(api, item))
        await _until(partial(_all_served, api, wave_items), "all definitions are served")


async def _all_served(api: Api, items: Iterable[Object]) -> bool:
    """A controller that starts before its kinds are served gives up, or waits ten seconds."""
    for item in items:
        if item["kind"] == "CustomResourceDefinition":
            spec = item["spec"]
            for version in spec["versions"]:
                name = f"{spec['group']}/{version['name']}"
                if version["served"] and not await api.serves(name, spec["names"]["kind"]):
                    return False
    return True


async def _apply_soon(api: Api, item: Object) -> None:
    """A kind just defined is served a moment later, and its webhook later still."""

    async def applied() -> bool:
        try:
            await api.apply(item)
        except ApiError as error:
            if error.code != 404 and "failed calling webhook" not in str(error):
                raise BedError(f"{item['kind']} {item['metadata']['name']}: {error}") from error
            return False
        return True

    await _until(applied, f"{item['kind']} {item['metadata']['name']} can be applied")


async def wait_available(api: Api, deployments: Iterable[Object]) -> None:
    """Until every replica of these Deployments is ready."""

    async def available(item: Object) -> bool:
        status = (await api.get(await api.path_of(item))).get("status", {})
        wanted = item["spec"].get("replicas", 1)
        return bool(status.get("availableReplicas", 0) >= wanted and status.get("updatedReplicas", 0) >= wanted)

    async with asyncio.TaskGroup() as group:
        for item in deployments:
            what = f"Deployment {item['metadata']['namespace']}/{item['metadata']['name']} is available"
            group.create_task(_until(partial(available, item), what))


async def _webhook_answers(api: Api, probe: Object) -> None:
    """A dry run of an object that the provider's webhooks judge: whatever they say, they have answered."""

    async def answers() -> bool:
        try:
            path = (await api.path_of(probe)).rsplit("/", 1)[0]
            await api.call("POST", path, probe, dryRun="All")
        except ApiError as error:
            return "failed calling webhook" not in str(error) and "conversion webhook" not in str(error)
        return True

    await _until(answers, f"the webhook of {probe['kind']} answers")


async def _until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    deadline = time.monotonic() + INSTALL_SECONDS
    while not await condition():
        if time.monotonic() > deadline:
            raise BedError(f"not after {INSTALL_SECONDS:.0f} s: {what}")
        await asyncio.sleep(POLL_SECONDS)


def install_all(kubeconfig: Path, providers: Sequence[Provider], variables: Mapping[str, str]) -> None:
    """`install` for callers without an event loop; adds the pool kinds when the in-cluster provider is left out."""

    async def run() -> None:
        async with Api.from_kubeconfig(kubeconfig) as api:
            if IN_CLUSTER not in providers:
                await apply_all(api, pool_crds())
            await install(api, providers, variables)

    asyncio.run(run())
