"""Install this tree's own operator on a bed, from the manifests that are shipped, with flags of the caller's choice."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from e2e.bed.api import Api
from e2e.bed.binaries import binary
from e2e.bed.errors import BedError
from e2e.bed.manifests import kustomize, substitute
from e2e.bed.providers import apply_all, wait_available

Object = dict[str, Any]
CONFIG = Path(__file__).resolve().parents[2] / "config"


def objects(overlay: str = "default") -> list[Object]:
    """The shipped manifests of config/<overlay>, their variables at their defaults. Raises BedError."""
    directory = CONFIG / overlay
    if not (directory / "kustomization.yaml").exists():
        known = sorted(path.parent.name for path in CONFIG.glob("*/kustomization.yaml"))
        raise BedError(f"there is no {directory}/kustomization.yaml; known: {', '.join(known)}")
    items: list[Object] = substitute(kustomize(binary("kubectl"), directory, cached=False), {})
    return items


def adjusted(items: Sequence[Object], flags: Sequence[str], replicas: int | None) -> list[Object]:
    """The manifests with `--name=value` flags put into the Deployments' containers, in place of those of the name."""
    return [_adjust(item, flags, replicas) if item["kind"] == "Deployment" else item for item in items]


def _adjust(deployment: Object, flags: Sequence[str], replicas: int | None) -> Object:
    spec = deployment["spec"]
    pod = spec["template"]["spec"]
    containers = [{**each, "args": merged_flags(each.get("args", ()), flags)} for each in pod["containers"]]
    template = {**spec["template"], "spec": {**pod, "containers": containers}}
    spec = {**spec, "template": template}
    return {**deployment, "spec": spec if replicas is None else {**spec, "replicas": replicas}}


def merged_flags(shipped: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """`wanted` after what of `shipped` it does not replace; --no-x replaces --x and the other way round."""
    names = {_name(flag) for flag in wanted}
    return [*(flag for flag in shipped if _name(flag) not in names), *wanted]


def _name(flag: str) -> str:
    return flag.split("=", 1)[0].removeprefix("--").removeprefix("no-") if flag.startswith("--") else f" {flag}"


def install_pxnet(
    kubeconfig: Path, flags: Sequence[str] = (), *, replicas: int | None = None, overlay: str = "default"
) -> None:
    """Apply it and wait until it is available. The bed needs its kubelet. Raises BedError."""

    async def run() -> None:
        async with Api.from_kubeconfig(kubeconfig) as api:
            items = adjusted(objects(overlay), flags, replicas)
            await apply_all(api, items)
            await wait_available(api, [item for item in items if item["kind"] == "Deployment"])

    asyncio.run(run())
