"""The bare writer: the writes of a claim and nothing else. What no provider that makes these writes can beat.

It is a process of its own as a provider is, with the provider's client, bodies and number of requests under way. It
decides nothing, watches nothing and remembers no more than the next write needs: each claim comes with a line of its
standard input, as the API server returned it, and addresses are counted up.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from e2e.bench.load import FIRST_ADDRESS
from provider.api.ipam import (
    RELEASE_FINALIZER,
    Claim,
    Json,
    Ready,
    address_body,
    claim_status,
    owner_references,
    read_claim,
)
from provider.api.pool import Pool, read_pool
from provider.api.times import format_time
from provider.core.addresses import Family, format_address
from provider.edge.kube.auth import find_access
from provider.edge.kube.client import Client
from provider.edge.kube.documents import read_whole
from provider.edge.kube.resources import ADDRESSES, CLAIMS


class Writer:
    """Writes for the claims of one pool."""

    def __init__(self, kube: Client, pool: Pool) -> None:
        self._kube = kube
        self._pool = pool
        self._next = FIRST_ADDRESS
        self._uids: dict[str, str] = {}

    async def answer(self, claim: Claim) -> None:
        """Finalizer, IPAddress, status."""
        address = format_address(Family.IPv4, self._next)
        self._next += 1
        finalizers = {"finalizers": [RELEASE_FINALIZER], "resourceVersion": claim.version}
        await self._patch_claim(claim, {"metadata": finalizers})
        owners = owner_references(claim, CLAIMS.api_version, self._pool.uid, self._pool.api_version)
        body = address_body(claim, owners, ADDRESSES.version, address, self._pool.prefix, self._pool.gateway)
        made = await self._kube.create(ADDRESSES, body, claim.namespace)
        self._uids[claim.name] = made["metadata"]["uid"]
        ready = Ready("True", "AddressAllocated", f"{address} from {self._pool}", format_time(datetime.now(UTC)))
        status = claim_status(CLAIMS.version, ready, claim.generation, claim.name)
        await self._patch_claim(claim, status, "status")

    async def release(self, claim: Claim) -> None:
        """Finalizer off the IPAddress, its deletion, finalizer off the claim."""
        uid = self._uids.pop(claim.name)
        loose: Json = {"metadata": {"finalizers": [], "uid": uid}}
        await self._kube.patch(ADDRESSES, claim.name, loose, claim.namespace)
        await self._kube.delete(ADDRESSES, claim.name, claim.namespace, uid=uid)
        await self._patch_claim(claim, {"metadata": {"finalizers": [], "resourceVersion": claim.version}})

    async def _patch_claim(self, claim: Claim, patch: Json, subresource: str | None = None) -> None:
        await self._kube.patch(CLAIMS, claim.name, patch, claim.namespace, subresource=subresource, metadata_only=True)


async def _run(kubeconfig: str, pool: Pool, workers: int) -> None:
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    async def work(writer: Writer) -> None:
        while True:
            order = read_whole(await queue.get())
            claim = read_claim(order["claim"])
            await (writer.answer(claim) if order["do"] == "answer" else writer.release(claim))

    lines = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with Client(find_access(kubeconfig)) as kube, asyncio.TaskGroup() as group:
        writer = Writer(kube, pool)
        tasks = [group.create_task(work(writer)) for _ in range(workers)]
        async for line in lines:
            queue.put_nowait(line)
        for task in tasks:
            task.cancel()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.bare")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--pool", type=Path, required=True, help="file with the pool, as the API server returned it")
    parser.add_argument("--workers", type=int, required=True)
    options = parser.parse_args(arguments)
    asyncio.run(_run(options.kubeconfig, read_pool(read_whole(options.pool.read_bytes())), options.workers))


if __name__ == "__main__":
    main()
