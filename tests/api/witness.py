"""A plain REST client: an independent witness of what the API server holds. It shares no code with the provider."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import urllib3
from kubernetes import client, config

Json = dict[str, Any]
T = TypeVar("T")

IPAM = "ipam.cluster.x-k8s.io"
CAPI = "cluster.x-k8s.io"
OWN = "proxmox.cozystack.io"

ZONE, NETWORK = "ProxmoxNetworkZone", "ProxmoxNetwork"
POLICY, POLICY_BINDING = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"
GUARD, MACHINE = "ValidatingAdmissionPolicy", "ProxmoxMachine"
VLAN = "Vlan"
CLAIM, ADDRESS = "IPAddressClaim", "IPAddress"
POOL, GLOBAL_POOL = "InClusterIPPool", "GlobalInClusterIPPool"
CLUSTER, BLOCK, NETWORK_BLOCK, NAMESPACE, EVENT, LEASE, CRD = (
    "Cluster", "AddressBlock", "NetworkBlock", "Namespace", "Event", "Lease", "CustomResourceDefinition"
)  # fmt: skip

LOOK_EVERY = 0.03
"""Seconds between looks at something that is waited for."""


class Refused(Exception):
    """The API server said no. `code` is the HTTP status, `reason` the Status object's reason."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code, self.reason = code, reason


def until(probe: Callable[[], T], what: str, timeout: float = 15.0) -> T:
    """Call `probe` until it gives something true, and give that. Fails with `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not (found := probe()):
        assert time.monotonic() < deadline, f"not within {timeout:g} s: {what}; the last look gave {found!r}"
        time.sleep(LOOK_EVERY)
    return found


class Witness:
    """Requests to one API server. Safe to use from several threads."""

    def __init__(self, kubeconfig: Path, ipam_version: str = "v1beta2") -> None:
        access = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=access)
        self._server = access.host
        self._http = urllib3.PoolManager(
            maxsize=16, block=True, retries=False, ca_certs=access.ssl_ca_cert,
            cert_file=access.cert_file, key_file=access.key_file,
        )  # fmt: skip
        self.ipam_version = ipam_version
        self._kinds = {
            CLAIM: (f"{IPAM}/{ipam_version}", "ipaddressclaims"),
            ADDRESS: (f"{IPAM}/{ipam_version}", "ipaddresses"),
            POOL: (f"{IPAM}/v1alpha2", "inclusterippools"),
            GLOBAL_POOL: (f"{IPAM}/v1alpha2", "globalinclusterippools"),
            CLUSTER: (f"{CAPI}/{ipam_version}", "clusters"),
            BLOCK: (f"{OWN}/v1alpha1", "addressblocks"),
            NETWORK_BLOCK: (f"{OWN}/v1alpha1", "networkblocks"),
            ZONE: (f"{OWN}/v1alpha1", "proxmoxnetworkzones"),
            NETWORK: (f"{OWN}/v1alpha1", "proxmoxnetworks"),
            POLICY: ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies"),
            POLICY_BINDING: ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings"),
            NAMESPACE: ("v1", "namespaces"),
            EVENT: ("v1", "events"),
            MACHINE: ("infrastructure.cluster.x-k8s.io/v1alpha2", "proxmoxmachines"),
            GUARD: ("admissionregistration.k8s.io/v1", "validatingadmissionpolicies"),
            VLAN: ("kubeovn.io/v1", "vlans"),
            LEASE: ("coordination.k8s.io/v1", "leases"),
            "ProxmoxNetworkZone": (f"{OWN}/v1alpha1", "proxmoxnetworkzones"),
            "ProxmoxNetwork": (f"{OWN}/v1alpha1", "proxmoxnetworks"),
            CRD: ("apiextensions.k8s.io/v1", "customresourcedefinitions"),
        }

    def close(self) -> None:
        self._http.clear()

    def version_of(self, kind: str) -> str:
        return self._kinds[kind][0]

    def answers(self, path: str) -> bool:
        """Whether a GET of the path succeeds."""
        try:
            self._call("GET", path)
        except Refused:
            return False
        return True

    def create(self, body: Json) -> Json:
        """Create an object; its apiVersion is filled in by its kind."""
        body = {"apiVersion": self.version_of(body["kind"]), **body}
        return self._call("POST", self._path(body["kind"], body["metadata"].get("namespace")), body)

    def find(self, kind: str, namespace: str | None, name: str) -> Json | None:
        """The object, or None where there is none."""
        try:
            return self.get(kind, namespace, name)
        except Refused as error:
            if error.code == 404:
                return None
            raise

    def get(self, kind: str, namespace: str | None, name: str) -> Json:
        return self._call("GET", f"{self._path(kind, namespace)}/{name}")

    def list(self, kind: str, namespace: str | None = None, labels: str = "") -> list[Json]:
        items: list[Json] = self._call("GET", self._path(kind, namespace) + f"?labelSelector={labels}")["items"]
        return items

    def patch(self, kind: str, namespace: str | None, name: str, patch: Json, subresource: str = "") -> Json:
        """A JSON merge patch."""
        path = f"{self._path(kind, namespace)}/{name}{'/' + subresource if subresource else ''}"
        return self._call("PATCH", path, patch, "application/merge-patch+json")

    def delete(self, kind: str, namespace: str | None, name: str) -> None:
        """Ask for its deletion; it is fine if it is gone."""
        try:
            self._call("DELETE", f"{self._path(kind, namespace)}/{name}")
        except Refused as error:
            if error.code != 404:
                raise

    def _path(self, kind: str, namespace: str | None) -> str:
        version, plural = self._kinds[kind]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"

    def _call(self, method: str, path: str, body: Json | None = None, content: str = "application/json") -> Json:
        answer = self._http.request(
            method, self._server + path, body=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": content}, timeout=20.0,
        )  # fmt: skip
        found: Json = json.loads(answer.data) if answer.data.startswith(b"{") else {}
        if answer.status >= 400:
            text = found.get("message", "") or answer.data.decode(errors="replace")
            raise Refused(answer.status, found.get("reason", ""), text)
        return found
