"""A simulated PVE on a free loopback port, with a clock that tests move by hand."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer

from e2e.pve.options import make_cluster
from e2e.pve.server import make_app
from e2e.pve.simulation import Simulation

TASK_SECONDS = 2.0
BOOT_SECONDS = 5.0
ADMIN = "root@pam!capmox"
AUDITOR = "audit@pve!look"


class HandClock:
    """Seconds since the epoch, moved by the test alone."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str | None
    data: Any
    errors: dict[str, str]


class Pve:
    """Calls the API as capmox does: JSON bodies and a token."""

    def __init__(self, url: str, session: aiohttp.ClientSession, clock: HandClock, held: Simulation) -> None:
        self.url = url
        self.session = session
        self.clock = clock
        self.held = held
        self.headers = {"Authorization": f"PVEAPIToken={ADMIN}=secret"}

    async def ask(self, method: str, path: str, body: object = None, **more: Any) -> Answer:
        more.setdefault("headers", self.headers)
        if body is not None:
            more["json"] = body
        async with self.session.request(method, f"{self.url}/api2/json{path}", **more) as answer:
            said = await answer.json()
            return Answer(answer.status, answer.reason, said["data"], said.get("errors", {}))

    async def get(self, path: str) -> Any:
        answer = await self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.data

    async def task(self, method: str, path: str, body: object = None, **more: Any) -> str:
        """Ask for something that is a task, let its time pass, and give its exit status."""
        answer = await self.ask(method, path, body, **more)
        assert answer.status == 200, answer
        self.clock.now += TASK_SECONDS
        return await self.exit_status(answer.data)

    async def exit_status(self, upid: str) -> str:
        task = await self.get(f"/nodes/{upid.split(':')[1]}/tasks/{upid}/status")
        assert task["status"] == "stopped", task
        return str(task["exitstatus"])

    async def clone(self, name: str, newid: int = 101, **more: object) -> None:
        body = {"newid": newid, "name": name, "full": 1, **more}
        assert await self.task("POST", "/nodes/pve1/qemu/9000/clone", body) == "OK"

    async def upload(self, name: str, content: bytes, storage: str = "local", kind: str = "iso") -> Answer:
        form = aiohttp.FormData()
        form.add_field("content", kind)
        form.add_field("filename", content, filename=name)
        return await self.ask("POST", f"/nodes/pve1/storage/{storage}/upload", data=form)


@pytest.fixture
async def pve() -> AsyncIterator[Pve]:
    cluster = make_cluster(
        ["pve1", "pve2"],
        ["9000,tags=capi;ubuntu"],
        [f"{ADMIN}=secret", f"{AUDITOR}=glass,read-only"],
        bridges=["vmbr0", "vmbr7"],
    )
    clock = HandClock()
    held = Simulation.of(cluster, clock, task_seconds=TASK_SECONDS, boot_seconds=BOOT_SECONDS)
    async with TestServer(make_app(held)) as server, aiohttp.ClientSession() as session:
        yield Pve(str(server.make_url("")).rstrip("/"), session, clock, held)
