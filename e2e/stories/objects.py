"""Cluster API objects as a user of capmox writes them, in both of capmox's API versions. Data in, manifests out.

A cluster has one control-plane machine by KubeadmControlPlane (which makes its bootstrap data without a workload
API; more would have to join, and there is nothing to join) and workers by a MachineDeployment whose bootstrap Secret
is given, so that they do not wait for a control plane that never answers.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
KUBERNETES_VERSION = "v1.36.3"
CLUSTER_LABEL = "cluster.x-k8s.io/cluster-name"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
USER_DATA = "#cloud-config\nruncmd: [echo joined]\n"


@dataclass(frozen=True, slots=True)
class Family:
    """What a ProxmoxCluster says of one address family; addresses are single ones, ranges or CIDRs."""

    addresses: Sequence[str]
    prefix: int
    gateway: str

    def spec(self) -> Object:
        return {"addresses": list(self.addresses), "prefix": self.prefix, "gateway": self.gateway}


@dataclass(frozen=True, slots=True)
class Plan:
    """One cluster of a tenant.

    endpoint   control-plane VIP: no address of the ranges, or capmox refuses it
    capmox     "v1alpha2" (0.8 and later) or "v1alpha1" (how 0.7 users wrote it)
    vlan       1..4094, None for untagged
    workers    replicas of the MachineDeployment; 0 leaves it out
    skip_agent does not wait for the guest agent and cloud-init (saves some seconds a machine)
    """

    name: str
    namespace: str
    endpoint: str
    bridge: str
    vlan: int | None
    ipv4: Family | None = None
    ipv6: Family | None = None
    workers: int = 1
    capmox: str = "v1alpha2"
    source_node: str = "pve1"
    template: int = 9000
    skip_agent: bool = True
    dns: Sequence[str] = ("9.9.9.9",)

    @property
    def control_plane_name(self) -> str:
        return f"{self.name}-control-plane"

    @property
    def workers_name(self) -> str:
        return f"{self.name}-workers"


def everything(plan: Plan) -> list[Object]:
    """All manifests of the plan, in an order in which they can be applied one by one."""
    items = [cluster(plan), proxmox_cluster(plan)]
    items += [machine_template(plan, plan.control_plane_name), control_plane(plan)]
    if plan.workers:
        items += [machine_template(plan, plan.workers_name), bootstrap_secret(plan, plan.workers_name), workers(plan)]
    return items


def cluster(plan: Plan) -> Object:
    return _object(
        "cluster.x-k8s.io/v1beta2",
        "Cluster",
        plan,
        plan.name,
        {
            "clusterNetwork": {"pods": {"cidrBlocks": ["192.168.0.0/16"]}},
            "infrastructureRef": _reference(INFRASTRUCTURE, "ProxmoxCluster", plan.name),
            "controlPlaneRef": _reference(
                "controlplane.cluster.x-k8s.io", "KubeadmControlPlane", plan.control_plane_name
            ),
        },
    )


def proxmox_cluster(plan: Plan) -> Object:
    spec: Object = {"controlPlaneEndpoint": {"host": plan.endpoint, "port": 6443}, "dnsServers": list(plan.dns)}
    for name, family in (("ipv4Config", plan.ipv4), ("ipv6Config", plan.ipv6)):
        if family is not None:
            spec[name] = family.spec()
    return _object(f"{INFRASTRUCTURE}/{plan.capmox}", "ProxmoxCluster", plan, plan.name, spec)


def machine_template(plan: Plan, name: str) -> Object:
    spec = {"template": {"spec": _machine_spec(plan)}}
    return _object(f"{INFRASTRUCTURE}/{plan.capmox}", "ProxmoxMachineTemplate", plan, name, spec)


def control_plane(plan: Plan) -> Object:
    infrastructure = _reference(INFRASTRUCTURE, "ProxmoxMachineTemplate", plan.control_plane_name)
    return _object(
        "controlplane.cluster.x-k8s.io/v1beta2",
        "KubeadmControlPlane",
        plan,
        plan.control_plane_name,
        {
            "replicas": 1,
            "version": KUBERNETES_VERSION,
            "machineTemplate": {"spec": {"infrastructureRef": infrastructure}},
            "kubeadmConfigSpec": {"format": "cloud-config"},
        },
    )


def bootstrap_secret(plan: Plan, name: str) -> Object:
    """Bootstrap data that is there from the start; any number of machines may share it."""
    secret = _object("v1", "Secret", plan, name)
    data = {"value": USER_DATA, "format": "cloud-config"}
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
    return secret | {"type": "cluster.x-k8s.io/secret", "data": encoded}


def workers(plan: Plan) -> Object:
    template = {
        "metadata": {"labels": {CLUSTER_LABEL: plan.name, "pool": plan.workers_name}},
        "spec": {
            "clusterName": plan.name,
            "version": KUBERNETES_VERSION,
            "bootstrap": {"dataSecretName": plan.workers_name},
            "infrastructureRef": _reference(INFRASTRUCTURE, "ProxmoxMachineTemplate", plan.workers_name),
        },
    }
    spec = {
        "clusterName": plan.name,
        "replicas": plan.workers,
        "selector": {"matchLabels": {"pool": plan.workers_name}},
        "template": template,
    }
    item = _object("cluster.x-k8s.io/v1beta2", "MachineDeployment", plan, plan.workers_name, spec)
    # The checks wait for a stable control plane, and ask again only every 15 s.
    item["metadata"]["annotations"] = {"machineset.cluster.x-k8s.io/skip-preflight-checks": "All"}
    return item


def machine(plan: Plan, name: str) -> list[Object]:
    """One machine outside all sets: Secret, ProxmoxMachine, Machine."""
    spec = {
        "clusterName": plan.name,
        "version": KUBERNETES_VERSION,
        "bootstrap": {"dataSecretName": name},
        "infrastructureRef": _reference(INFRASTRUCTURE, "ProxmoxMachine", name),
    }
    return [
        bootstrap_secret(plan, name),
        _object(f"{INFRASTRUCTURE}/{plan.capmox}", "ProxmoxMachine", plan, name, _machine_spec(plan)),
        _object("cluster.x-k8s.io/v1beta2", "Machine", plan, name, spec),
    ]


def _machine_spec(plan: Plan) -> Object:
    nic: Object = {"bridge": plan.bridge, "model": "virtio"}
    if plan.vlan is not None:
        nic["vlan"] = plan.vlan
    network: Object = {"default": nic}
    if plan.capmox != "v1alpha1":
        network = {"networkDevices": [{"name": "net0", **nic}]}
    spec: Object = {
        "sourceNode": plan.source_node,
        "templateID": plan.template,
        "full": True,
        # Other than the template's: capmox never finishes a clone that needs no change.
        "numCores": 2,
        "memoryMiB": 2048,
        "network": network,
    }
    if plan.skip_agent:
        spec["checks"] = {"skipQemuGuestAgent": True}
    return spec


def _object(version: str, kind: str, plan: Plan, name: str, spec: Object | None = None) -> Object:
    meta = {"name": name, "namespace": plan.namespace, "labels": {CLUSTER_LABEL: plan.name}}
    item: Object = {"apiVersion": version, "kind": kind, "metadata": meta}
    return item if spec is None else item | {"spec": spec}


def _reference(group: str, kind: str, name: str) -> Object:
    return {"apiGroup": group, "kind": kind, "name": name}
