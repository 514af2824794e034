"""/nodes/{node}: its status, and the tasks that ran on it."""

from __future__ import annotations

from aiohttp import web

from e2e.pve.errors import ParameterError, ServerError
from e2e.pve.simulation import data, node_name, query, simulation
from e2e.pve.tasks import Task, parse_upid

routes = web.RouteTableDef()


@routes.get("/api2/json/nodes")
async def nodes(request: web.Request) -> web.Response:
    query(request).finish()
    return data(
        [
            {"node": node.name, "id": f"node/{node.name}", "type": "node", "status": "online"}
            for node in simulation(request).cluster.nodes.values()
        ]
    )


@routes.get("/api2/json/nodes/{node}/status")
async def status(request: web.Request) -> web.Response:
    query(request).finish()
    cluster = simulation(request).cluster
    node = cluster.node(node_name(request))
    used = sum(vm.memory_bytes for vm in cluster.vms_on(node.name) if vm.started is not None)
    return data(
        {
            "memory": {"total": node.memory_bytes, "used": used, "free": max(node.memory_bytes - used, 0)},
            "cpuinfo": {"cpus": node.cores, "cores": node.cores, "sockets": 1, "model": "simulated"},
            "loadavg": ["0.00", "0.00", "0.00"],
            "pveversion": "pve-manager/8.4.1/simulated",
            "uptime": 1,
        }
    )


@routes.get("/api2/json/nodes/{node}/tasks/{upid}/status")
async def task_status(request: web.Request) -> web.Response:
    query(request).finish()
    task = _task(request)
    upid = task.upid
    answer = {
        "upid": str(upid),
        "node": upid.node,
        "pid": upid.pid,
        "pstart": upid.pstart,
        "starttime": upid.started,
        "type": upid.kind,
        "id": upid.subject,
        "user": upid.user,
        "status": "running" if task.running else "stopped",
    }
    return data(answer if task.running else answer | {"exitstatus": task.exit_status})


@routes.get("/api2/json/nodes/{node}/tasks/{upid}/log")
async def task_log(request: web.Request) -> web.Response:
    params = query(request)
    start, limit = params.optional_integer("start") or 0, params.optional_integer("limit") or 50
    params.finish()
    lines = [{"n": number, "t": text} for number, text in enumerate(_task(request).log, start=1)]
    return data(lines[start : start + limit])


def _task(request: web.Request) -> Task:
    node_name(request)
    text = request.match_info["upid"]
    try:
        parse_upid(text)
    except ValueError as fault:
        raise ParameterError({"upid": str(fault)}) from fault
    found = simulation(request).tasks.find(text)
    if found is None:
        raise ServerError("no such task")
    return found
