"""Fetch what a pod refers to: Secrets, ConfigMaps, tokens of its service account (renewed before they expire)."""

import base64
import time
from dataclasses import dataclass
from typing import Any

from e2e.bed.api import Api
from e2e.bed.kubelet.environment import references
from e2e.bed.kubelet.volumes import Sources, TokenRequest, token_requests

Object = dict[str, Any]
RENEW_AT = 0.8  # of a token's lifetime, as a real kubelet does


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    renew_at: float  # on the monotonic clock


class PodSources:
    """One pod's view of the API. Not safe for use by two tasks at once."""

    def __init__(self, api: Api, pod: Object) -> None:
        self._api = api
        self._pod = pod
        self._tokens: dict[TokenRequest, Token] = {}

    async def fetch(self) -> Sources:
        """Everything the pod's variables and volumes name; what does not exist is left out."""
        wanted = references(self._pod, self._pod["spec"]["containers"])
        secrets = {}
        for name in wanted["secret"]:
            if secret := await self._find("secrets", name):
                secrets[name] = {key: base64.b64decode(text) for key, text in secret.get("data", {}).items()}
        config_maps = {}
        for name in wanted["configMap"]:
            if found := await self._find("configmaps", name):
                binary = {key: base64.b64decode(text) for key, text in found.get("binaryData", {}).items()}
                config_maps[name] = binary | {key: text.encode() for key, text in found.get("data", {}).items()}
        tokens = {request.audience: await self._token(request) for request in token_requests(self._pod)}
        return Sources(secrets, config_maps, tokens)

    async def _find(self, plural: str, name: str) -> Object | None:
        return await self._api.find(f"/api/v1/namespaces/{self._pod['metadata']['namespace']}/{plural}/{name}")

    async def _token(self, wanted: TokenRequest) -> str:
        held = self._tokens.get(wanted)
        if held is None or time.monotonic() >= held.renew_at:
            held = await self._request(wanted)
            self._tokens[wanted] = held
        return held.text

    async def _request(self, wanted: TokenRequest) -> Token:
        meta, account = self._pod["metadata"], self._pod["spec"].get("serviceAccountName", "default")
        spec: Object = {
            "expirationSeconds": wanted.seconds,
            # Bound to the pod: it dies with it.
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]},
        }
        if wanted.audience:
            spec["audiences"] = [wanted.audience]
        path = f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{account}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        answer = await self._api.call("POST", path, body)
        renew_at = time.monotonic() + RENEW_AT * wanted.seconds
        return Token(answer["status"]["token"], renew_at)
