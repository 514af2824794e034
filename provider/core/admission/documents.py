"""A ValidatingAdmissionPolicy with its binding: two documents that the API server takes as they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from provider.core.admission.facts import INFRASTRUCTURE, Setting
from provider.core.names import MANAGED_BY

Json = dict[str, Any]

API_VERSION = "admissionregistration.k8s.io/v1"
PREFIX = "pxnet-system"
"""clusterctl deletes a cluster-scoped object of a provider only if its name begins with the provider's namespace."""

LABELS = {"cluster.x-k8s.io/provider": "ipam-pxnet", MANAGED_BY[0]: MANAGED_BY[1]}
"""By the first clusterctl knows what to delete with the provider, by the second we know our own."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is asked of an object.

    Attributes:
        holds: CEL; false is a refusal.
        says: CEL of the message; a single line, or the API server does not use it.
        otherwise: the message where `says` itself cannot be computed.
    """

    holds: str
    says: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A policy and its binding, of the same name."""

    policy: Json
    binding: Json

    @property
    def name(self) -> str:
        name: str = self.policy["metadata"]["name"]
        return name


def pair(
    name: str,
    setting: Setting,
    plurals: Iterable[str],
    *,
    conditions: Mapping[str, str],
    variables: Mapping[str, str],
    rules: Iterable[Rule],
) -> Pair:
    """A policy on capmox's kinds.

    It fails closed. Objects are judged at the newest served version only (Equivalent), and never by who asks.
    """
    constraints: Json = {
        "matchPolicy": "Equivalent",
        "resourceRules": [
            {
                "apiGroups": [INFRASTRUCTURE],
                "apiVersions": [setting.version],
                "operations": ["CREATE", "UPDATE"],
                "resources": [*plurals],
                "scope": "Namespaced",
            }
        ],
    }
    # The API server itself sets this label, so nobody can give a namespace another one's.
    expression = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": sorted(setting.exempt)}
    constraints["namespaceSelector"] = {"matchExpressions": [expression] if setting.exempt else []}
    metadata = {"name": name, "labels": dict(LABELS)}
    policy: Json = {
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": constraints,
            "matchConditions": [{"name": key, "expression": value} for key, value in conditions.items()],
            "variables": [{"name": key, "expression": value} for key, value in variables.items()],
            "validations": [
                {
                    "expression": rule.holds,
                    "messageExpression": rule.says,
                    "message": rule.otherwise,
                    "reason": "Forbidden",
                }
                for rule in rules
            ],
        },
    }
    binding: Json = {
        "apiVersion": API_VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name, "labels": dict(LABELS)},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return Pair(policy, binding)


def agrees(found: object, wanted: object) -> bool:
    """Whether an object says all that is wanted of it; what the API server fills in does not count."""
    if isinstance(wanted, Mapping):
        have = found if isinstance(found, Mapping) else {}
        return all(agrees(have.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        have_list = found if isinstance(found, list) else []
        return len(have_list) == len(wanted) and all(map(agrees, have_list, wanted))
    return found == wanted
