"""One pod from its binding to its removal: network, volumes, containers, status, graceful end."""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from e2e.bed.api import Api, ApiError
from e2e.bed.errors import ProcessError
from e2e.bed.kubelet import environment, probes, rootfs, volumes
from e2e.bed.kubelet.containers import RETRY_SECONDS, Container, timestamp
from e2e.bed.kubelet.images import Image, short_name
from e2e.bed.kubelet.sources import PodSources
from e2e.bed.kubelet.status import ContainerState, PodFacts, pod_status
from e2e.bed.network import BedNetwork, PodNetwork
from e2e.bed.processes import Command

Object = dict[str, Any]
REFRESH_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Machine:
    """What all pods of the node share. `state` is a private directory, `logs` gets a file per container."""

    api: Api
    network: BedNetwork
    images: Mapping[str, Image]
    state: Path
    logs: Path
    hosts: Path


class Pod:
    """Runs one pod. `run` ends when the pod has ended for good or `remove` is called."""

    def __init__(self, machine: Machine, pod: Object) -> None:
        self._machine = machine
        self._pod = pod
        self._path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        self._directory: Path = machine.state / "pods" / pod["metadata"]["uid"]
        self._sources = PodSources(machine.api, pod)
        self._containers: list[Container] = []
        self._changed = asyncio.Event()
        self._leave = asyncio.Event()
        self._grace = 30.0
        self._written: Object = {}
        self._start_time = timestamp()

    def remove(self, grace: float) -> None:
        """Have it end within `grace` seconds."""
        self._grace = grace
        self._leave.set()

    async def run(self) -> None:
        network = await asyncio.to_thread(self._machine.network.pod_namespace, self._netns_name())
        try:
            self._pod["status"] = {"podIP": network.ip, "podIPs": [{"ip": network.ip}]}
            self._pod["status"]["hostIP"] = self._machine.network.address
            facts = PodFacts(network.ip, self._machine.network.address, self._start_time)
            self._containers = [self._container(spec, network) for spec in self._pod["spec"]["containers"]]
            self._changed.set()
            reporting = asyncio.create_task(self._report(facts))
            try:
                await self._run_containers(reporting)
                await asyncio.gather(*(container.stop(self._grace) for container in self._containers))
            finally:
                await _cancel([reporting])
        finally:
            await asyncio.to_thread(self._machine.network.release, network)
            shutil.rmtree(self._directory, ignore_errors=True)
        await self._forget()

    async def _run_containers(self, reporting: "asyncio.Task[None]") -> None:
        """Until the pod is told to leave. What a task cannot handle ends the pod, and is said."""
        leaving = asyncio.create_task(self._leave.wait())
        work: list[asyncio.Task[None]] = [asyncio.create_task(container.run()) for container in self._containers]
        work.append(asyncio.create_task(self._refresh()))
        pending: set[asyncio.Task[Any]] = {leaving, reporting, *work}
        try:
            while not leaving.done():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
        finally:
            await _cancel([leaving, *work])

    def _netns_name(self) -> str:
        meta = self._pod["metadata"]
        return f"{meta['name']}-{meta['uid'][:5]}"

    def _container(self, spec: Object, network: PodNetwork) -> Container:
        async def prepare() -> Command:
            return await self._command(spec, network)

        policy = self._pod["spec"].get("restartPolicy", "Always")
        return Container(spec, policy, network.ip, prepare, self._changed.set)

    async def _command(self, spec: Object, network: PodNetwork) -> Command:
        image = self._machine.images.get(short_name(spec["image"]))
        if image is None:
            raise ProcessError(f"no local program stands for image {spec['image']}")
        if self._pod["spec"].get("initContainers"):
            raise ProcessError("this kubelet does not run init containers")
        if trouble := probes.refusal(spec):
            raise ProcessError(f"container {spec['name']}: {trouble}")
        user, group = identity(self._pod, spec, image)
        sources = await self._sources.fetch()
        self._write_volumes(sources)
        server = urlsplit(self._machine.api.server)
        defaults = {
            **image.env,
            "HOSTNAME": self._pod["metadata"]["name"],
            "KUBERNETES_SERVICE_HOST": server.hostname or "",
            "KUBERNETES_SERVICE_PORT": str(server.port or 443),
            "KUBERNETES_SERVICE_PORT_HTTPS": str(server.port or 443),
        }
        texts = [_texts(sources.secrets), _texts(sources.config_maps)]
        variables = environment.build(spec, self._pod, defaults, *texts)
        root = rootfs.Root(
            directory=self._directory / "root" / spec["name"],
            binds=image.binds,
            volumes=[
                (
                    self._volume(mount["name"]) / mount.get("subPath", ""),
                    Path(mount["mountPath"]),
                    mount.get("readOnly", False),
                )
                for mount in spec.get("volumeMounts", ())
            ],
            hosts=self._machine.hosts,
            working_directory=Path(spec.get("workingDir") or image.directory),
            user=user,
            group=group,
            readonly=spec.get("securityContext", {}).get("readOnlyRootFilesystem", False),
        )
        root.directory.mkdir(parents=True, exist_ok=True)
        meta = self._pod["metadata"]
        return Command(
            name=f"{meta['namespace']}/{meta['name']}/{spec['name']}",
            argv=rootfs.arguments(root, environment.command_line(spec, image.entrypoint, variables)),
            log=self._machine.logs / f"{meta['namespace']}_{meta['name']}_{spec['name']}.log",
            env=variables,
            netns=network.netns,
        )

    def _volume(self, name: str) -> Path:
        return self._directory / "volumes" / name

    def _write_volumes(self, sources: volumes.Sources) -> None:
        for volume in self._pod["spec"].get("volumes", ()):
            directory = self._volume(volume["name"])
            volumes.write(volumes.render(volume, self._pod, sources), directory)
            if "emptyDir" in volume:
                directory.chmod(0o777)

    async def _refresh(self) -> None:
        """Renew tokens and follow changed Secrets and ConfigMaps, as a node does once a minute."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            with suppress(ApiError, aiohttp.ClientError, environment.MissingReference, TimeoutError):
                # What is on disk stays good until the next round.
                self._write_volumes(await self._sources.fetch())

    async def _report(self, facts: PodFacts) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            status = pod_status(facts, self.states(), self._written, timestamp())
            if status == self._written:
                continue
            try:
                await self._machine.api.merge(f"{self._path}/status", {"status": status})
                self._written = status
            except ApiError as error:
                if error.code not in (404, 409, 429) and error.code < 500:
                    raise
                await self._again()
            except (aiohttp.ClientError, TimeoutError):
                await self._again()

    async def _again(self) -> None:
        await asyncio.sleep(RETRY_SECONDS)
        self._changed.set()

    def states(self) -> list[ContainerState]:
        return [container.state for container in self._containers]

    async def _forget(self) -> None:
        uid = self._pod["metadata"]["uid"]
        while True:
            try:
                await self._machine.api.delete(self._path, gracePeriodSeconds=0, preconditions={"uid": uid})
                return
            except ApiError as error:
                if error.code == 409:
                    return  # another pod has the name by now
                await asyncio.sleep(RETRY_SECONDS)
            except (aiohttp.ClientError, TimeoutError):
                await asyncio.sleep(RETRY_SECONDS)


def identity(pod: Object, container: Object, image: Image) -> tuple[int, int]:
    """User and group by the container's, then the pod's security context, then the image. Raises ProcessError."""
    context = {**pod["spec"].get("securityContext", {}), **container.get("securityContext", {})}
    user = context.get("runAsUser", image.user)
    if context.get("runAsNonRoot") and user == 0:
        raise ProcessError(f"container {container['name']} has runAsNonRoot and would run as root")
    return user, context.get("runAsGroup", image.user)


async def _cancel(tasks: Sequence["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _texts(objects: Mapping[str, Mapping[str, bytes]]) -> dict[str, dict[str, str]]:
    return {name: {key: os.fsdecode(value) for key, value in values.items()} for name, values in objects.items()}
