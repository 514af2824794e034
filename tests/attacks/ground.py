"""What is attacked: a zone, two tenants with a network each, one without, and what their users may do."""

import time
from dataclasses import dataclass
from typing import Any, Self

from e2e.bed.bed import Bed
from provider.core.admission.facts import Setting, ZoneFacts
from provider.core.admission.table import NETWORKS_ANNOTATION
from provider.core.admission.zone_policy import zone_policy
from tests.attacks.attempts import Attempt, bases, filled, merged
from tests.attacks.caller import Answer, Caller, User

Json = dict[str, Any]

NAMESPACES = {"a": "team-a", "b": "team-b", "c": "team-c"}
USERS = {"neighbour": User("user-a"), "tenant": User("user-b"), "outsider": User("user-c")}
SECONDS = 30.0
NEEDS_ONE = ("replace", "patch", "delete")
HOLD = "attacks.test/hold"
RBAC = "rbac.authorization.k8s.io"


def until(probe: Any, what: str, timeout: float = SECONDS) -> Any:
    deadline = time.monotonic() + timeout
    while not (found := probe()):
        assert time.monotonic() < deadline, f"not within {timeout:g} s: {what}"
        time.sleep(0.1)
    return found


@dataclass(frozen=True, slots=True)
class Ground:
    caller: Caller

    @classmethod
    def make(cls, bed: Bed, caller: Caller) -> Self:
        lines = {
            "a": "attacked blue vmbr7 107 blue-inet 10.7.0.0/24",
            "b": "attacked green vmbr7 108 green-inet 10.8.0.0/24",
        }
        for key, name in NAMESPACES.items():
            metadata: Json = {"name": name}
            if key in lines:
                metadata["annotations"] = {NETWORKS_ANNOTATION: lines[key]}
            caller.must("create", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for who, (key, name) in zip(USERS.values(), NAMESPACES.items(), strict=True):
            for item in rights(who, name):
                caller.must("create", item)
        pair = zone_policy(ZoneFacts("attacked", ("vmbr7",)), Setting())
        caller.must("create", pair.policy)
        caller.must("create", pair.binding)
        ground = cls(caller)
        probe = merged(
            ground.item("machine", "probe"),
            {"spec": {"network": {"networkDevices": [{"name": "net0", "bridge": "vmbr7", "vlan": 1}]}}},
        )
        until(lambda: not caller.send("create", probe, dry=True).accepted, "the policies are in force")
        return ground

    def item(self, base: str, name: str) -> Json:
        item: Json = filled(bases()[base], name=name, **NAMESPACES)
        return item

    def run(self, attempt: Attempt, name: str) -> Answer:
        """Try it, and take away what it and its preparation left."""
        values = {**NAMESPACES, "name": name}
        base = self.item(attempt.object, name)
        change = filled(attempt.change, **values)
        made = attempt.before is not None or attempt.verb in NEEDS_ONE
        if made:
            self._prepare(merged(base, filled(attempt.before or {}, **values)), ending=attempt.ending)
        sent = merged(base, change)
        if attempt.verb in ("patch", "apply") and made:
            names = {key: base["metadata"][key] for key in ("name", "namespace") if key in base["metadata"]}
            sent = merged({"apiVersion": base["apiVersion"], "kind": base["kind"], "metadata": names}, change)
        user = None if attempt.who == "admin" else USERS.get(attempt.who) or User(attempt.who)
        try:
            return self.caller.send(attempt.verb, sent, user, dry=attempt.dry, subresource=attempt.subresource)
        finally:
            self._clear(sent)
            self._clear(base)

    def _prepare(self, item: Json, *, ending: bool) -> None:
        if ending:
            item = merged(item, {"metadata": {"finalizers": [HOLD]}})
        self.caller.must("create", item)
        if ending:
            self.caller.must("delete", item)

    def _clear(self, item: Json) -> None:
        self.caller.send("patch", merged(item, {"metadata": {"finalizers": []}}))
        self.caller.send("delete", item)


def rights(user: User, namespace: str) -> list[Json]:
    """Everything of Cluster API in the namespace, and the Namespace itself."""
    groups = [
        "cluster.x-k8s.io", "infrastructure.cluster.x-k8s.io", "ipam.cluster.x-k8s.io", "proxmox.cozystack.io",
    ]  # fmt: skip
    subject = {"kind": "User", "apiGroup": RBAC, "name": user.name}
    local = {"name": user.name, "namespace": namespace}
    own = {
        "apiGroups": [""],
        "resources": ["namespaces"],
        "resourceNames": [namespace],
        "verbs": ["get", "update", "patch"],
    }
    return [
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "Role",
            "metadata": local,
            "rules": [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}],
        },
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": local,
            "subjects": [subject],
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": user.name},
        },
        {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": user.name}, "rules": [own]},
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": user.name},
            "subjects": [subject],
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": user.name},
        },
    ]
