"""capmox 0.7 and the Cluster API of its time: v1alpha1 machines, IPAM v1beta1 alone, pools of ours on the NIC.

capmox is a stand-in that follows 0.7's rules of claims; the kinds are the real ones with their newer versions left out,
and pxnet is the shipped Deployment under its own service account.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from e2e.bed.bed import Bed
from e2e.bed.binaries import module_dir
from e2e.bed.manifests import files, without_conversion
from e2e.bed.parts import Parts
from e2e.bed.pxnet import install_pxnet
from e2e.stories.capmox07_stand_in import Answer, reconcile
from e2e.stories.machines import apply, namespace, wait_gone
from e2e.stories.networks import Entry, Network, wait_book, wait_ready, zone
from e2e.stories.objects import CLUSTER_LABEL, Family
from e2e.stories.waiting import until

Object = dict[str, Any]
TENANT = "seven"
NETWORK = Network(
    TENANT,
    "blue",
    107,
    Family(["10.7.0.10-10.7.0.60"], 24, "10.7.0.1"),
    Family(["fd00:7::10-fd00:7::60"], 64, "fd00:7::1"),
)
CORE = "core/config/crd/bases"
KINDS = {
    "capi-core": (
        f"{CORE}/ipam.cluster.x-k8s.io_ipaddressclaims.yaml",
        f"{CORE}/ipam.cluster.x-k8s.io_ipaddresses.yaml",
        f"{CORE}/cluster.x-k8s.io_clusters.yaml",
    ),
    "capmox": ("config/crd/bases/infrastructure.cluster.x-k8s.io_proxmoxmachines.yaml",),
}
VERSIONS = {"capi-core": "v1beta1", "capmox": "v1alpha1"}


@pytest.fixture(scope="module")
def old() -> Iterator[Bed]:
    """A bed without Cluster API's controllers, with its kinds as they were, and pxnet."""
    with Bed(parts=Parts(kubelet=True)) as bed:
        kinds = [
            only(kind, VERSIONS[tool])
            for tool, paths in KINDS.items()
            for kind in files(module_dir(tool) / path for path in paths)
        ]
        apply(bed, kinds)
        bed.control_plane.learn_kinds()
        install_pxnet(bed.kubeconfig)
        yield bed


def only(crd: Object, version: str) -> Object:
    """The definition with one version, served and stored."""
    kept = [each | {"served": True, "storage": True} for each in crd["spec"]["versions"] if each["name"] == version]
    assert kept
    whole = without_conversion(crd)
    return {**whole, "spec": {**whole["spec"], "versions": kept}}


def machine(cluster: str, name: str) -> Object:
    def pool(suffix: str) -> Object:
        return {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": f"blue-{suffix}"}

    nic = {"bridge": "vmbr7", "vlan": 107, "ipv4PoolRef": pool("inet"), "ipv6PoolRef": pool("inet6")}
    return {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha1",
        "kind": "ProxmoxMachine",
        "metadata": {"name": name, "namespace": TENANT, "labels": {CLUSTER_LABEL: cluster}},
        "spec": {"sourceNode": "pve1", "templateID": 9000, "network": {"default": nic}},
    }


def cluster(name: str) -> Object:
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "Cluster",
        "metadata": {"name": name, "namespace": TENANT},
        "spec": {},
    }


def sentinel(name: str) -> Object:
    """The pool that 0.7 makes of a ProxmoxCluster whose range is the gateway alone: it must stay out of the way."""
    return {
        "apiVersion": "ipam.cluster.x-k8s.io/v1alpha2",
        "kind": "InClusterIPPool",
        "metadata": {"name": f"{name}-v4-icip", "namespace": TENANT, "annotations": {"metric": "100"}},
        "spec": {"addresses": ["10.7.0.1"], "prefix": 24, "gateway": "10.7.0.1"},
    }


def test_machines_of_two_clusters_take_from_the_networks_own_pools(old: Bed) -> None:
    apply(old, [namespace(TENANT), zone("old", "vmbr7", [NETWORK])])
    wait_ready(old, [NETWORK])
    apply(old, [item for name in ("one", "two") for item in (cluster(name), sentinel(name))])
    names = ("one-m1", "two-m1")
    apply(old, [machine(name.split("-")[0], name) for name in names])
    found: dict[str, Mapping[str, Answer]] = {}

    def both_families() -> bool:
        for name in names:
            found[name] = reconcile(old, stored(old, name))
        return all(len(answers) == 2 for answers in found.values())

    until(both_families, "all claims are answered", 30.0)
    ipv4 = {answers["ipv4"] for answers in found.values()}
    ipv6 = {answers["ipv6"] for answers in found.values()}
    assert ipv4 == {Answer(f"10.7.0.{host}", 24, "10.7.0.1", 100) for host in (10, 11)}
    assert ipv6 == {Answer(f"fd00:7::{host}", 64, "fd00:7::1", 100) for host in (10, 11)}
    wait_book(old, NETWORK.book("IPv4"), holders(found, "ipv4", "inet"))
    wait_book(old, NETWORK.book("IPv6"), holders(found, "ipv6", "inet6"))

    old.kubectl("delete", "proxmoxmachines", *names, "--namespace", TENANT, "--wait=false")
    wait_gone(old, TENANT, "proxmoxmachines,ipaddressclaims.ipam.cluster.x-k8s.io,ipaddresses.ipam.cluster.x-k8s.io")
    wait_book(old, NETWORK.book("IPv4"), holders(found, "ipv4", "inet", "Held"))


def holders(
    found: Mapping[str, Mapping[str, Answer]], family: str, suffix: str, state: str = "Allocated"
) -> dict[str, Entry]:
    return {answers[family].address: Entry(state, f"{TENANT}/{name}-net0-{suffix}") for name, answers in found.items()}


def stored(bed: Bed, name: str) -> Object:
    item: Object = json.loads(bed.kubectl("get", "proxmoxmachines", name, "--namespace", TENANT, "--output", "json"))
    return item
