"""A stand-in for capmox 0.7: what it asks an IPAM provider for, and what it reads of the answer. Nothing else.

Written from capmox 0.7's rules, since that version cannot be built from Go modules together with today's Cluster API:
a NIC's own pool replaces the cluster's pool of that family, the claim is named by machine, device and family, and the
answer is looked up by the claim's name alone. It makes no VMs and watches nothing; a caller runs `reconcile` again.
Machines without pools of their own, which take from the cluster's, are not played.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from e2e.bed.bed import Bed

Object = dict[str, Any]
GROUP = "ipam.cluster.x-k8s.io"
API_VERSION = f"{GROUP}/v1beta1"
CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
SUFFIXES = {"ipv4": "inet", "ipv6": "inet6"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes into the guest's network configuration: address, prefix length in bits, gateway and route metric."""

    address: str
    prefix: int
    gateway: str
    metric: int


def claims_of(machine: Object) -> dict[str, Object]:
    """The claims of a v1alpha1 ProxmoxMachine's net0, by family: one for each pool of the NIC."""
    metadata = machine["metadata"]
    nic = machine["spec"]["network"]["default"]
    found: dict[str, Object] = {}
    for family, suffix in SUFFIXES.items():
        pool = nic.get(f"{family}PoolRef")
        if pool is None:
            continue
        owner = {"apiVersion": machine["apiVersion"], "kind": machine["kind"], "controller": True}
        owner |= {"name": metadata["name"], "uid": metadata["uid"], "blockOwnerDeletion": True}
        found[family] = {
            "apiVersion": API_VERSION,
            "kind": "IPAddressClaim",
            "metadata": {
                "name": f"{metadata['name']}-net0-{suffix}",
                "namespace": metadata["namespace"],
                "labels": {CLUSTER_LABEL: metadata["labels"][CLUSTER_LABEL]},
                "ownerReferences": [owner],
            },
            "spec": {"poolRef": pool},
        }
    return found


def reconcile(bed: Bed, machine: Object) -> Mapping[str, Answer]:
    """One pass: make the claims that are missing, read what is answered. Gives the answers so far, by family."""
    answers: dict[str, Answer] = {}
    for family, claim in claims_of(machine).items():
        name, namespace = claim["metadata"]["name"], claim["metadata"]["namespace"]
        # An IPAddress of exactly the claim's name: 0.7 does not look at the claim's status.
        found = _find(bed, f"ipaddresses.v1beta1.{GROUP}", namespace, name)
        if found is None:
            if _find(bed, f"ipaddressclaims.v1beta1.{GROUP}", namespace, name) is None:
                bed.kubectl("create", "--filename", "-", stdin=json.dumps(claim))
            continue
        pool = _find(bed, f"inclusterippools.{GROUP}", namespace, claim["spec"]["poolRef"]["name"])
        assert pool is not None
        spec = found["spec"]
        metric = int(pool["metadata"]["annotations"]["metric"])
        answers[family] = Answer(spec["address"], spec["prefix"], spec.get("gateway", ""), metric)
    return answers


def _find(bed: Bed, kind: str, namespace: str, name: str) -> Object | None:
    text = bed.kubectl("get", kind, name, "--namespace", namespace, "--ignore-not-found", "--output", "json")
    found: Object | None = json.loads(text) if text else None
    return found
