"""/nodes/{node}/qemu: the virtual machines of one node."""

from __future__ import annotations

import hashlib
import json

from aiohttp import web

from e2e.pve.errors import ParameterError
from e2e.pve.params import Params
from e2e.pve.settings import check_settings
from e2e.pve.simulation import asked, body, data, node_name, query, simulation, the_vm
from e2e.pve.state import Vm

routes = web.RouteTableDef()
_VM = "/api2/json/nodes/{node}/qemu/{vmid:[1-9][0-9]+}"


def summary(vm: Vm, now: float) -> dict[str, object]:
    """What the lists and status/current say alike. `template` is left out of a VM that is none, and only then false."""
    known: dict[str, object] = {
        "vmid": vm.vmid,
        "name": vm.name,
        "status": vm.status,
        "cpus": vm.cpus,
        "maxmem": vm.memory_bytes,
        "mem": vm.memory_bytes if vm.started is not None else 0,
        "uptime": 0 if vm.started is None else max(int(now - vm.started), 0),
    }
    if vm.template:
        known["template"] = 1
    if vm.tags:
        known["tags"] = ";".join(vm.tags)
    if vm.lock is not None:
        known["lock"] = vm.lock
    return known


def has_agent(vm: Vm) -> bool:
    """Whether the VM is configured to have a guest agent: `agent: 1` or `agent: enabled=1,...`."""
    return str(vm.config.get("agent", "0")).startswith(("1", "enabled=1"))


@routes.get("/api2/json/nodes/{node}/qemu")
async def machines(request: web.Request) -> web.Response:
    query(request).finish()
    held = simulation(request)
    return data([summary(vm, held.clock()) for vm in held.cluster.vms_on(node_name(request))])


@routes.get("/api2/json/nodes/{node}/lxc")
async def containers(request: web.Request) -> web.Response:
    """Containers are not simulated: there are none."""
    query(request).finish()
    node_name(request)
    return data([])


@routes.get(_VM + "/status/current")
async def current(request: web.Request) -> web.Response:
    query(request).finish()
    vm = the_vm(request)
    qmp = "paused" if vm.paused else vm.status
    known = summary(vm, simulation(request).clock())
    return data(known | {"qmpstatus": qmp, "agent": int(has_agent(vm)), "ha": {"managed": 0}})


@routes.get(_VM + "/config")
async def config(request: web.Request) -> web.Response:
    query(request).finish()
    vm = the_vm(request)
    known: dict[str, object] = {"name": vm.name, **vm.config}
    if "memory" in known:
        known["memory"] = str(known["memory"])  # text since PVE 8, unlike cores
    if vm.template:
        known["template"] = 1
    if vm.lock is not None:
        known["lock"] = vm.lock
    digest = hashlib.sha1(json.dumps(known, sort_keys=True).encode()).hexdigest()
    return data(known | {"digest": digest})


@routes.post(_VM + "/config")
async def configure(request: web.Request) -> web.Response:
    """Always answers with a task: a client that got null would trip over it."""
    held, vm = simulation(request), the_vm(request)
    wanted = await body(request)
    if not wanted:
        raise ParameterError({"config": "no options specified"})
    vm.refuse_if_locked()
    changes = check_settings(wanted, held.cluster.new_mac)
    return data(str(held.machines.configure(asked(request), vm, changes)))


@routes.put(_VM + "/resize")
async def resize(request: web.Request) -> web.Response:
    vm = the_vm(request)
    params = Params(await body(request))
    disk, size = params.text("disk"), params.text("size")
    params.finish()
    return data(str(simulation(request).machines.resize(asked(request), vm, disk, size)))


@routes.post(_VM + "/clone")
async def clone(request: web.Request) -> web.Response:
    held, source = simulation(request), the_vm(request)
    params = Params(await body(request))
    newid = params.integer("newid")
    name, target = params.optional_text("name"), params.optional_text("target")
    storage, description = params.optional_text("storage"), params.optional_text("description")
    full = params.flag("full", default=not source.template)
    for unused in ("pool", "format", "snapname"):
        params.optional_text(unused)  # taken and ignored: they change nothing a client can see here
    params.finish()
    upid = held.machines.clone(
        asked(request),
        source,
        newid=newid,
        name=name,
        target=target,
        storage=storage,
        full=full,
        description=description,
    )
    return data(str(upid))


@routes.post(_VM + "/status/{command:start|stop|shutdown|suspend|resume}")
async def change_status(request: web.Request) -> web.Response:
    held, vm, who = simulation(request), the_vm(request), asked(request)
    Params(await body(request)).finish()
    match request.match_info["command"]:
        case "start":
            upid = held.machines.start(who, vm)
        case "stop":
            upid = held.machines.stop(who, vm)
        case "shutdown":
            upid = held.machines.stop(who, vm, kind="qmshutdown")
        case command:
            upid = held.machines.pause(who, vm, paused=command == "suspend")
    return data(str(upid))


@routes.post(_VM + "/migrate")
async def migrate(request: web.Request) -> web.Response:
    vm = the_vm(request)
    params = Params(await body(request))
    target = params.text("target")
    params.flag("online", default=False)
    params.finish()
    return data(str(simulation(request).machines.migrate(asked(request), vm, target)))


@routes.delete(_VM)
async def destroy(request: web.Request) -> web.Response:
    params = query(request)
    params.flag("purge", default=False)
    params.flag("destroy-unreferenced-disks", default=False)
    params.finish()
    return data(str(simulation(request).machines.destroy(asked(request), the_vm(request))))
