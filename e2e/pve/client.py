"""Looks into a running simulation from a test or a story: its VMs, their cloud-init, and the faults to come.

Blocking, over the standard library alone; inside an event loop call it through `asyncio.to_thread`. It is no PVE
client: it reads `/simulator`, not the API that capmox uses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from e2e.pve.cloudinit import CloudInit, read_cloud_init
from e2e.pve.nic import Nic


class SimulatorError(RuntimeError):
    """The simulation refused, or has no such VM; the text says which."""


@dataclass(frozen=True, slots=True)
class SimulatedVm:
    """`iso` is the volume in ide0, `iso_present` whether its file is (still) on the storage."""

    vmid: int
    name: str
    node: str
    status: str
    template: bool
    lock: str | None
    tags: tuple[str, ...]
    nics: Mapping[str, Nic]
    iso: str | None
    iso_present: bool
    config: Mapping[str, str | int]


class SimulatorClient:
    """`url` is the simulation's root, without /api2/json."""

    def __init__(self, url: str, timeout_seconds: float = 10.0) -> None:
        self._url = url.rstrip("/")
        self._timeout = timeout_seconds

    def vms(self) -> tuple[SimulatedVm, ...]:
        """Every VM but the templates, in the order they were made."""
        everything = (_vm(item) for item in self._json("GET", "/simulator/vms"))
        return tuple(vm for vm in everything if not vm.template)

    def vm(self, name: str) -> SimulatedVm:
        """The one VM of that name; raises SimulatorError when there is none or more than one."""
        vms = self.vms()
        found = [vm for vm in vms if vm.name == name]
        if len(found) != 1:
            names = ", ".join(vm.name for vm in vms) or "none"
            raise SimulatorError(f"{len(found)} VMs are named {name!r}; there are: {names}")
        return found[0]

    def cloud_init(self, vm: SimulatedVm) -> CloudInit:
        """What the VM's guest read at its first boot. Still there after capmox has taken the ISO away."""
        return read_cloud_init(self._ask("GET", f"/simulator/isos/user-data-{vm.vmid}.iso"))

    def fail_task(self, task: str, message: str, times: int = 1) -> None:
        """Let the next tasks of that type (`qmclone`, `imgcopy`, ...) end with `message`."""
        self._fault({"kind": "task-fails", "task": task, "message": message, "times": times})

    def slow_task(self, task: str, seconds: float, times: int = 1) -> None:
        """Let the next tasks of that type take this long."""
        self._fault({"kind": "task-slow", "task": task, "seconds": seconds, "times": times})

    def refuse_request(self, method: str, path: str, status: int, message: str, times: int = 1) -> None:
        """Refuse the next requests whose path below /api2/json fits the shell pattern."""
        fault = {"kind": "request-refused", "method": method, "path": path, "status": status}
        self._fault({**fault, "message": message, "times": times})

    def clear_faults(self) -> None:
        self._json("DELETE", "/simulator/faults")

    def _fault(self, fault: Mapping[str, object]) -> None:
        self._json("POST", "/simulator/faults", fault)

    def _json(self, method: str, path: str, body: object = None) -> Any:
        return json.loads(self._ask(method, path, body))["data"]

    def _ask(self, method: str, path: str, body: object = None) -> bytes:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = Request(self._url + path, data=content, method=method, headers=headers)
        try:
            with urlopen(request, timeout=self._timeout) as answer:
                return bytes(answer.read())
        except HTTPError as refusal:
            with refusal:
                said = refusal.read().decode(errors="replace")
            raise SimulatorError(f"{method} {path}: {refusal.code} {refusal.reason}: {said}") from refusal


def _vm(item: Mapping[str, Any]) -> SimulatedVm:
    nics = {name: Nic(**nic) for name, nic in item["nics"].items()}
    return SimulatedVm(**{**item, "tags": tuple(item["tags"]), "nics": nics})
