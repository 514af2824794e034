"""Stands in for cert-manager, whose controllers are not built here: its CRDs are the real ones, its work is done below.

For each Certificate it writes the Secret (tls.crt, tls.key, ca.crt), whatever the issuer; where the annotation
cert-manager.io/inject-ca-from names a Certificate it fills caBundle, in webhook configurations and in CRDs with a
conversion webhook. Nothing is renewed: a bed lives for less than a week. Run as
`python -m e2e.bed.cert_manager_stand_in --kubeconfig FILE`.
"""

import argparse
import asyncio
import base64
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

from e2e.bed.api import Api, ApiError
from e2e.bed.certificates import Authority
from e2e.bed.errors import BuildError
from e2e.bed.manifests import files
from e2e.bed.tools import TOOLS_DIRECTORY

Object = dict[str, Any]
MODULE = "github.com/cert-manager/cert-manager"
CRDS = ("cert-manager.io_certificates.yaml", "cert-manager.io_issuers.yaml", "cert-manager.io_clusterissuers.yaml")
INJECT = "cert-manager.io/inject-ca-from"
CERTIFICATES = "/apis/cert-manager.io/v1/certificates"
TARGETS = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
)
RETRY_SECONDS = 0.3


def crds() -> list[Object]:
    """cert-manager's own CRDs, from its Go module. Raises BuildError when the module cannot be had."""
    home = TOOLS_DIRECTORY / "cert-manager"
    for arguments in (["mod", "download", MODULE], ["list", "-m", "-f", "{{.Dir}}", MODULE]):
        done = subprocess.run(["go", *arguments], cwd=home, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(f"`go {' '.join(arguments)}` in {home} failed:\n{done.stderr.strip()}")
    return files(Path(done.stdout.strip()) / "deploy/crds" / name for name in CRDS)


def injections(target: Object, bundle: str) -> list[Object]:
    """The JSON patch that puts `bundle` (base64) wherever the object's webhooks lack it; empty when none does."""
    places: list[tuple[str, Object]] = [
        (f"/webhooks/{number}/clientConfig", webhook["clientConfig"])
        for number, webhook in enumerate(target.get("webhooks", ()))
    ]
    conversion = target.get("spec", {}).get("conversion", {}).get("webhook")
    if conversion:
        places.append(("/spec/conversion/webhook/clientConfig", conversion["clientConfig"]))
    return [
        {"op": "add", "path": f"{path}/caBundle", "value": bundle}
        for path, config in places
        if config.get("caBundle") != bundle
    ]


class CertManagerStandIn:
    """Runs until cancelled."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._authority = Authority("cert-manager stand-in")
        self._bundles: dict[str, str] = {}  # "namespace/name" of a Certificate -> its CA, base64
        self._waiting: dict[str, tuple[str, Object]] = {}  # path -> (certificate, object) whose CA is not there yet

    async def run(self) -> None:
        for crd in crds():
            await self._api.apply(crd)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_certificates())
            for path in TARGETS:
                group.create_task(self._follow_targets(path))

    async def _follow_certificates(self) -> None:
        async for kind, item in self._api.follow(CERTIFICATES):
            if kind in ("ADDED", "MODIFIED"):
                await self._persist(self._issue, item)

    async def _follow_targets(self, root: str) -> None:
        async for kind, item in self._api.follow(root):
            certificate = item.get("metadata", {}).get("annotations", {}).get(INJECT)
            if certificate is None:
                continue
            path = f"{root}/{item['metadata']['name']}"
            if kind == "DELETED":
                self._waiting.pop(path, None)
            elif certificate in self._bundles:
                await self._persist(self._inject, path, item, self._bundles[certificate])
            else:
                self._waiting[path] = (certificate, item)

    async def _issue(self, certificate: Object) -> None:
        meta, spec = certificate["metadata"], certificate["spec"]
        own = f"{meta['namespace']}/{meta['name']}"
        path = f"/api/v1/namespaces/{meta['namespace']}/secrets/{spec['secretName']}"
        secret = await self._api.find(path)
        if secret is None:
            names = [*spec.get("dnsNames", ()), *spec.get("ipAddresses", ())] or [spec.get("commonName", meta["name"])]
            pair = self._authority.server(names)
            content = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": self._authority.certificate}
            secret = await self._api.apply(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "type": "kubernetes.io/tls",
                    "metadata": {"name": spec["secretName"], "namespace": meta["namespace"]},
                    "data": {key: base64.b64encode(text).decode() for key, text in content.items()},
                }
            )
        if own not in self._bundles:
            self._bundles[own] = secret["data"]["ca.crt"]
            ready = {"type": "Ready", "status": "True", "reason": "Ready", "message": "issued by the stand-in"}
            status = {"conditions": [{**ready, "lastTransitionTime": meta["creationTimestamp"]}]}
            own_path = f"/apis/cert-manager.io/v1/namespaces/{meta['namespace']}/certificates/{meta['name']}/status"
            await self._api.merge(own_path, {"status": status})
        for target, (wanted, item) in list(self._waiting.items()):
            if wanted == own:
                await self._inject(target, item, self._bundles[own])
                self._waiting.pop(target, None)

    async def _inject(self, path: str, item: Object, bundle: str) -> None:
        if patch := injections(item, bundle):
            await self._api.call("PATCH", path, patch, "application/json-patch+json")

    async def _persist(self, action: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """Do it until it is done; an object that is gone meanwhile needs nothing."""
        while True:
            try:
                await action(*arguments)
                return
            except ApiError as error:
                if error.code == 404:
                    return
            except (aiohttp.ClientError, TimeoutError):
                pass  # the API server restarts in some stories
            await asyncio.sleep(RETRY_SECONDS)


def command_line(kubeconfig: Path) -> list[str]:
    """How to run it as a process of its own, from the tree's top directory."""
    return [sys.executable, "-m", "e2e.bed.cert_manager_stand_in", "--kubeconfig", str(kubeconfig)]


async def _run(kubeconfig: Path) -> None:
    async with Api.from_kubeconfig(kubeconfig) as api:
        await CertManagerStandIn(api).run()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m e2e.bed.cert_manager_stand_in")
    parser.add_argument("--kubeconfig", type=Path, required=True)
    asyncio.run(_run(parser.parse_args().kubeconfig))


if __name__ == "__main__":
    main()
