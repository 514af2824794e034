"""Service names without a DNS server: one hosts file, seen by every container, kept in step with the EndpointSlices.

A name leads to the address of one ready pod (the first by address). Ports are the pod's own: there is no service proxy.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from e2e.bed.api import Api

Object = dict[str, Any]
LOCAL = "127.0.0.1 localhost\n::1 localhost\n"


def render(slices: Iterable[Object]) -> str:
    """The file's text: `<address> <svc>.<ns>.svc <svc>.<ns>.svc.cluster.local <svc>.<ns>` per service."""
    addresses: dict[str, list[str]] = {}
    for entry in slices:
        service = entry["metadata"].get("labels", {}).get("kubernetes.io/service-name")
        if service is None:
            continue
        name = f"{service}.{entry['metadata']['namespace']}"
        for endpoint in entry.get("endpoints") or ():
            if endpoint.get("conditions", {}).get("ready", True):
                addresses.setdefault(name, []).extend(endpoint["addresses"])
    lines = [f"{min(found)} {name}.svc {name}.svc.cluster.local {name}\n" for name, found in sorted(addresses.items())]
    return LOCAL + "".join(lines)


async def follow(api: Api, path: Path) -> None:
    """Keep the file current, for ever."""
    slices: dict[str, Object] = {}
    async for kind, item in api.follow("/apis/discovery.k8s.io/v1/endpointslices"):
        if kind == "DELETED":
            slices.pop(item["metadata"]["uid"], None)
        elif kind != "SYNCED":
            slices[item["metadata"]["uid"]] = item
        text = render(slices.values())
        if text != path.read_text():
            # In place: a renamed file would not reach the containers that have it bind-mounted.
            path.write_text(text)
