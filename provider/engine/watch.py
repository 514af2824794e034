"""Watches of the kinds with few objects, by kopf: zones and networks.

kopf runs in a thread with an event loop of its own, since it ends all tasks of its loop when it stops. Its handlers
only say which object changed; every reconcile reads what it needs itself. kopf puts nothing on the objects: no
finalizer, no annotation.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import kopf

from provider.api.ipam import Key
from provider.edge.kube.auth import Access
from provider.edge.kube.resources import Resource

OnKey = Callable[[Resource, Key], None]


class Watch:
    """Tells of every change of some kinds, in the event loop that called `run`."""

    def __init__(self, access: Access, resources: Sequence[Resource], on_key: OnKey, namespace: str | None) -> None:
        self._access = access
        self._resources = resources
        self._on_key = on_key
        self._namespace = namespace

    async def run(self) -> None:
        """Watch until cancelled. An error of kopf ends this with the same error."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        stop = threading.Event()

        def finish(error: BaseException | None) -> None:
            if not done.done():
                if error is None:
                    done.set_result(None)
                else:
                    done.set_exception(error)

        def work() -> None:
            error: BaseException | None = None
            try:
                asyncio.run(self._operate(loop, stop))
            except Exception as failure:
                error = failure
            loop.call_soon_threadsafe(finish, error)

        thread = threading.Thread(target=work, name="kopf", daemon=True)
        thread.start()
        try:
            await asyncio.shield(done)
        finally:
            stop.set()

    async def _operate(self, loop: asyncio.AbstractEventLoop, stop: threading.Event) -> None:
        registry = kopf.OperatorRegistry()
        settings = kopf.OperatorSettings()
        settings.posting.enabled = False
        settings.scanning.disabled = True

        @kopf.on.login(registry=registry)
        def login(**_: Any) -> kopf.ConnectionInfo:
            return kopf.ConnectionInfo(**self._access.kopf_fields())

        for resource in self._resources:
            self._register(registry, resource, loop)
        namespaces = {"namespaces": [self._namespace]} if self._namespace else {"clusterwide": True}
        # kopf would ask for the user's name, and a container's numeric user may have none. (Its type of an identity,
        # a name for str, is not public.)
        scope: dict[str, Any] = {"identity": "pxnet", **namespaces}
        await kopf.operator(registry=registry, settings=settings, standalone=True, stop_flag=stop, **scope)

    def _register(self, registry: kopf.OperatorRegistry, resource: Resource, loop: asyncio.AbstractEventLoop) -> None:
        @kopf.on.event(resource.group, resource.version, resource.plural, registry=registry)
        async def changed(name: str | None, namespace: str | None, **_: Any) -> None:
            loop.call_soon_threadsafe(self._on_key, resource, (namespace or "", name or ""))
