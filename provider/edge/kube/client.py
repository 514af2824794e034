"""A small Kubernetes client: JSON in, JSON out, errors by meaning.

The claims are a hot path, so this speaks HTTP by aiohttp and knows no models. `Kube` is what the rest of
the provider may ask of an API server; the tests' fake implements the same.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

import aiohttp

from provider.edge.kube.auth import Access
from provider.edge.kube.documents import Json, NoJson, read_event, read_list, read_whole, to_json
from provider.edge.kube.errors import Gone, KubeError, Unavailable, error_of
from provider.edge.kube.kubeconfig import AccessError
from provider.edge.kube.resources import Resource, plural_of
from provider.edge.metrics import Metrics

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

REQUEST_TIMEOUT = 30.0
"""Seconds for one request; after that its outcome is unknown."""

CONNECTIONS = 24
"""Requests under way at one time: enough to keep a server busy. asyncio gives each TLS connection a 256 KB buffer."""

SILENCE = 90.0
"""Seconds without a byte after which a watch is taken for dead; the server sends a bookmark about every minute."""


class Kube(Protocol):
    """An API server. Every method raises `KubeError`; `Unavailable` of a write means that it may have happened."""

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Json: ...

    async def list_page(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        limit: int | None = None,
        token: str | None = None,
        metadata_only: bool = False,
    ) -> Json: ...

    async def list_all(
        self, resource: Resource, namespace: str | None = None, *, labels: str | None = None
    ) -> list[Json]: ...

    async def create(self, resource: Resource, body: Json, namespace: str | None = None) -> Json: ...

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Json,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        metadata_only: bool = False,
    ) -> Json: ...

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        version: str | None = None,
    ) -> None: ...

    def watch(
        self, resource: Resource, version: str, namespace: str | None = None, *, metadata_only: bool = False
    ) -> AsyncIterator[Json]: ...


class Client:
    """`Kube` over HTTP. Use `async with`; one connection pool for everything the process does."""

    def __init__(self, access: Access, connections: int = CONNECTIONS, metrics: Metrics | None = None) -> None:
        self._access = access
        self._metrics = metrics or Metrics()
        # aiohttp's own limit starves who waits: a busy caller's next request takes the connection it just gave back. A
        # semaphore serves in order. Watches are not counted.
        self._turns = asyncio.Semaphore(connections)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> "Client":
        connector = aiohttp.TCPConnector(ssl=self._access.ssl, limit=0)
        self._session = aiohttp.ClientSession(connector=connector, raise_for_status=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Json:
        return await self.request("GET", resource.path(namespace, name))

    async def list_page(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        labels: str | None = None,
        limit: int | None = None,
        token: str | None = None,
        metadata_only: bool = False,
    ) -> Json:
        query = {"labelSelector": labels, "limit": str(limit) if limit else None, "continue": token}
        return await self.request(
            "GET",
            resource.path(namespace),
            query={key: value for key, value in query.items() if value},
            accept=METADATA_LIST if metadata_only else None,
            read=read_list,
        )

    async def list_all(
        self, resource: Resource, namespace: str | None = None, *, labels: str | None = None
    ) -> list[Json]:
        """All objects. Only for kinds that are few: the list is read whole."""
        page = await self.list_page(resource, namespace, labels=labels)
        items: list[Json] = page["items"]
        return items

    async def create(self, resource: Resource, body: Json, namespace: str | None = None) -> Json:
        return await self.request("POST", resource.path(namespace), body)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Json,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        metadata_only: bool = False,
    ) -> Json:
        """JSON merge patch; with metadata.resourceVersion in it the write loses to any newer one (Conflict)."""
        return await self.request(
            "PATCH",
            resource.path(namespace, name, subresource),
            patch,
            content_type=MERGE_PATCH,
            accept=METADATA_ONLY if metadata_only else None,
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        version: str | None = None,
    ) -> None:
        """Delete; with `uid` only that very object, with `version` only as it was read (else Conflict)."""
        body: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        preconditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value is not None}
        if preconditions:
            body["preconditions"] = preconditions
        await self.request("DELETE", resource.path(namespace, name), body)

    async def watch(
        self, resource: Resource, version: str, namespace: str | None = None, *, metadata_only: bool = False
    ) -> AsyncIterator[Json]:
        """Events after `version`, bookmarks included, until the server ends the stream.

        Raises:
            Gone: the version is too old; list again.
        """
        query = {"watch": "true", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "3000"}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=SILENCE)
        headers = await self._headers(METADATA_ONLY if metadata_only else None)
        try:
            async with self._http().get(
                self._access.server + resource.path(namespace), params=query, headers=headers, timeout=timeout
            ) as response:
                if response.status != 200:
                    raise _failure(response.status, await response.read(), response.headers)
                # Lines are split here, not by readline(): objects may be longer than aiohttp's line limit.
                rest = b""
                async for chunk in response.content.iter_any():
                    *lines, rest = (rest + chunk).split(b"\n")
                    for line in lines:
                        event = read_event(line)
                        if event["type"] == "ERROR":
                            status = event["object"]
                            raise error_of(status.get("code", 500), status.get("reason", ""), status.get("message", ""))
                        yield event
        except (aiohttp.ClientError, TimeoutError, NoJson) as error:
            raise Unavailable(f"watch of {resource.plural} broke: {str(error) or type(error).__name__}") from error

    async def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        accept: str | None = None,
        read: Callable[[bytes], Json] = read_whole,
    ) -> Json:
        headers = await self._headers(accept)
        if body is not None:
            headers["Content-Type"] = content_type
        async with self._turns:
            payload = await self._exchange(method, path, body, query, headers)
        try:
            return read(payload)
        except NoJson as error:
            raise Unavailable(f"{method} {path}: the answer cannot be read: {error}") from error

    async def _exchange(
        self, method: str, path: str, body: Json | None, query: Mapping[str, str] | None, headers: dict[str, str]
    ) -> bytes:
        started, status = time.monotonic(), 0
        try:
            async with self._http().request(
                method,
                self._access.server + path,
                params=query,
                data=to_json(body) if body is not None else None,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT, sock_connect=10),
            ) as response:
                # Not response.read(): a response keeps what it read, and lives until the collector comes by.
                payload = await response.content.read()
                status = response.status
                if status >= 300:
                    raise _failure(status, payload, response.headers)
                return payload
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Unavailable(f"{method} {path}: {str(error) or type(error).__name__}") from error
        finally:
            self._metrics.api_request(method, plural_of(path), status, time.monotonic() - started)

    async def _headers(self, accept: str | None) -> dict[str, str]:
        headers = {"Accept": accept or "application/json", "User-Agent": "pxnet"}
        try:
            headers.update(await self._access.headers())
        except AccessError as error:
            # A token file that is just being replaced, a credential server that is away: as good as no API server.
            raise Unavailable(str(error)) from error
        return headers

    def _http(self) -> aiohttp.ClientSession:
        assert self._session is not None, "the client is used outside of its `async with`"
        return self._session


def _failure(status: int, payload: bytes, headers: Mapping[str, str]) -> KubeError:
    try:
        answer = read_whole(payload)
    except NoJson:
        answer = {}  # a proxy on the way, perhaps: its text is shown as it is
    retry = headers.get("Retry-After", "")
    message = answer.get("message") or payload[:300].decode(errors="replace") or f"HTTP status {status}"
    return error_of(status, answer.get("reason", ""), message, float(retry) if retry.isdigit() else None)


__all__ = ["Client", "Gone", "Json", "Kube"]
