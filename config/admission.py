"""The policy that takes capmox's own pools into a network, at their creation and in the API server itself.

capmox makes a pool for each cluster from the range in its ProxmoxCluster. Where that range is a network's, the pool
must give from the network's one book. Beside the in-cluster provider it must be paused from its first moment, or that
provider answers too. On CREATE only: a finalizer forced on with every update would keep a pool Terminating for ever.
"""

from typing import Any

from config.rbac import NAMESPACE
from provider.api.ipam import PAUSED_ANNOTATION, PROTECT_POOL_FINALIZER
from provider.api.meta import GROUP, VERSION
from provider.api.pool import NETWORK_ANNOTATION
from provider.edge.kube.resources import POOLS

Json = dict[str, Any]

NAME = f"{NAMESPACE}-network-pools"

OWNED_BY_CAPMOX = (
    "has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(owner, "
    "owner.kind == 'ProxmoxCluster' && owner.apiVersion.startsWith('infrastructure.cluster.x-k8s.io/'))"
)
UNMARKED = f"!has(object.metadata.annotations) || !('{NETWORK_ANNOTATION}' in object.metadata.annotations)"


def _first(entry: str) -> str:
    """CEL: the address that an entry begins with."""
    return f"{entry}.split('-')[0].split('/')[0]"


def _inside(side: str) -> str:
    """CEL: every entry of the pool begins in the subnet of this side of the network."""
    status = f"params.status.{side}"
    begins = _first("entry")
    return (
        f"(has({status}) && object.spec.prefix == {status}.prefix && object.spec.addresses.all(entry, "
        f"isIP({begins}) && cidr({status}.cidr).containsIP({begins})))"
    )


IN_THE_NETWORK = f"has(params.status) && ({_inside('ipv4')} || {_inside('ipv6')})"


def documents() -> list[Json]:
    """The policy and its binding. It is asked once for each ProxmoxNetwork of the pool's namespace."""
    marks = f"{{'{PAUSED_ANNOTATION}': 'true', '{NETWORK_ANNOTATION}': string(params.metadata.name)}}"
    mutation = f"Object{{metadata: Object.metadata{{annotations: {marks}, finalizers: ['{PROTECT_POOL_FINALIZER}']}}}}"
    return [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": NAME},
            "spec": {
                "failurePolicy": "Fail",
                "reinvocationPolicy": "Never",
                "paramKind": {"apiVersion": f"{GROUP}/{VERSION}", "kind": "ProxmoxNetwork"},
                "matchConstraints": {
                    "matchPolicy": "Equivalent",
                    "resourceRules": [
                        {
                            "apiGroups": [POOLS.group],
                            "apiVersions": [POOLS.version],
                            "resources": [POOLS.plural],
                            "operations": ["CREATE"],
                        }
                    ],
                },
                "matchConditions": [
                    {"name": "made-by-capmox", "expression": OWNED_BY_CAPMOX},
                    {"name": "not-marked-yet", "expression": UNMARKED},
                    {"name": "in-the-network", "expression": IN_THE_NETWORK},
                ],
                "mutations": [
                    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": mutation}},
                ],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": NAME},
            "spec": {
                "policyName": NAME,
                # No namespace: networks are looked up in the pool's namespace. None there: nothing is changed.
                "paramRef": {"selector": {}, "parameterNotFoundAction": "Allow"},
            },
        },
    ]
