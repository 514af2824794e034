"""The bed's only Node: registered once, kept alive by its Lease. There is no scheduler: every pod is bound to it."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import aiohttp

from e2e.bed.api import Api, ApiError
from e2e.bed.kubelet.containers import timestamp

Object = dict[str, Any]
NAME = "bed-node"
BEAT_SECONDS = 10.0


def node(address: str, now: str) -> Object:
    """The Node object with its status."""
    conditions = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
    size = {"cpu": "64", "memory": "256Gi", "pods": "240"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NAME, "labels": {"kubernetes.io/hostname": NAME, "kubernetes.io/os": "linux"}},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": NAME}],
            "capacity": size,
            "allocatable": size,
            "conditions": [
                {
                    "type": kind,
                    "status": truth,
                    "reason": "ProcessKubelet",
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": now,
                }
                for kind, truth in conditions.items()
            ],
        },
    }


async def register(api: Api, address: str) -> None:
    """Create the Node, or bring its status up to date."""
    wanted = node(address, timestamp())
    try:
        await api.call("POST", "/api/v1/nodes", wanted)
    except ApiError as error:
        if error.code != 409:
            raise
    await api.merge(f"/api/v1/nodes/{NAME}/status", {"status": wanted["status"]})


async def beat(api: Api) -> None:
    """Renew the node's Lease for ever: without it kube-controller-manager evicts all pods after a minute."""
    while True:
        lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NAME, "namespace": "kube-node-lease"},
            "spec": {
                "holderIdentity": NAME,
                "leaseDurationSeconds": 40,
                "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            },
        }
        try:
            await api.apply(lease)
            await asyncio.sleep(BEAT_SECONDS)
        except (ApiError, aiohttp.ClientError, TimeoutError):
            # The namespace comes a moment after the API server; the server itself restarts in some stories.
            await asyncio.sleep(0.5)


async def bind(api: Api, pod: Object) -> None:
    """Give an unscheduled pod to the node. A pod that is gone or bound meanwhile is fine."""
    meta = pod["metadata"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": meta["name"], "uid": meta["uid"]},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NAME},
    }
    try:
        await api.call("POST", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding", binding)
    except ApiError as error:
        if error.code not in (404, 409):
            raise
