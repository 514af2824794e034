"""/nodes/{node}/qemu/{vmid}/agent: the guest agent of a machine that has been up for long enough.

No guest runs. The one program known is `cloud-init`, which is always done, because the agent answers only after the
boot; any other fails the way an agent fails for a program the guest lacks.
"""

from __future__ import annotations

from aiohttp import web

from e2e.pve.errors import ServerError
from e2e.pve.params import Params
from e2e.pve.routes.qemu import has_agent
from e2e.pve.simulation import body, data, query, simulation, the_vm
from e2e.pve.state import Vm

routes = web.RouteTableDef()
_AGENT = "/api2/json/nodes/{node}/qemu/{vmid:[1-9][0-9]+}/agent"
_OS = {
    "id": "debian",
    "name": "Debian GNU/Linux",
    "version": "12 (bookworm)",
    "version-id": "12",
    "pretty-name": "Debian GNU/Linux 12 (bookworm)",
    "machine": "x86_64",
    "kernel-release": "6.1.0-simulated",
    "kernel-version": "simulated",
}


@routes.get(_AGENT + "/get-osinfo")
async def osinfo(request: web.Request) -> web.Response:
    query(request).finish()
    _answering(request)
    return data({"result": _OS})


@routes.post(_AGENT + "/ping")
async def ping(request: web.Request) -> web.Response:
    Params(await body(request)).finish()
    _answering(request)
    return data({"result": {}})


@routes.post(_AGENT + "/exec")
async def execute(request: web.Request) -> web.Response:
    params = Params(await body(request))
    command = params.texts("command")
    params.optional_text("input-data")
    params.finish()
    vm = _answering(request)
    if command[0] != "cloud-init":
        raise ServerError(
            "Agent error: Guest agent command failed, error was "
            f"'Failed to execute child process {command[0]} (No such file or directory)'"
        )
    commands = simulation(request).commands
    commands.append((vm.vmid, command))
    return data({"pid": len(commands)})


@routes.get(_AGENT + "/exec-status")
async def exec_status(request: web.Request) -> web.Response:
    params = query(request)
    pid = params.integer("pid")
    params.finish()
    vm = _answering(request)
    commands = simulation(request).commands
    if not 1 <= pid <= len(commands) or commands[pid - 1][0] != vm.vmid:
        raise ServerError(f"Agent error: PID {pid} does not exist")
    return data({"exited": 1, "exitcode": 0, "out-data": "status: done\n"})


def _answering(request: web.Request) -> Vm:
    """The VM in the path, if its agent would answer by now."""
    held, vm = simulation(request), the_vm(request)
    if vm.started is None:
        raise ServerError(f"VM {vm.vmid} is not running")
    if not has_agent(vm):
        raise ServerError("No QEMU guest agent configured")
    if vm.paused or held.clock() - vm.started < held.boot_seconds:
        raise ServerError("QEMU guest agent is not running")
    return vm
