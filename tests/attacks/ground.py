"""What is attacked: two zones of which pxnet, as it is shipped, keeps the policies, and what tenants' users may do."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from tests.attacks.attempts import Attempt, bases, filled, merged
from tests.attacks.caller import Answer, Caller, User

Json = dict[str, Any]

GROUND = Path(__file__).parent / "ground.yaml"
NAMESPACES = {"a": "team-a", "b": "team-b", "c": "team-c"}
USERS = {"neighbour": User("user-a"), "tenant": User("user-b"), "outsider": User("user-c")}
EXEMPT = "--exempt-namespaces=kube-system,pxnet-system,platform"
SECONDS = 60.0
HOLD = "attacks.test/hold"
RBAC = "rbac.authorization.k8s.io"
TENANT_GROUPS = (
    "cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
    "ipam.cluster.x-k8s.io",
    "proxmox.cozystack.io",
)
ZONE = {"apiVersion": "proxmox.cozystack.io/v1alpha1", "kind": "ProxmoxNetworkZone"}
NETWORK = {"apiVersion": "proxmox.cozystack.io/v1alpha1", "kind": "ProxmoxNetwork"}


def until(probe: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not probe():
        assert time.monotonic() < deadline, f"not within {SECONDS:g} s: {what}"
        time.sleep(0.1)


@dataclass(frozen=True, slots=True)
class Ground:
    """Attempts are made here, one after the other, and leave nothing."""

    caller: Caller
    version: str

    @classmethod
    def make(cls, caller: Caller, version: str) -> Self:
        """Bring it about, where pxnet is at work; `version` is the newest that capmox's kinds have."""
        for item in yaml.safe_load(GROUND.read_text()):
            caller.must("create", item)
        for key, user in zip(NAMESPACES, USERS.values(), strict=True):
            for item in rights(user, NAMESPACES[key]):
                caller.must("create", item)
        for item in meddling():
            caller.must("create", item)
        ground = cls(caller, version)
        for zone in ("attacked", "other"):
            until(lambda zone=zone: ground.is_said({**ZONE, "metadata": {"name": zone}}, "AdmissionReady"), zone)  # type: ignore[misc]
        for namespace, name in (("team-a", "blue"), ("team-a", "far"), ("team-b", "green"), ("team-b", "flat")):
            network = {**NETWORK, "metadata": {"namespace": namespace, "name": name}}
            until(lambda network=network: ground.is_said(network, "Ready"), f"{namespace}/{name} is ready")  # type: ignore[misc]
        # What the API server was told it does not judge by at once.
        for nic in ({"bridge": "vmbr7", "vlan": 2}, {"bridge": "Vmbr8", "vlan": 2}, {"bridge": "no bridge"}):
            until(lambda nic=nic: not ground.lets(nic), f"the policies are in force: {nic}")  # type: ignore[misc]
        until(lambda: ground.lets({"bridge": "vmbr7", "vlan": 108}), "the honest machine of team-b passes")
        return ground

    def is_said(self, item: Json, condition: str) -> bool:
        """Whether an object has the condition, and it is True."""
        answer = self.caller.send("get", item)
        said = answer.body.get("status", {}).get("conditions", ()) if answer.accepted else ()
        return any(each["type"] == condition and each["status"] == "True" for each in said)

    def lets(self, nic: Json) -> bool:
        """Whether team-b may have a machine with this NIC."""
        old = self.version == "v1alpha1"
        network = {"default": nic} if old else {"networkDevices": [{"name": "net0", **nic}]}
        probe = {**self.item("old-machine" if old else "machine", "probe")}
        probe["spec"] = {**probe["spec"], "network": network}
        return self.caller.send("create", probe, USERS["tenant"], dry=True).accepted

    def item(self, base: str, name: str) -> Json:
        item: Json = filled(bases()[base], name=name, **NAMESPACES)
        return item

    def run(self, attempt: Attempt, name: str) -> Answer:
        """Try it, and take away what it and its preparation left."""
        values = {**NAMESPACES, "name": name}
        base = self.item(attempt.object, name)
        change = filled(attempt.change, **values)
        user = None if attempt.who == "admin" else USERS.get(attempt.who) or User(attempt.who)
        made = base if attempt.before is None else merged(base, filled(attempt.before, **values))
        present = attempt.before is not None
        sent = merged(made, change)
        if attempt.verb in ("patch", "apply", "delete") and present:
            names = {key: made["metadata"][key] for key in ("name", "namespace") if key in made["metadata"]}
            sent = {**change, "apiVersion": made["apiVersion"], "kind": made["kind"]}
            sent["metadata"] = {**change.get("metadata", {}), **names}
        try:
            if present:
                self._prepare(made, ending=attempt.ending)
            if attempt.verb == "replace":
                version = self.caller.must("get", sent)["metadata"]["resourceVersion"]
                sent = merged(sent, {"metadata": {"resourceVersion": version}})
            return self.caller.send(attempt.verb, sent, user, dry=attempt.dry, subresource=attempt.subresource)
        finally:
            if "{name}" in str(bases()[attempt.object]["metadata"]["name"]):
                self._clear(made)
                self._clear(sent)

    def _prepare(self, item: Json, *, ending: bool) -> None:
        """The admin makes it. What is there already, like a network's own pool, is left as it is."""
        if ending:
            item = merged(item, {"metadata": {"finalizers": [HOLD]}})
        if self.caller.send("get", item).code == 404:
            self.caller.must("create", item)
        if ending:
            self.caller.must("delete", item)

    def _clear(self, item: Json) -> None:
        names = {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": dict(item["metadata"])}
        names["metadata"] = {key: names["metadata"][key] for key in ("name", "namespace") if key in names["metadata"]}
        if self.caller.send("get", names).accepted:
            self.caller.send("patch", merged(names, {"metadata": {"finalizers": []}}))
            self.caller.send("delete", names)


def rights(user: User, namespace: str) -> list[Json]:
    """Everything with Cluster API's kinds in the namespace, status included, and the Namespace itself."""
    subjects = [{"kind": "User", "apiGroup": RBAC, "name": user.name}]
    reference = {"apiGroup": RBAC, "name": user.name}
    version, local, everywhere = f"{RBAC}/v1", {"name": user.name, "namespace": namespace}, {"name": user.name}
    names = ["namespaces", "namespaces/status", "namespaces/finalize"]
    verbs = ["get", "update", "patch"]
    own = {"apiGroups": [""], "resources": names, "resourceNames": [namespace], "verbs": verbs}
    everything = {"apiGroups": [*TENANT_GROUPS], "resources": ["*"], "verbs": ["*"]}
    return [
        {"apiVersion": version, "kind": "Role", "metadata": local, "rules": [everything]},
        {
            "apiVersion": version,
            "kind": "RoleBinding",
            "metadata": local,
            "subjects": subjects,
            "roleRef": {**reference, "kind": "Role"},
        },
        {"apiVersion": version, "kind": "ClusterRole", "metadata": everywhere, "rules": [own]},
        {
            "apiVersion": version,
            "kind": "ClusterRoleBinding",
            "metadata": everywhere,
            "subjects": subjects,
            "roleRef": {**reference, "kind": "ClusterRole"},
        },
    ]


def meddling() -> list[Json]:
    """A user who may do everything with pxnet's objects and with namespaces everywhere, except to write a status."""
    plurals = ["addressblocks", "networkblocks", "proxmoxnetworkzones", "proxmoxnetworks"]
    rules = [
        {"apiGroups": ["proxmox.cozystack.io"], "resources": plurals, "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["*"]},
    ]
    version, metadata = f"{RBAC}/v1", {"name": "meddler"}
    subjects = [{"kind": "User", "apiGroup": RBAC, "name": "meddler"}]
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "meddler"}
    return [
        {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": rules},
        {
            "apiVersion": version,
            "kind": "ClusterRoleBinding",
            "metadata": metadata,
            "subjects": subjects,
            "roleRef": reference,
        },
    ]
