"""Policies on what pxnet and the in-cluster provider write: nobody else does, whatever rights a namespace's owner has.

A guard says which change matters and asks the API server's authorizer whether the requester could make such a change
everywhere. So it holds up neither the garbage collector and the namespace controller, nor the in-cluster provider
beside us, nor capmox, which writes the spec of its own pools on every reconcile, nor an admin with `clusterctl move`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from config.rbac import NAMESPACE
from provider.api.ipam import PAUSED_ANNOTATION, PROTECT_ADDRESS_FINALIZER, PROTECT_POOL_FINALIZER, RELEASE_FINALIZER
from provider.api.network import NETWORK_FINALIZER
from provider.api.pool import NETWORK_ANNOTATION, VLAN_ANNOTATION, ZONE_ANNOTATION
from provider.core.admission import cel
from provider.core.admission.may import may
from provider.core.admission.table import NETWORKS_ANNOTATION
from provider.core.admission.zone_policy import LINES
from provider.core.names import MANAGED_BY, ZONE_FINALIZER
from provider.edge.kube.resources import (
    ADDRESSES,
    BLOCKS,
    CLAIMS,
    GLOBAL_POOLS,
    NAMESPACES,
    NETWORK_BLOCKS,
    NETWORKS,
    POOLS,
    ZONES,
    Resource,
)

Json = dict[str, Any]

IT = "(request.operation == 'DELETE' ? oldObject : object)"
IS_NEW = "request.operation == 'CREATE'"
IS_EDIT = "request.operation == 'UPDATE'"
IS_END = "request.operation == 'DELETE'"


@dataclass(frozen=True, slots=True)
class Guard:
    """One kind of change that is not everybody's.

    Attributes:
        name: of the policy, after pxnet's namespace.
        resources: plurals, with their subresources, all of one API group.
        matters: CEL; whether it is such a change.
        may: CEL; whether this requester may make it.
        message: why not, and what to do instead.
    """

    name: str
    group: str
    resources: tuple[str, ...]
    operations: tuple[str, ...]
    matters: str
    may: str
    message: str


def annotation(root: str, name: str) -> str:
    return f"{root}.metadata.?annotations[?{cel.text(name)}]"


def label(root: str, name: str) -> str:
    return f"{root}.metadata.?labels[?{cel.text(name)}]"


def differs(part: str) -> str:
    """CEL: whether a part, written for `object`, is another one than before; on creation, whether it is there."""
    return f"({IS_NEW} ? {part}.hasValue() : {part} != {part.replace('object.', 'oldObject.')})"


def drops(finalizer: str) -> str:
    """CEL: whether an update takes a finalizer away."""
    held = [f"{cel.text(finalizer)} in {root}.metadata.?finalizers.orValue([])" for root in ("oldObject", "object")]
    return f"({IS_EDIT} && {held[0]} && !({held[1]}))"


def _plural(resource: Resource, *subresources: str) -> tuple[str, ...]:
    return (resource.plural, *(f"{resource.plural}/{part}" for part in subresources))


WRITES_NETWORKS = may(NETWORKS.group, NETWORKS.plural, "patch", "status")
WRITES_POOLS = may(POOLS.group, POOLS.plural, "patch", "status")
WRITES_CLAIMS = may(CLAIMS.group, CLAIMS.plural, "patch", "status")

MARKED = f"{annotation('oldObject', NETWORK_ANNOTATION)}.hasValue()"
OURS = f"({MARKED} && {label('oldObject', MANAGED_BY[0])}.orValue('') == {cel.text(MANAGED_BY[1])})"
OF_CAPMOX = "object.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == 'ProxmoxCluster')"

OF_A_NETWORK = (
    f"({IT}.spec.?poolRef.?kind.orValue('') == '{POOLS.kind}' && {LINES}.exists(line, "
    f"{IT}.spec.poolRef.name in line[4].split(',') || {IT}.spec.poolRef.name.matches('-v[46]-icip$')))"
)
"""CEL: whether a claim or an address is of a pool of the namespace's networks, or of one that capmox made there."""

