"""All parts of one simulated PVE together, and how a request handler gets at them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web

from e2e.pve.errors import ParameterError
from e2e.pve.faults import FaultBook
from e2e.pve.machines import Machines
from e2e.pve.params import Params
from e2e.pve.state import Cluster, Vm
from e2e.pve.tasks import Request, TaskBoard
from e2e.pve.volumes import Volumes


@dataclass(slots=True)
class Simulation:
    """`clock` gives seconds since the epoch; `boot_seconds` is the time from start until the guest's agent answers."""

    cluster: Cluster
    clock: Callable[[], float]
    faults: FaultBook
    tasks: TaskBoard
    machines: Machines
    volumes: Volumes
    boot_seconds: float
    commands: list[tuple[int, list[str]]] = field(default_factory=list)
    """Commands the guest agents were given, as (VM id, command); a pid is a place in this list, from 1."""

    @classmethod
    def of(
        cls, cluster: Cluster, clock: Callable[[], float], *, task_seconds: float = 0.3, boot_seconds: float = 0.5
    ) -> Simulation:
        faults = FaultBook()
        tasks = TaskBoard(faults, task_seconds)
        return cls(cluster, clock, faults, tasks, Machines(cluster, tasks), Volumes(cluster, tasks), boot_seconds)


SIMULATION = web.AppKey("simulation", Simulation)
USER = web.RequestKey("user", str)


def simulation(request: web.Request) -> Simulation:
    return request.app[SIMULATION]


def asked(request: web.Request) -> Request:
    return Request(request[USER], simulation(request).clock())


def node_name(request: web.Request) -> str:
    """The node in the path, which must exist."""
    return simulation(request).cluster.node(request.match_info["node"]).name


def the_vm(request: web.Request) -> Vm:
    """The VM in the path, which must be on the node in the path."""
    return simulation(request).cluster.vm(request.match_info["node"], int(request.match_info["vmid"]))


def query(request: web.Request) -> Params:
    return Params(dict(request.query))


async def body(request: web.Request) -> Mapping[str, object]:
    """The parameters in the body, as JSON or as a form; PVE takes both."""
    text = await request.text()
    if not text:
        return {}
    if request.content_type == "application/x-www-form-urlencoded":
        return {name: str(value) for name, value in (await request.post()).items()}
    try:
        decoded = json.loads(text)
    except ValueError as fault:
        raise ParameterError({"body": f"malformed JSON: {fault}"}) from fault
    if not isinstance(decoded, dict):
        raise ParameterError({"body": "must be a JSON object"})
    return decoded


def data(value: object) -> web.Response:
    """PVE's envelope around every answer."""
    return web.json_response({"data": value})
