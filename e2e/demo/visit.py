"""What the demo may touch in a cluster that is not its own: only what carries its label. The rest is never removed."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.demo import cast
from e2e.demo.ground import DemoError, Ground

OBJECTS = (*(f"namespace/{name}" for name in cast.TENANTS), f"pxzone/{cast.ZONE}")
SECONDS = "--timeout=60s"


def strangers(items: list[cast.Object]) -> list[str]:
    """Those that the demo did not make, as kind/name."""
    return [
        f"{item['kind']} {item['metadata']['name']}"
        for item in items
        if cast.MARK not in item["metadata"].get("labels", {})
    ]


async def enter(ground: Ground) -> None:
    """Make sure that what the demo is about to make, and to remove at its end, is not somebody's.

    What an earlier demo left goes. Raises DemoError naming what is in the way.
    """
    answer = await ground.run("get", *OBJECTS, "--ignore-not-found", "-o", "json")
    found = json.loads(answer) if answer else {"items": []}
    items = found.get("items", [found])
    others = strangers(items)
    if others:
        raise DemoError(
            f"{' and '.join(others)} exist already in this cluster and would be the demo's: unset KUBECONFIG for a "
            "cluster of the demo's own"
        )
    if items:
        await leave(ground)


async def leave(ground: Ground) -> None:
    """Remove the demo's objects; pxnet, capmox and Cluster API stay."""
    for namespace in cast.TENANTS:
        # Before the namespace: capmox needs the cluster's objects to take its VMs down.
        await ground.run("delete", "clusters.cluster.x-k8s.io", "-n", namespace, "--all", SECONDS)
    await ground.run("delete", *OBJECTS, "--ignore-not-found", SECONDS)


@contextmanager
def visiting(ground: Ground, *, stays: bool) -> Iterator[None]:
    """Around the story in a cluster that is not the demo's: `stays` leaves its objects, but never after a failure."""
    asyncio.run(enter(ground))
    try:
        yield
    except BaseException:
        asyncio.run(leave(ground))
        raise
    if not stays:
        asyncio.run(leave(ground))
