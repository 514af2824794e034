"""Beside the in-cluster provider: our networks' claims are ours from the first moment, all others stay its own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.bed.bed import Bed
from e2e.bed.parts import Parts
from e2e.bed.pxnet import install_pxnet
from e2e.stories.machines import apply, namespace, wait_gone, wait_provisioned
from e2e.stories.networks import addresses, wait_ready, zone
from e2e.stories.nics import check_cluster
from e2e.stories.objects import everything
from e2e.stories.shared_network import BRIDGE, of_cluster, snapshot, variant, wait_cluster_gone
from e2e.stories.waiting import until

Object = dict[str, Any]
IT = variant("v1alpha2", "v4", 220)
POOLS = "inclusterippools.ipam.cluster.x-k8s.io"
CLAIMS = "ipaddressclaims.ipam.cluster.x-k8s.io"
PAUSED, NETWORK = "cluster.x-k8s.io/paused", "proxmox.cozystack.io/network"


@pytest.fixture(scope="module")
def beside() -> Iterator[Bed]:
    """A whole bed with the in-cluster provider, and config/beside-in-cluster."""
    with Bed(parts=Parts(kubelet=True, pve=True, providers=True, peer=True)) as bed:
        install_pxnet(bed.kubeconfig, overlay="beside-in-cluster")
        yield bed


def test_both_answer_their_own(beside: Bed) -> None:
    tenant = IT.tenant
    apply(beside, [namespace(tenant), zone("beside", BRIDGE, [IT.network])])
    wait_ready(beside, [IT.network])
    apply(beside, [plain_pool(tenant)])
    apply(beside, [plain_claim(tenant)])
    events = watch_pools(beside, tenant)
    apply(beside, [item for plan in IT.plans for item in everything(plan)])
    seen = wait_provisioned(beside, tenant, IT.machines)
    held: dict[str, str] = {}
    for plan in IT.plans:
        held |= check_cluster(beside, plan, of_cluster(seen, plan))
        check_marked_at_its_creation(events, f"{plan.name}-v4-icip")
    assert len(set(held.values())) == IT.machines
    assert snapshot(beside, IT).entries == IT.entries(held)
    assert addresses(beside, tenant) == {**held, "plain": "10.99.0.10"}
    blocks = json.loads(beside.kubectl("get", "addressblocks", "--output", "json"))["items"]
    assert {block["spec"]["book"] for block in blocks} == set(IT.books)

    beside.kubectl("delete", CLAIMS, "plain", "--namespace", tenant, "--wait=false")
    for plan in IT.plans:
        beside.kubectl("delete", "cluster", plan.name, "--namespace", tenant, "--wait=false")
    for plan in IT.plans:
        wait_cluster_gone(beside, plan)
    wait_gone(beside, tenant, f"{CLAIMS},ipaddresses.ipam.cluster.x-k8s.io")
    beside.kubectl("delete", POOLS, "plain", "--namespace", tenant, "--wait=false")
    until(lambda: pool_names(beside, tenant) == {"blue-inet"}, "the network's own pool alone is left")


def watch_pools(bed: Bed, tenant: str) -> Path:
    """Write down every event of the tenant's pools from now on; gives the file."""
    argv = [str(bed.kubectl_path), "--kubeconfig", str(bed.kubeconfig), "get", POOLS, "--namespace", tenant]
    process = bed.start_process("pool-events", [*argv, "--watch", "--output-watch-events", "--output", "json"])
    return process.command.log


def check_marked_at_its_creation(events: Path, name: str) -> None:
    """The pool had its marks in the first state that anybody could see."""
    first = next(event["object"] for event in read_events(events) if event["object"]["metadata"]["name"] == name)
    metadata = first["metadata"]
    assert metadata["generation"] == 1
    assert (metadata["annotations"][PAUSED], metadata["annotations"][NETWORK]) == ("true", "blue")
    assert metadata["finalizers"] == ["ipam.cluster.x-k8s.io/ProtectPool"]


def read_events(file: Path) -> Iterator[Object]:
    """The JSON documents of the file, one after the other."""
    text, decoder = file.read_text().lstrip(), json.JSONDecoder()
    while text:
        event, end = decoder.raw_decode(text)
        yield event
        text = text[end:].lstrip()


def pool_names(bed: Bed, tenant: str) -> set[str]:
    items = json.loads(bed.kubectl("get", POOLS, "--namespace", tenant, "--output", "json"))["items"]
    return {item["metadata"]["name"] for item in items}


def plain_pool(tenant: str) -> Object:
    return {
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
        "kind": "InClusterIPPool",
        "metadata": {"name": "plain", "namespace": tenant},
        "spec": {"addresses": ["10.99.0.10-10.99.0.20"], "prefix": 24, "gateway": "10.99.0.1"},
    }


def plain_claim(tenant: str) -> Object:
    return {
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta2",
        "kind": "IPAddressClaim",
        "metadata": {"name": "plain", "namespace": tenant},
        "spec": {"poolRef": {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "plain"}},
    }
