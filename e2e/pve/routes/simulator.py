"""/simulator: what people and tests look at, and the faults they ask for. No part of Proxmox VE; needs no token."""

from __future__ import annotations

from dataclasses import asdict

from aiohttp import web

from e2e.pve.errors import ParameterError, ServerError
from e2e.pve.faults import FaultError
from e2e.pve.simulation import body, data, simulation

routes = web.RouteTableDef()


@routes.get("/simulator/vms")
async def vms(request: web.Request) -> web.Response:
    held = simulation(request)
    present = {f"{storage}:iso/{name}" for _, storage, name in held.cluster.volumes}
    return data(
        [
            {
                "vmid": vm.vmid,
                "name": vm.name,
                "node": vm.node,
                "status": vm.status,
                "template": vm.template,
                "lock": vm.lock,
                "tags": vm.tags,
                "nics": {name: asdict(nic) for name, nic in vm.nics().items()},
                "iso": vm.iso(),
                "iso_present": vm.iso() in present,
                "config": dict(vm.config),
            }
            for vm in held.cluster.vms.values()
        ]
    )


@routes.get("/simulator/isos/{name}")
async def iso(request: web.Request) -> web.Response:
    """The ISO last uploaded under this name, also after capmox has deleted it."""
    name = request.match_info["name"]
    content = simulation(request).volumes.archive.get(name)
    if content is None:
        raise ServerError(f"no ISO named '{name}' was ever uploaded")
    return web.Response(body=content, content_type="application/x-iso9660-image")


@routes.get("/simulator/faults")
async def faults(request: web.Request) -> web.Response:
    return data(simulation(request).faults.left())


@routes.post("/simulator/faults")
async def add_fault(request: web.Request) -> web.Response:
    try:
        simulation(request).faults.add(dict(await body(request)))
    except FaultError as fault:
        raise ParameterError({"fault": str(fault)}) from fault
    return data(simulation(request).faults.left())


@routes.delete("/simulator/faults")
async def clear_faults(request: web.Request) -> web.Response:
    simulation(request).faults.clear()
    return data([])
