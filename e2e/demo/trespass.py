"""What team-b tries: machines on the other tenant's VLAN and pool, and an honest one. Data only."""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from e2e.demo.cast import Object


@dataclass(frozen=True, slots=True)
class Attempt:
    """One machine of team-b.

    file    what the manifest would be called
    vlan    VLAN and pool of its only NIC
    """

    file: str
    what: str
    vlan: int
    pool: str
    allowed: bool = False


def attempts(theirs: Object, own: Object) -> tuple[Attempt, ...]:
    """From the networks of both tenants, as they are in force."""
    stolen, honest = theirs["status"], own["status"]
    return (
        Attempt("their-vlan.yaml", "a machine on team-a's VLAN", stolen["vlan"], honest["ipv4"]["pool"]),
        Attempt("their-pool.yaml", "its own VLAN, team-a's pool", honest["vlan"], stolen["ipv4"]["pool"]),
        Attempt("honest.yaml", "its own VLAN and pool", honest["vlan"], honest["ipv4"]["pool"], allowed=True),
    )


def manifest(attempt: Attempt, bridge: str, node: str, template: int) -> str:
    """The ProxmoxMachine, as short as it can be."""
    pool: Mapping[str, str] = {
        "apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": attempt.pool,
    }  # fmt: skip
    item = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1alpha2",
        "kind": "ProxmoxMachine",
        "metadata": {"name": "trespasser", "namespace": "team-b"},
        "spec": {
            "sourceNode": node,
            "templateID": template,
            "network": {
                "networkDevices": [{"name": "net0", "bridge": bridge, "vlan": attempt.vlan, "ipPoolRef": [pool]}]
            },
        },
    }
    text: str = yaml.safe_dump(item, sort_keys=False)
    return text
