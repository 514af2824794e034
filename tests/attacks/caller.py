"""Requests to the API server as somebody: a tenant's user, a service account, or the platform's admin.

The admin's credentials impersonate the others, so the server judges rights and admission as if they had asked.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3
from kubernetes import client, config

Json = dict[str, Any]

CONTENT = {
    "create": "application/json",
    "replace": "application/json",
    "patch": "application/merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
METHODS = {"create": "POST", "replace": "PUT", "patch": "PATCH", "apply": "PATCH", "delete": "DELETE", "get": "GET"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said: HTTP status, the object or Status, and the message of a refusal."""

    code: int
    body: Json

    @property
    def accepted(self) -> bool:
        return self.code < 300

    @property
    def message(self) -> str:
        return "" if self.accepted else str(self.body.get("message", self.body))


@dataclass(frozen=True, slots=True)
class User:
    """Whom to be. The server itself adds a service account's groups."""

    name: str


class Caller:
    """Requests to one API server, as whoever is given with each."""

    def __init__(self, kubeconfig: Path) -> None:
        access = client.Configuration()
        config.load_kube_config(str(kubeconfig), client_configuration=access)
        self._server = access.host
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}
        self._http = urllib3.PoolManager(
            maxsize=8, block=True, retries=False, ca_certs=access.ssl_ca_cert,
            cert_file=access.cert_file, key_file=access.key_file,
        )  # fmt: skip

    def close(self) -> None:
        self._http.clear()

    def send(
        self, verb: str, item: Json, user: User | None = None, *, dry: bool = False, subresource: str = ""
    ) -> Answer:
        """Do a verb of METHODS with an object, or a patch that carries apiVersion, kind, and metadata's names."""
        path = self._path(item, named=verb != "create")
        if subresource:
            path += f"/{subresource}"
        query = ["dryRun=All"] if dry else []
        if verb == "apply":
            query += ["fieldManager=attacker", "force=true"]
        headers = {"Content-Type": CONTENT.get(verb, "application/json")}
        if user is not None:
            headers["Impersonate-User"] = user.name
        answer = self._http.request(
            METHODS[verb],
            f"{self._server}{path}{'?' + '&'.join(query) if query else ''}",
            body=json.dumps(item).encode() if verb not in ("get", "delete") else None,
            headers=headers,
            timeout=30.0,
        )
        return Answer(answer.status, json.loads(answer.data) if answer.data.startswith(b"{") else {})

    def must(
        self, verb: str, item: Json, user: User | None = None, *, dry: bool = False, subresource: str = ""
    ) -> Json:
        """As `send`, for what has to succeed."""
        answer = self.send(verb, item, user, dry=dry, subresource=subresource)
        assert answer.accepted, f"{verb} {item['kind']} {item['metadata']}: {answer.code} {answer.message}"
        return answer.body

    def _path(self, item: Json, *, named: bool) -> str:
        version, metadata = item["apiVersion"], item["metadata"]
        plural, namespaced = self._served(version, item["kind"])
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        place = f"/namespaces/{metadata['namespace']}" if namespaced else ""
        return f"{root}{place}/{plural}" + (f"/{metadata['name']}" if named else "")

    def _served(self, version: str, kind: str) -> tuple[str, bool]:
        if (version, kind) not in self._plurals:
            root = f"/apis/{version}" if "/" in version else f"/api/{version}"
            listed = json.loads(self._http.request("GET", self._server + root, timeout=30.0).data)
            for resource in listed["resources"]:
                if "/" not in resource["name"]:
                    self._plurals[version, resource["kind"]] = (resource["name"], resource["namespaced"])
        return self._plurals[version, kind]
