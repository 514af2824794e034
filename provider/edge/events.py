"""Events on the objects we change, so that `kubectl describe` tells the story.

Best effort by nature: an Event that cannot be written is logged and counted and never fails what it tells of. One Event
a change; saying the same of the same object again is dropped.
"""

import asyncio
import os
import socket
import time
from collections import OrderedDict

import structlog

from provider.api.ipam import Json
from provider.edge.clock import Clock
from provider.edge.kube.client import Kube
from provider.edge.kube.errors import KubeError
from provider.edge.kube.resources import EVENTS
from provider.edge.metrics import Metrics

REMEMBERED = 10_000
"""Objects whose last Event is remembered, to drop repetitions."""

WAITING = 200
"""Events that may wait to be written; in a storm what comes on top is dropped and counted."""

BUSY = 20
"""Events that may wait before only warnings join them."""

PACE = 0.25
"""Seconds between writes while others wait: an Event a claim would cost a storm a fourth of its speed."""

COMPONENT = "pxnet"

log = structlog.get_logger(__name__)


class Events:
    """Records Events; `run` writes them in the background."""

    def __init__(self, kube: Kube, clock: Clock, metrics: Metrics | None = None) -> None:
        self._kube = kube
        self._metrics = metrics or Metrics()
        self._clock = clock
        self._queue: asyncio.Queue[tuple[str, Json]] = asyncio.Queue(WAITING)
        self._last: OrderedDict[str, tuple[str, str]] = OrderedDict()
        self._count = 0
        self._instance = f"{socket.gethostname()}-{os.getpid()}"

    def note(self, api_version: str, kind: str, namespace: str, name: str, uid: str, reason: str, message: str) -> None:
        """Something went as it should."""
        self._record("Normal", api_version, kind, namespace, name, uid, reason, message)

    def warn(self, api_version: str, kind: str, namespace: str, name: str, uid: str, reason: str, message: str) -> None:
        """Somebody should look at this."""
        self._record("Warning", api_version, kind, namespace, name, uid, reason, message)

    async def run(self) -> None:
        while True:
            namespace, body = await self._queue.get()
            try:
                await self._kube.create(EVENTS, body, namespace)
            except KubeError as error:
                self._metrics.event_dropped()
                log.info("event not written", reason=body["reason"], about=body["regarding"]["name"], error=str(error))
            if not self._queue.empty():
                await self._clock.sleep(PACE)

    def _record(
        self,
        kind_of_event: str,
        api_version: str,
        kind: str,
        namespace: str,
        name: str,
        uid: str,
        reason: str,
        message: str,
    ) -> None:
        if self._last.get(uid) == (reason, message):
            return
        if kind_of_event == "Normal" and self._queue.qsize() >= BUSY:
            self._metrics.event_dropped()
            return
        self._last[uid] = (reason, message)
        self._last.move_to_end(uid)
        if len(self._last) > REMEMBERED:
            self._last.popitem(last=False)
        self._count += 1
        # Events of cluster-scoped objects live in "default", as everywhere in Kubernetes.
        home = namespace or "default"
        regarding = {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
        if namespace:
            regarding["namespace"] = namespace
        body: Json = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": f"{name[:200]}.{time.time_ns():x}{self._count:x}", "namespace": home},
            "eventTime": self._clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": COMPONENT,
            "reportingInstance": self._instance[:128],
            "action": "Reconcile",
            "type": kind_of_event,
            "reason": reason,
            "note": message[:1000],
            "regarding": regarding,
        }
        try:
            self._queue.put_nowait((home, body))
        except asyncio.QueueFull:
            self._metrics.event_dropped()
