"""A storm of claims, and the judgement over what became of them."""

import ipaddress
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import urllib3

from tests.api.tenant import PoolRef, Tenant
from tests.api.witness import ADDRESS, BLOCK, CLAIM, Json, Refused, until

THREADS = 8
PATIENCE = 60.0
"""Seconds for which a request is tried again while the API server is away."""


def create(tenant: Tenant, pool: PoolRef, names: Iterable[str]) -> None:
    """Create claims from several threads, through any trouble of the API server."""
    with ThreadPoolExecutor(THREADS) as threads:
        for done in [threads.submit(_insist, tenant, pool, name) for name in names]:
            done.result()


def delete(tenant: Tenant, names: Iterable[str]) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        for done in [threads.submit(tenant.delete, CLAIM, name) for name in names]:
            done.result()


def wait_until_answered(tenant: Tenant, names: Sequence[str], stall: float = 30.0) -> None:
    """Until exactly these claims are left, each with its address. Fails when for `stall` seconds nothing happens."""
    wanted = set(names)
    least, since = len(wanted) + 1, time.monotonic()
    while True:
        claims = tenant.witness.list(CLAIM, tenant.namespace)
        answered = {claim["metadata"]["name"] for claim in claims if claim.get("status", {}).get("addressRef")}
        rest = (wanted - answered) | ({claim["metadata"]["name"] for claim in claims} - wanted)
        if not rest:
            return
        if len(rest) < least:
            least, since = len(rest), time.monotonic()
        assert time.monotonic() - since < stall, f"{len(rest)} claims stay as they are, such as {min(rest)}"
        time.sleep(0.3)


def judge(tenant: Tenant, pool: PoolRef, names: Sequence[str]) -> None:
    """All are answered, no address is given twice, and the blocks say exactly what the objects say."""
    wanted = set(names)
    claims = {claim["metadata"]["name"]: claim for claim in tenant.witness.list(CLAIM, tenant.namespace)}
    until(lambda: len(tenant.witness.list(ADDRESS, tenant.namespace)) == len(wanted), "one IPAddress for each claim")
    addresses = {item["metadata"]["name"]: item for item in tenant.witness.list(ADDRESS, tenant.namespace)}
    assert claims.keys() == addresses.keys() == wanted
    given = {name: item["spec"]["address"] for name, item in addresses.items()}
    assert len(set(given.values())) == len(given), "an address was given twice"
    for name, item in addresses.items():
        assert item["metadata"]["ownerReferences"][0]["uid"] == claims[name]["metadata"]["uid"]

    expected = {given[name]: (claims[name]["metadata"]["uid"], "Allocated") for name in wanted}
    # What a crash left over is cleared a moment later.
    until(lambda: entries(tenant, pool) == expected, "the blocks agree with the objects", 20.0)
    for block in tenant.blocks(pool):
        assert block["status"]["allocated"] == len(block["spec"].get("entries", {}))


def entries(tenant: Tenant, pool: PoolRef) -> dict[str, tuple[str, str]]:
    """address -> uid and state, of all blocks of the pool's book."""
    found: dict[str, tuple[str, str]] = {}
    for block in _blocks(tenant, pool):
        first = ipaddress.ip_address(block["spec"]["first"])
        for offset, entry in block["spec"].get("entries", {}).items():
            found[str(first + int(offset))] = (entry.get("uid", ""), entry["state"])
    return found


def _blocks(tenant: Tenant, pool: PoolRef) -> list[Json]:
    return [block for block in tenant.witness.list(BLOCK) if block["spec"]["book"] == pool.book]


def _insist(tenant: Tenant, pool: PoolRef, name: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            tenant.claim(name, pool)
            return
        except Refused as error:
            # A create whose answer was lost happened all the same.
            if error.code == 409:
                return
            if error.code < 500 and error.code != 429:
                raise
        except urllib3.exceptions.HTTPError:
            pass  # no answer: the server is away
        assert time.monotonic() < deadline, f"the API server took no claim for {PATIENCE:g} s"
        time.sleep(0.2)
