"""The process: flags, credentials, health, metrics, leadership, and a clean end."""

import asyncio
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from provider import flags
from provider.edge import logs
from provider.edge.clock import SystemClock
from provider.edge.events import Events
from provider.edge.health import LEADER, READINESS, Health, HealthError
from provider.edge.kube.auth import Access, find_access
from provider.edge.kube.client import Client
from provider.edge.kube.discovery import MissingKind, find_versions
from provider.edge.kube.errors import KubeError, Unavailable
from provider.edge.kube.kubeconfig import AccessError
from provider.edge.kube.ownership import ForeignKind, require_own_kinds
from provider.edge.kube.resources import NETWORKS, ZONES
from provider.edge.metrics import Metrics
from provider.engine.lease import Lease
from provider.engine.watch import Watch
from provider.flags import Flags
from provider.leading import Leading, Options
from provider.zoning import Zoning

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
LEASE_NAME = "pxnet-provider"
START_TRIES = 30
"""Seconds for which an API server that does not answer yet is waited for at the start."""

log = structlog.get_logger(__name__)


class Wrong(Exception):
    """The process cannot work as it was started; one line says why and what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the provider. Returns the exit status: 0 after a clean stop, 1 when it cannot work."""
    options = flags.parse(arguments)
    # What lives long here are values without cycles, tens of thousands of them. By default Python would walk them all
    # again and again while they are read in: a third of the time that a start takes.
    gc.set_threshold(50_000, 20, 100)
    logs.configure(options.log_level, options.log_format)
    try:
        asyncio.run(_run(options, find_access(options.kubeconfig, options.context)))
    except (AccessError, ForeignKind, HealthError, MissingKind, Wrong) as error:
        print(f"pxnet: {error}", file=sys.stderr)
        return 1
    return 0


async def _run(options: Flags, access: Access) -> None:
    health, metrics, clock = Health(), Metrics(), SystemClock()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    stop_metrics = _serve_metrics(metrics, options.metrics_address)
    await health.start(options.health_address)
    try:
        async with Client(access, metrics=metrics) as kube:
            settings = await _settings(kube, options)
            await health.set(READINESS, True)
            events = Events(kube, clock, metrics)

            async def lead() -> None:
                leading = Leading(
                    kube, clock, events, metrics, settings,
                    lambda own: Zoning(
                        kube, own.view, own.books, clock, events, settings.namespace,
                        admission=options.admission, exempt=_exempt(options),
                    ),
                )  # fmt: skip
                assert leading.networks is not None
                watch = Watch(access, (ZONES, NETWORKS), leading.networks.changed, settings.namespace)
                metrics.leading(True)
                await health.set(LEADER, True)
                try:
                    async with asyncio.TaskGroup() as group:
                        group.create_task(leading.run())
                        group.create_task(watch.run())
                finally:
                    metrics.leading(False)
                    await health.set(LEADER, False)

            async def candidate() -> None:
                identity = f"{socket.gethostname()}_{os.getpid()}"
                namespace = options.lease_namespace or _own_namespace()
                while True:
                    await Lease(kube, clock, namespace, LEASE_NAME, identity).lead(lead)

            work = [asyncio.create_task(candidate() if options.leader_elect else lead())]
            work.append(asyncio.create_task(events.run()))
            stopping = asyncio.create_task(stop.wait())
            done, _ = await asyncio.wait((*work, stopping), return_when=asyncio.FIRST_COMPLETED)
            for task in (*work, stopping):
                task.cancel()
            await asyncio.gather(*work, stopping, return_exceptions=True)
            for task in done - {stopping}:
                task.result()  # raises what ended it
            log.info("stopped")
    finally:
        await health.stop()
        stop_metrics()


async def _settings(kube: Client, options: Flags) -> Options:
    """Ask the API server what it serves, waiting a little for one that is still starting."""
    for left in range(START_TRIES, -1, -1):
        try:
            ipam, cluster = await find_versions(kube)
            await require_own_kinds(kube)
            break
        except Unavailable as error:
            if not left:
                raise Wrong(f"the API server does not answer: {error}") from error
            await asyncio.sleep(1.0)
        except KubeError as error:
            raise Wrong(f"the API server refuses us: {error}; check the credentials") from error
    return Options(
        drop_in=options.pools == "all",
        ipam_version=ipam,
        cluster_version=cluster,
        namespace=options.namespace,
        workers=options.workers,
    )


def _serve_metrics(metrics: Metrics, address: str) -> Callable[[], None]:
    if not address:
        return lambda: None
    host, _, port = address.rpartition(":")
    try:
        return metrics.serve(host.strip("[]") or "0.0.0.0", int(port))  # noqa: S104 - scraped from outside the pod
    except (OSError, OverflowError) as error:
        raise Wrong(f"--metrics-address {address!r} cannot be listened on: {error}") from error


def _exempt(options: Flags) -> tuple[str, ...]:
    """The namespaces that no policy judges."""
    if options.exempt_namespaces is not None:
        return options.exempt_namespaces
    return tuple(sorted({"kube-system", *([_own_namespace()] if NAMESPACE_FILE.is_file() else ())}))


def _own_namespace() -> str:
    return NAMESPACE_FILE.read_text().strip() if NAMESPACE_FILE.is_file() else "default"
