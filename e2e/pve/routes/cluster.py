"""/version and /cluster: who is in the cluster, what runs in it, which VM ids are free."""

from __future__ import annotations

from aiohttp import web

from e2e.pve.errors import ParameterError
from e2e.pve.routes.qemu import summary
from e2e.pve.simulation import data, query, simulation
from e2e.pve.state import FIRST_VMID

routes = web.RouteTableDef()
_RESOURCE_TYPES = ("vm", "storage", "node")


@routes.get("/api2/json/version")
async def version(request: web.Request) -> web.Response:
    query(request).finish()
    return data({"release": "8.4", "version": "8.4.1", "repoid": "simulated"})


@routes.get("/api2/json/cluster/status")
async def status(request: web.Request) -> web.Response:
    query(request).finish()
    cluster = simulation(request).cluster
    head = {
        "type": "cluster",
        "id": "cluster",
        "name": cluster.name,
        "version": 1,
        "quorate": 1,
        "nodes": len(cluster.nodes),
    }
    nodes = [
        {
            "type": "node",
            "id": f"node/{name}",
            "name": name,
            "nodeid": index,
            "online": 1,
            "local": int(index == 1),
            "level": "",
            "ip": f"192.0.2.{index}",
        }
        for index, name in enumerate(cluster.nodes, start=1)
    ]
    return data([head, *nodes])


@routes.get("/api2/json/cluster/resources")
async def resources(request: web.Request) -> web.Response:
    params = query(request)
    wanted = params.optional_text("type")
    params.finish()
    if wanted is not None and wanted not in _RESOURCE_TYPES:
        raise ParameterError({"type": f"value '{wanted}' does not have a value in the enumeration 'vm, storage, node'"})
    cluster = simulation(request).cluster
    now = simulation(request).clock()
    found: list[dict[str, object]] = []
    if wanted in (None, "vm"):
        found += [
            {
                **summary(vm, now),
                "type": "qemu",
                "id": f"qemu/{vm.vmid}",
                "node": vm.node,
                "template": int(vm.template),
                "maxcpu": vm.cpus,
            }
            for vm in cluster.vms.values()
        ]
    if wanted in (None, "node"):
        found += [
            {"type": "node", "id": f"node/{n.name}", "node": n.name, "status": "online", "maxmem": n.memory_bytes}
            for n in cluster.nodes.values()
        ]
    if wanted in (None, "storage"):
        found += [
            {
                "type": "storage",
                "id": f"storage/{node}/{storage.name}",
                "node": node,
                "storage": storage.name,
                "content": ",".join(sorted(storage.content)),
                "shared": int(storage.shared),
                "plugintype": storage.kind,
                "status": "available",
            }
            for node in cluster.nodes
            for storage in cluster.storages.values()
        ]
    return data(found)


@routes.get("/api2/json/cluster/nextid")
async def nextid(request: web.Request) -> web.Response:
    """A free VM id as text; with `vmid`, that one, or 400 if it is taken."""
    params = query(request)
    wanted = params.optional_integer("vmid")
    params.finish()
    cluster = simulation(request).cluster
    if wanted is None:
        return data(str(cluster.next_vmid()))
    if wanted < FIRST_VMID:
        raise ParameterError({"vmid": f"invalid format - value must have a minimum value of {FIRST_VMID}"})
    if wanted in cluster.vms:
        raise ParameterError({"vmid": f"VM {wanted} already exists"})
    return data(str(wanted))