GUARDS = (
    Guard(
        "namespaces",
        NAMESPACES.group,
        _plural(NAMESPACES, "status", "finalize"),
        ("CREATE", "UPDATE"),
        differs(annotation("object", NETWORKS_ANNOTATION)),
        WRITES_NETWORKS,
        f"the annotation {NETWORKS_ANNOTATION} is written by pxnet alone: leave it as it is",
    ),
    Guard(
        "pools",
        POOLS.group,
        (POOLS.plural, GLOBAL_POOLS.plural),
        ("CREATE", "UPDATE"),
        cel.either(
            (
                f"({differs(annotation('object', NETWORK_ANNOTATION))} && !({IS_NEW} && {OF_CAPMOX}))",
                differs(annotation("object", ZONE_ANNOTATION)),
                differs(annotation("object", VLAN_ANNOTATION)),
                f"({IS_EDIT} && {MARKED} && {differs(annotation('object', PAUSED_ANNOTATION))})",
                f"({IS_EDIT} && {MARKED} && {differs(label('object', MANAGED_BY[0]))})",
                f"({IS_EDIT} && {OURS} && object.spec != oldObject.spec)",
            )
        ),
        WRITES_NETWORKS,
        "pxnet alone writes a network's pool and its marks; to change the range, ask the admin of its zone",
    ),
    Guard(
        "pool-protection",
        POOLS.group,
        (POOLS.plural,),
        ("UPDATE",),
        f"({MARKED} && {drops(PROTECT_POOL_FINALIZER)})",
        WRITES_POOLS,
        f"the finalizer {PROTECT_POOL_FINALIZER} goes by itself when no address of the pool is in use",
    ),
    Guard(
        "pool-deletion",
        POOLS.group,
        (POOLS.plural,),
        ("DELETE",),
        OURS,
        may(POOLS.group, POOLS.plural, "delete"),
        "this pool is a network's and goes with it: delete the ProxmoxNetwork instead",
    ),
    Guard(
        "addresses",
        ADDRESSES.group,
        (ADDRESSES.plural,),
        ("CREATE", "UPDATE", "DELETE"),
        f"({OF_A_NETWORK} && ({IS_NEW} || {IS_END} || object.spec != oldObject.spec || "
        f"{drops(PROTECT_ADDRESS_FINALIZER)}))",
        f"({IS_END} ? {may(ADDRESSES.group, ADDRESSES.plural, 'delete')} : "
        f"{may(ADDRESSES.group, ADDRESSES.plural, 'create')})",
        "addresses of a network are given and taken by pxnet: create or delete an IPAddressClaim instead",
    ),
    Guard(
        "claims",
        CLAIMS.group,
        _plural(CLAIMS, "status"),
        ("UPDATE",),
        f"({OF_A_NETWORK} && (request.?subResource.orValue('') == 'status' || {drops(RELEASE_FINALIZER)}))",
        WRITES_CLAIMS,
        "claims on a network are answered and released by pxnet: leave status and finalizers to it",
    ),
    Guard(
        "blocks",
        BLOCKS.group,
        (BLOCKS.plural, NETWORK_BLOCKS.plural),
        ("CREATE", "UPDATE", "DELETE"),
        "true",
        WRITES_NETWORKS,
        "the address books are kept by pxnet alone",
    ),
    Guard(
        "networks",
        NETWORKS.group,
        _plural(NETWORKS, "status"),
        ("UPDATE",),
        f"(request.?subResource.orValue('') == 'status' || {drops(NETWORK_FINALIZER)})",
        WRITES_NETWORKS,
        "a network's status and its finalizer are written by pxnet alone; it goes when nothing uses it any more",
    ),
    Guard(
        "zones",
        ZONES.group,
        (ZONES.plural,),
        ("UPDATE",),
        drops(ZONE_FINALIZER),
        may(ZONES.group, ZONES.plural, "patch", "status"),
        "a zone's finalizer goes by itself when its networks have gone",
    ),
)


def documents(guards: Sequence[Guard] = GUARDS) -> list[Json]:
    """All guards: a policy and its binding each."""
    return [document for guard in guards for document in _documents(guard)]


def _documents(guard: Guard) -> Iterable[Json]:
    name = f"{NAMESPACE}-guard-{guard.name}"
    rule = {
        "apiGroups": [guard.group],
        # Whichever version is asked for: what is looked at is the same in all.
        "apiVersions": ["*"],
        "operations": [*guard.operations],
        "resources": [*guard.resources],
    }
    yield {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"matchPolicy": "Equivalent", "resourceRules": [rule]},
            "variables": [{"name": "matters", "expression": guard.matters}],
            "validations": [
                {"expression": f"!variables.matters || {guard.may}", "message": guard.message, "reason": "Forbidden"}
            ],
        },
    }
    yield {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
