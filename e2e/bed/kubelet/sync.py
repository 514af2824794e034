"""The kubelet's loop: watch all pods, bind the unbound, run ours, end those that are deleted."""

import asyncio
from pathlib import Path
from typing import Any

from e2e.bed.api import Api
from e2e.bed.kubelet import hosts, node
from e2e.bed.kubelet.images import Image
from e2e.bed.kubelet.pods import Machine, Pod
from e2e.bed.network import BedNetwork

Object = dict[str, Any]
STOP_SECONDS = 5.0


class Kubelet:
    """One node. `directory` is the bed's own: logs go to its logs/, the rest to its kubelet/."""

    def __init__(self, api: Api, network: BedNetwork, images: dict[str, Image], directory: Path) -> None:
        state = directory / "kubelet"
        state.mkdir(parents=True, exist_ok=True)
        self._machine = Machine(api, network, images, state, directory / "logs", state / "hosts")
        self._machine.hosts.write_text(hosts.LOCAL)
        self._pods: dict[str, tuple[Pod, asyncio.Task[None]]] = {}

    async def run(self) -> None:
        """For ever; on cancellation every pod's processes are ended, their API objects are left alone."""
        api = self._machine.api
        await node.register(api, self._machine.network.address)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(node.beat(api))
                group.create_task(hosts.follow(api, self._machine.hosts))
                group.create_task(self._follow_pods(group))
        finally:
            tasks = [task for _, task in self._pods.values()]
            for pod, _ in self._pods.values():
                pod.remove(STOP_SECONDS)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow_pods(self, group: asyncio.TaskGroup) -> None:
        async for kind, item in self._machine.api.follow("/api/v1/pods"):
            if kind == "SYNCED":
                continue
            uid = item["metadata"]["uid"]
            if kind == "DELETED":
                # Deleted by force: nobody asked us, but the processes must go.
                if uid in self._pods:
                    self._pods[uid][0].remove(0)
            elif "nodeName" not in item["spec"]:
                group.create_task(node.bind(self._machine.api, item))
            elif item["spec"]["nodeName"] == node.NAME:
                self._take(uid, item)

    def _take(self, uid: str, item: Object) -> None:
        over = item.get("status", {}).get("phase") in ("Succeeded", "Failed")
        leaving = "deletionTimestamp" in item["metadata"]
        if uid not in self._pods and (leaving or not over):
            pod = Pod(self._machine, item)
            task = asyncio.create_task(pod.run(), name=item["metadata"]["name"])
            self._pods[uid] = (pod, task)
            task.add_done_callback(lambda done: self._done(uid, done))
        if leaving and uid in self._pods:
            self._pods[uid][0].remove(item["metadata"].get("deletionGracePeriodSeconds", 30))

    def _done(self, uid: str, task: "asyncio.Task[None]") -> None:
        self._pods.pop(uid, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"pod {task.get_name()} was given up", "exception": error, "task": task}
            )
