"""Where the demo plays: a cluster with Cluster API, capmox and pxnet, and how to talk to it."""

import asyncio
import os
import ssl
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.bed.api import Api
from e2e.pve.client import SimulatorClient
from provider.edge.kube.auth import find_access

KUBECTL_SECONDS = 70.0


class DemoError(Exception):
    """The demo cannot go on. One line, for the person who runs it."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A cluster that is ready for the demo.

    kubeconfig  as KUBECONFIG has it: one path, or several with colons
    logs        directory or file to look into when something fails; None where they are the cluster's own
    pve         the simulated Proxmox VE, None for a real one
    node        Proxmox node with the template, of id `template`
    bridge      bridge on the Proxmox nodes that the zone gives out
    """

    kubeconfig: str
    kubectl: Path
    logs: Path | None
    pve: SimulatorClient | None
    node: str
    template: int
    bridge: str

    async def api(self) -> Api:
        """A client with the kubeconfig's rights, to be used as `async with`."""
        access = find_access(self.kubeconfig)
        authorization = (await access.headers()).get("Authorization", "")
        # Over plain HTTP (kubectl proxy) there is no context, and none is looked at.
        tls = access.ssl if isinstance(access.ssl, ssl.SSLContext) else ssl.create_default_context()
        return Api(access.server, tls, authorization.removeprefix("Bearer ") or None)

    async def run(self, *arguments: str) -> str:
        """kubectl's output. Raises DemoError with its last line."""
        return await asyncio.to_thread(kubectl, self.kubectl, self.kubeconfig, arguments)

    async def try_to_create(self, manifest: str) -> tuple[bool, str]:
        """Create a manifest, as a dry run: whether the API server takes it, and what kubectl says."""
        arguments = ("create", "--dry-run=server", "-f", "-")
        done = await asyncio.to_thread(call, self.kubectl, self.kubeconfig, arguments, manifest)
        return done.returncode == 0, done.stdout or done.stderr


def kubectl(program: Path, kubeconfig: str, arguments: Sequence[str]) -> str:
    """Run kubectl and give its standard output. Raises DemoError with the last line of its complaint."""
    done = call(program, kubeconfig, arguments)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no output"]
        raise DemoError(f"`kubectl {' '.join(arguments)}` failed: {said[-1]}")
    return done.stdout


def call(
    program: Path, kubeconfig: str, arguments: Sequence[str], given: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run kubectl with a standard input. Raises DemoError only if it does not end."""
    # KUBECONFIG, not --kubeconfig: the latter takes one path alone.
    try:
        return subprocess.run(
            [str(program), *arguments],
            env={**os.environ, "KUBECONFIG": kubeconfig},
            input=given,
            capture_output=True,
            text=True,
            timeout=KUBECTL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DemoError(f"`kubectl {' '.join(arguments)}` does not end") from None
