"""A bare client of the Kubernetes API for the bed's own use: JSON in, JSON out, no types, no cache.

The bed is an independent witness, so it shares no code with the provider's client. It refuses nothing and retries
nothing: a caller sees each answer as it came.
"""

import asyncio
import base64
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import aiohttp
import orjson
import yaml

from e2e.bed.errors import BedError

Object = dict[str, Any]
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
FIELD_OWNER = "pxnet-bed"
WATCH_SECONDS = 300


class ApiError(BedError):
    """The API server said no. `code` is the HTTP status, `reason` the Status object's reason."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason


class Api:
    """One connection pool to one API server. Use as `async with Api.from_kubeconfig(path) as api`."""

    def __init__(self, server: str, tls: ssl.SSLContext, token: str | None = None) -> None:
        self.server = server.rstrip("/")
        self._tls = tls
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._session: aiohttp.ClientSession | None = None
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Self:
        """Read server, trust and credentials of the current context. Certificates and tokens only, no exec plugins."""
        config = yaml.safe_load(path.read_text())
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        tls = ssl.create_default_context(cadata=(_content(cluster, "certificate-authority", path) or b"").decode())
        certificate, key = _content(user, "client-certificate", path), _content(user, "client-key", path)
        if certificate and key:
            with tempfile.NamedTemporaryFile() as pair:
                pair.write(certificate + b"\n" + key)
                pair.flush()
                tls.load_cert_chain(pair.name)
        return cls(cluster["server"], tls, user.get("token"))

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(ssl=self._tls, limit=64)
        self._session = aiohttp.ClientSession(connector=connector, headers=self._headers)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def call(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json", **query: str
    ) -> Object:
        """One request. Raises ApiError on any answer of 400 or more, aiohttp.ClientError when there is no answer."""
        assert self._session is not None, "used outside its `async with`"
        data = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": content_type}
        async with self._session.request(
            method, self.server + path, data=data, params=query, headers=headers
        ) as answer:
            text = await answer.read()
            if answer.status >= 400:
                raise _refusal(answer.status, text)
            parsed: Object = orjson.loads(text) if text.startswith(b"{") else {}
            return parsed

    async def get(self, path: str, **query: str) -> Object:
        return await self.call("GET", path, **query)

    async def find(self, path: str) -> Object | None:
        """The object, or None where there is none."""
        try:
            return await self.get(path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    async def merge(self, path: str, patch: Object) -> Object:
        return await self.call("PATCH", path, patch, "application/merge-patch+json")

    async def delete(self, path: str, **options: Any) -> None:
        """Delete; an object that is gone already is fine."""
        try:
            await self.call("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", **options})
        except ApiError as error:
            if error.code != 404:
                raise

    async def apply(self, item: Object) -> Object:
        """Server-side apply, taking over fields that others own."""
        path = await self.path_of(item)
        return await self.call(
            "PATCH", path, item, "application/apply-patch+yaml", fieldManager=FIELD_OWNER, force="true"
        )

    async def path_of(self, item: Object) -> str:
        """The object's own path. Raises ApiError 404 when its kind is not served."""
        version, kind, meta = item["apiVersion"], item["kind"], item["metadata"]
        if not await self.serves(version, kind):
            raise ApiError(404, "NotFound", f"{version} {kind} is not served here (object {meta['name']})")
        plural, namespaced = self._resources[version, kind]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        scope = f"/namespaces/{meta.get('namespace', 'default')}" if namespaced else ""
        return f"{root}{scope}/{plural}/{quote(meta['name'])}"

    async def serves(self, version: str, kind: str) -> bool:
        """Whether the kind is served, asking again when it was not."""
        if (version, kind) not in self._resources:
            await self._discover()
        return (version, kind) in self._resources

    async def _discover(self) -> None:
        assert self._session is not None
        for root in ("/api", "/apis"):
            async with self._session.get(self.server + root, headers={"Accept": DISCOVERY}) as answer:
                groups = orjson.loads(await answer.read())
            for group in groups["items"]:
                name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    full = f"{name}/{version['version']}" if name else version["version"]
                    for resource in version.get("resources", ()):
                        kind = resource.get("responseKind", {}).get("kind", "")
                        self._resources[full, kind] = (resource["resource"], resource["scope"] == "Namespaced")

    async def follow(self, path: str, **query: str) -> AsyncIterator[tuple[str, Object]]:
        """List, then watch for ever: ("ADDED" | "MODIFIED" | "DELETED", object), and ("SYNCED", {}) after each list.

        After a gap (410, lost connection) it lists again and says DELETED for what went away meanwhile.
        """
        known: dict[str, Object] = {}
        while True:
            try:
                listed = await self.get(path, **query)
                seen = {item["metadata"]["uid"]: item for item in listed.get("items", ())}
                for uid in set(known) - set(seen):
                    yield "DELETED", known.pop(uid)
                for uid, item in seen.items():
                    yield ("MODIFIED" if uid in known else "ADDED"), item
                known = seen
                yield "SYNCED", {}
                async for kind, item in self._watch(path, listed["metadata"]["resourceVersion"], query):
                    if kind == "DELETED":
                        known.pop(item["metadata"]["uid"], None)
                    else:
                        known[item["metadata"]["uid"]] = item
                    yield kind, item
            except (aiohttp.ClientError, TimeoutError):
                # The API server restarts in some stories.
                await asyncio.sleep(0.2)
            except ApiError as error:
                if error.code not in (404, 410, 429) and error.code < 500:
                    raise
                await asyncio.sleep(0.2)

    async def _watch(self, path: str, since: str, query: Mapping[str, str]) -> AsyncIterator[tuple[str, Object]]:
        assert self._session is not None
        params = {**query, "watch": "true", "timeoutSeconds": str(WATCH_SECONDS)}
        limit = aiohttp.ClientTimeout(total=None, sock_read=WATCH_SECONDS + 10)
        while True:
            params["resourceVersion"] = since
            async with self._session.get(self.server + path, params=params, timeout=limit) as answer:
                if answer.status >= 400:
                    raise _refusal(answer.status, await answer.read())
                async for line in _lines(answer.content):
                    event = orjson.loads(line)
                    if event["type"] == "ERROR":
                        status = event["object"]
                        raise ApiError(status.get("code", 500), status.get("reason", ""), status.get("message", ""))
                    since = event["object"]["metadata"]["resourceVersion"]
                    yield event["type"], event["object"]


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    # Objects (CRDs) may be far longer than aiohttp's own limit for a line.
    rest = b""
    async for chunk in stream.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line


def _refusal(code: int, text: bytes) -> ApiError:
    try:
        status = orjson.loads(text)
        return ApiError(code, status.get("reason", ""), status.get("message", ""))
    except (orjson.JSONDecodeError, AttributeError):
        return ApiError(code, "", text.decode(errors="replace")[:500])


def _named(entries: list[Object], name: str) -> Object:
    return next(entry for entry in entries if entry["name"] == name)


def _content(holder: Object, key: str, kubeconfig: Path) -> bytes | None:
    if f"{key}-data" in holder:
        return base64.b64decode(holder[f"{key}-data"])
    if key in holder:
        file: Path = kubeconfig.parent / holder[key]
        return file.read_bytes()
    return None
